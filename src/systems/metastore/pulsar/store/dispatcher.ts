/**
 * Calls listeners in the order of the events, never on the stack of a caller.
 *
 * If a listener throws or rejects, the error handler receives the error and the next listener is
 * called. Promises of listeners are not awaited. After a slow listener the dispatcher yields to the
 * event loop.
 */
import {
  callListener,
  safeHandler,
  type ListenerErrorHandler,
} from '../../kernel/listener-errors.js'
import { Turns } from '../../kernel/turns.js'

/** One time budget for the listeners of all handles, because they share the event loop. */
const turns = new Turns()

/** A listener that may be unregistered while an event is queued. */
export interface Registration<E> {
  readonly listener: (event: E) => unknown
  isActive: boolean
}

export class Dispatcher {
  readonly #onError: ListenerErrorHandler
  #tasks: (() => void | Promise<void>)[] = []
  #isRunning = false
  #isPaused = false

  constructor(onError: ListenerErrorHandler) {
    this.#onError = safeHandler(onError)
  }

  /** Queues a task. If a task returns a promise, the next task waits for it. */
  add(task: () => void | Promise<void>): void {
    this.#tasks.push(task)
    this.#start()
  }

  /** Suspends all tasks, as if the process were stopped. */
  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#start()
  }

  /** Calls a listener with an event. */
  call<T>(listener: (event: T) => unknown, event: T): void {
    callListener(this.#onError, listener, event)
  }

  /** Calls the active listeners; slow ones in several turns of the event loop. */
  callAll<T>(registrations: readonly Registration<T>[], event: T, first = 0): void | Promise<void> {
    for (let i = first; i < registrations.length; i++) {
      if (turns.isSpent) {
        return turns.next().then(() => this.callAll(registrations, event, i))
      }
      const { listener, isActive } = registrations[i]
      if (isActive) this.call(listener, event)
    }
  }

  #start(): void {
    if (this.#isRunning || this.#isPaused || this.#tasks.length === 0) return
    this.#isRunning = true
    queueMicrotask(() => void this.#run())
  }

  async #run(): Promise<void> {
    while (this.#tasks.length > 0 && !this.#isPaused) {
      const tasks = this.#tasks
      this.#tasks = []
      for (let i = 0; i < tasks.length; i++) {
        if (this.#isPaused) {
          this.#tasks = [...tasks.slice(i), ...this.#tasks]
          break
        }
        try {
          const wait = tasks[i]()
          if (wait !== undefined) await wait
        } catch (error) {
          this.#onError(error)
        }
      }
    }
    this.#isRunning = false
  }
}
