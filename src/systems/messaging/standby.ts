/**
 * Messaging with standby instances (CDAP: LeaderElectionMessagingService).
 *
 * One instance has the database open and leads; the lock of the directory is the election. The
 * other instances follow: they retry the open, and until it succeeds every call fails with
 * `ERR_MESSAGING_UNAVAILABLE`. An instance that leads again opens the database and the service
 * again, so none of its state is older than the database.
 */
import {
  callback,
  CellarError,
  checkMethods,
  declareOptions,
  ErrorCode,
  number,
  required,
  timerMillisecondsMax,
  type OptionsOf,
  type SettingsOf,
} from '../../api/index.js'
import { tell } from '../../comfort/told.js'
import { MessagingErrorCode } from './errors.js'
import type { Messaging } from './types.js'

/** The resources of a leading instance. */
export interface Leadership {
  /** The service of the leading instance. */
  readonly messaging: Messaging
  /** Closes the service and the database. */
  close(): Promise<void>
}

const standbyOptions = declareOptions('a standby', {
  /** Opens database and service; fails with `ERR_LOCKED` while another instance leads. */
  open: required(callback<() => Promise<Leadership>>()),
  /** Milliseconds between two attempts; 0 = only on `attempt`. Default 1000. */
  retryMilliseconds: number({ min: 0, max: timerMillisecondsMax, default: 1000 }),
  /**
   * Called when this instance becomes the leader, or cannot become it for another reason than the
   * lock. Errors and rejections of the function are ignored.
   */
  changed: callback<(outcome: 'leads' | Error) => unknown>(),
})

/** Options of {@link StandbyMessaging.start}. */
export interface StandbyOptions extends OptionsOf<typeof standbyOptions> {}

/** Every call of {@link Messaging}, which an instance passes to the leading service. */
const messagingCalls = Object.keys({
  createTopic: true,
  updateTopic: true,
  deleteTopic: true,
  getTopic: true,
  listNamespaces: true,
  listTopics: true,
  publish: true,
  store: true,
  rollback: true,
  fetch: true,
  poll: true,
  end: true,
  getPosition: true,
  setPosition: true,
  deletePosition: true,
  listPositions: true,
} satisfies Record<keyof Messaging, true>) as (keyof Messaging)[]

/** The calls of {@link Messaging}; see the file header. */
// oxlint-disable-next-line typescript/no-unsafe-declaration-merging
export interface StandbyMessaging extends Messaging {}
export class StandbyMessaging {
  readonly #settings: SettingsOf<typeof standbyOptions>
  #leadership: Leadership | undefined
  #attempt: Promise<boolean> | undefined
  /** The end of a leadership that is being closed. */
  #closing: Promise<void> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #isStopped = false

  private constructor(options: StandbyOptions) {
    this.#settings = standbyOptions.read(options)
  }

  /**
   * Starts an instance and tries once to become the leader. Rejects on another error than the lock,
   * and then tries no more. `ERR_INVALID_ARGUMENT` for the options.
   */
  static async start(options: StandbyOptions): Promise<StandbyMessaging> {
    const standby = new StandbyMessaging(options)
    try {
      await standby.attempt()
    } catch (error) {
      await standby.stop()
      throw error
    }
    return standby
  }

  /** Whether this instance leads. */
  get isLeader(): boolean {
    return this.#leadership !== undefined
  }

  /** The messaging of this instance while it leads; undefined while it follows. */
  get leading(): Messaging | undefined {
    return this.#leadership?.messaging
  }

  /**
   * Tries to become the leader now; returns whether this instance leads. Rejects on another error
   * than the lock.
   */
  async attempt(): Promise<boolean> {
    if (this.#leadership !== undefined) return true
    if (this.#isStopped) return false
    this.#attempt ??= this.#open()
    return this.#attempt
  }

  /**
   * Gives up the leadership; this instance follows, and tries again later. Resolves when the
   * leadership is closed, whichever call has closed it.
   */
  async resign(): Promise<void> {
    if (this.#attempt !== undefined) await this.#attempt.catch(() => undefined)
    const closing = (this.#closing ??= this.#close())
    try {
      await closing
    } finally {
      if (this.#closing === closing) this.#closing = undefined
      this.#later()
    }
  }

  /** Gives up the leadership permanently; see {@link resign}. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.resign()
  }

  async #close(): Promise<void> {
    const leadership = this.#leadership
    this.#leadership = undefined
    await leadership?.close()
  }

  async #open(): Promise<boolean> {
    clearTimeout(this.#timer)
    // Its lock would make this attempt fail.
    await this.#closing?.catch(() => undefined)
    try {
      if (this.#isStopped) return false
      const leadership = await this.#settings.open()
      checkMethods(leadership, 'what is opened', ['close'])
      this.#leadership = leadership
      tell(this.#settings.changed, 'leads')
      return true
    } catch (error) {
      if (error instanceof CellarError && error.code === ErrorCode.locked) return false
      tell(this.#settings.changed, error as Error)
      throw error
    } finally {
      this.#attempt = undefined
      this.#later()
    }
  }

  #later(): void {
    const { retryMilliseconds } = this.#settings
    if (retryMilliseconds === 0 || this.isLeader || this.#isStopped) return
    clearTimeout(this.#timer)
    // Not unreferenced: a waiting instance keeps its process alive.
    this.#timer = setTimeout(() => {
      this.attempt().catch(() => undefined)
    }, retryMilliseconds)
  }

  get #messaging(): Messaging {
    if (this.#leadership !== undefined) return this.#leadership.messaging
    throw new CellarError(MessagingErrorCode.unavailable, 'another instance leads')
  }

  static {
    for (const call of messagingCalls) {
      Object.defineProperty(StandbyMessaging.prototype, call, {
        configurable: true,
        writable: true,
        async value(this: StandbyMessaging, ...given: unknown[]): Promise<unknown> {
          const messaging = this.#messaging as Record<typeof call, (...given: unknown[]) => unknown>
          return messaging[call](...given)
        },
      })
    }
  }
}
