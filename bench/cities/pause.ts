/** Where the job lets others have their turn, and lets itself be interrupted. */
import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * Gives up the turn, so that timers, signals and finished flushes are served; long loops call it
 * after each batch, because operations served from memory resolve without leaving the turn. Throws
 * the signal's reason if it has fired.
 */
export async function pause(signal: AbortSignal): Promise<void> {
  await nextTurn()
  signal.throwIfAborted()
}
