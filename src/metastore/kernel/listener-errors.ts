/** What becomes of the errors of callbacks that users hand to a store. */

/** Told about what a callback, listener or watcher throws; nothing else becomes of it. */
export type ListenerErrorHandler = (error: unknown) => void

/** Hands what a listener threw to Node's warnings. */
export function warnOfListener(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error))
}
