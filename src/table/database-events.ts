/** The delivery of a database's events to listeners. */
import type { EventEmitter } from 'node:events'
import { checkChoice } from '../base/arguments.js'
import { invalidArgument } from '../base/errors.js'
import type { DatabaseEvents, Raise } from '../storage/engine/events.js'

/** A function that receives the arguments of an event. */
export type DatabaseListener<E extends keyof DatabaseEvents> = (
  ...values: DatabaseEvents[E]
) => void

const eventNames: readonly (keyof DatabaseEvents)[] = [
  'poisoned',
  'flush',
  'flushProgress',
  'flushError',
  'compactionProgress',
  'compaction',
  'compactionError',
  'pressure',
  'damage',
  'slowOperation',
  'warning',
]

/** Checks the arguments of `on`, `once` and `off`. */
export function checkListener(event: unknown, listener: unknown): void {
  checkChoice(event, 'event', eventNames)
  if (typeof listener === 'function') return
  throw invalidArgument(`the listener of '${String(event)}' must be a function`)
}

/**
 * Raises events on an emitter. An error thrown by a listener is uncaught, and does not affect the
 * engine.
 */
export function raiseOn(emitter: EventEmitter): Raise {
  return (event, ...values) => {
    try {
      emitter.emit(event, ...values)
    } catch (error) {
      process.nextTick(() => {
        throw error
      })
    }
  }
}
