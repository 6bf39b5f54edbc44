/**
 * Calls listeners in the order of the events, never on the stack of a caller.
 *
 * What a listener throws or rejects with goes to the handler of errors, and the next listener is
 * called. Nobody waits for a promise of a listener. Slow listeners leave the event loop its turns.
 */
import { callListener, safeHandler, type ListenerErrorHandler } from '../../kernel/listener-errors.js'
import { Turns } from '../../kernel/turns.js'

/** One budget for the listeners of all handles: they share the event loop. */
const turns = new Turns()

/** A listener that may be taken back while it waits for its turn. */
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

  /** Adds a task; those before it run first. The next one waits for a promise that it returns. */
  add(task: () => void | Promise<void>): void {
    this.#tasks.push(task)
    this.#start()
  }

  /** Holds all tasks back, as if the process stood still. */
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

  /** Calls the listeners that are active, over several turns if they are slow. */
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
