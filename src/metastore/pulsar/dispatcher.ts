/**
 * Calls listeners in the order of the events, never on the stack of a caller.
 *
 * What a listener throws or rejects with goes to the handler of errors, and the next listener is
 * called. Nobody waits for a promise of a listener.
 */
import { callListener, safeHandler, type ListenerErrorHandler } from '../kernel/listener-errors.js'

/** Calls of listeners before the event loop gets its turn. */
const callsMax = 2_000

export class Dispatcher {
  readonly #onError: ListenerErrorHandler
  #tasks: (() => void | Promise<void>)[] = []
  #isRunning = false
  #isPaused = false
  /** Calls of listeners since the event loop had its turn. */
  #calls = 0

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
    this.#calls++
    callListener(this.#onError, listener, event)
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
        if (this.#calls < callsMax) continue
        this.#calls = 0
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    this.#isRunning = false
  }
}
