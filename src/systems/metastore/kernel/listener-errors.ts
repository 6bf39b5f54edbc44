/**
 * What becomes of the errors of callbacks that users hand to a store: a handler is told of them.
 * Neither a callback nor the handler can end the process, or the work that calls them.
 */
import { inspect, types } from 'node:util'

/** Told about what a callback, listener or watcher throws; nothing else becomes of it. */
export type ListenerErrorHandler = (error: unknown) => void

/** Hands what a listener threw to Node's warnings. */
export function warnOfListener(error: unknown): void {
  // Not by `instanceof`, which throws for a proxy that was revoked.
  process.emitWarning(types.isNativeError(error) ? error : `a listener threw ${inspect(error)}`)
}

const safeHandlers = new WeakMap<ListenerErrorHandler, ListenerErrorHandler>()

/** The handler in a form that never throws: a handler that throws or rejects is warned of. */
export function safeHandler(handler: ListenerErrorHandler): ListenerErrorHandler {
  let safe = safeHandlers.get(handler)
  if (safe === undefined) {
    safe = (error) => {
      if (handler === warnOfListener) warnOfListener(error)
      else settle(() => handler(error), warnOfListener)
    }
    safeHandlers.set(handler, safe)
    safeHandlers.set(safe, safe)
  }
  return safe
}

/**
 * Calls a listener. What the listener throws or rejects with goes to `onError`. Nobody waits for a
 * promise that the listener returns.
 */
export function callListener<A extends readonly unknown[]>(
  onError: ListenerErrorHandler,
  listener: ((...values: A) => unknown) | undefined,
  ...values: A
): void {
  if (listener !== undefined) settle(() => listener(...values), safeHandler(onError))
}

function settle(call: () => unknown, onError: ListenerErrorHandler): void {
  try {
    const outcome = call()
    // A promise of another realm or library is no instance of this one's class.
    if (typeof outcome !== 'object' || outcome === null || !('then' in outcome)) return
    Promise.resolve(outcome).catch(onError)
  } catch (error) {
    onError(error)
  }
}
