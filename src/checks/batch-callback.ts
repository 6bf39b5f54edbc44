/** The callback of a batch, for all backends. */
import { types } from 'node:util'
import { checkFunction } from '../base/arguments.js'
import { invalidArgument } from '../base/errors.js'
import type { BatchCallback, BatchResult } from '../api/mutations.js'

const what = 'the callback of a batch'

/** Returns the callback. `ERR_INVALID_ARGUMENT` if it is none, or an async function. */
export function checkBatchCallback(callback: BatchCallback | undefined): BatchCallback | undefined {
  checkFunction(callback, what)
  if (types.isAsyncFunction(callback)) throw returnsPromise()
  return callback
}

/** Calls the callback; throws what it throws. `ERR_INVALID_ARGUMENT` if it returns a promise. */
export function tellOutcome(callback: BatchCallback, result: BatchResult, position: number): void {
  const answer: unknown = callback(result, position)
  if (!types.isPromise(answer)) return
  // The batch fails by it already.
  answer.catch(() => undefined)
  throw returnsPromise()
}

function returnsPromise(): Error {
  return invalidArgument(`${what} must not be async or return a promise: no batch waits for it`)
}
