/**
 * Callbacks of users: their check, and their errors, which an error handler receives. Neither a
 * callback nor the handler can end the process or fail the calling operation.
 */
import { inspect, types } from 'node:util'
import { invalidArgument, shown } from '../../../api/index.js'

/** Checks a required function. `ERR_INVALID_ARGUMENT`. */
export function checkCallable<T>(value: T, what: string): T {
  if (typeof value === 'function') return value
  throw invalidArgument(`${what} is a function, not ${shown(value)}`)
}

/** Receives the errors of a callback, listener or watcher. The errors have no other effect. */
export type ListenerErrorHandler = (error: unknown) => void

/** Emits the error of a listener as a warning of Node. */
export function warnOfListener(error: unknown): void {
  // Does not use `instanceof`, which throws for a revoked proxy.
  process.emitWarning(types.isNativeError(error) ? error : `a listener threw ${inspect(error)}`)
}

const safeHandlers = new WeakMap<ListenerErrorHandler, ListenerErrorHandler>()

/** Wraps a handler so that it never throws; errors of the handler are emitted as warnings. */
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
 * Calls a listener. `onError` receives its exception or rejection. A returned promise is not
 * awaited.
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
    // Not checked by `instanceof`: a promise may come from another realm or library.
    if (typeof outcome !== 'object' || outcome === null || !('then' in outcome)) return
    Promise.resolve(outcome).catch(onError)
  } catch (error) {
    onError(error)
  }
}
