/**
 * The sessions of one store: their deadlines, and the removal of expired sessions.
 *
 * A session lives while its handle sends heartbeats. The session has a stored row, so the ephemeral
 * records of a process that died can be removed after a restart: each stored session gets one
 * timeout to be resumed. A session is removed with its ephemeral records in one commit. Very many
 * records need several commits, of which the last removes the session.
 */
import { elapsed, later, type LeaseClock } from '../../kernel/lease-clock.js'
import { metadataError } from '../../metadata/errors.js'
import { uint64, readUint64 } from '../../kernel/numbers.js'
import { sessionPrefix } from './rows.js'
import { endingTimeout, type StoreCore } from './store-core.js'
import type { OwningSession } from './planner.js'

/** The handle of a session; notified of its expiry before its records are removed. */
export interface SessionOwner {
  expired(): void
}

/** A session, in the memory of the registry. */
export class Session implements OwningSession {
  readonly id: number
  readonly timeoutMilliseconds: number
  isAlive = true
  /** Time at which the session expires without another heartbeat. */
  deadline = 0
  owner: SessionOwner | undefined = undefined

  constructor(id: number, timeoutMilliseconds: number) {
    this.id = id
    this.timeoutMilliseconds = timeoutMilliseconds
  }
}

const lastSessionRow = 'last-session'
/** Wait before the removal of a session is retried after a failed commit. */
const retryMilliseconds = 1_000

/** The sessions of one store; see the file header. */
export class SessionRegistry {
  readonly #core: StoreCore
  readonly #clock: LeaseClock
  readonly #sessions = new Map<number, Session>()
  #lastId: number
  #stopTimer: (() => void) | undefined = undefined
  #timerAt = Infinity
  #isStopped = false

  private constructor(core: StoreCore, clock: LeaseClock, lastId: number) {
    this.#core = core
    this.#clock = clock
    this.#lastId = lastId
  }

  /** Loads the stored sessions; each gets one timeout to be resumed. */
  static async load(core: StoreCore, clock: LeaseClock): Promise<SessionRegistry> {
    const [last] = await core.controlRows(lastSessionRow)
    const registry = new SessionRegistry(
      core,
      clock,
      last === undefined ? 0 : readUint64(last.value, 0, last.row),
    )
    for (const { row, value } of await core.controlRows(sessionPrefix)) {
      const id = Number(row.slice(sessionPrefix.length))
      const session = new Session(id, readUint64(value, 0, row))
      if (session.timeoutMilliseconds === endingTimeout) registry.#endLater(session)
      else registry.#admit(session)
    }
    return registry
  }

  /** Number of sessions that are alive. */
  get size(): number {
    return this.#sessions.size
  }

  /** Whether a session is alive and a handle of this process uses it. */
  isInUse(id: number): boolean {
    const session = this.#sessions.get(id)
    return session?.isAlive === true && session.owner !== undefined
  }

  /** Creates a session. The session is durable when the promise resolves. */
  async open(timeoutMilliseconds: number, owner: SessionOwner): Promise<Session> {
    const session = new Session(++this.#lastId, timeoutMilliseconds)
    await this.#core.writeControl([
      { row: sessionPrefix + session.id, value: uint64(timeoutMilliseconds) },
      { row: lastSessionRow, value: uint64(this.#lastId) },
    ])
    session.owner = owner
    this.#admit(session)
    return session
  }

  /** Resumes a session without an owner in this process. `ERR_METADATA_SESSION_LOST`. */
  resume(id: number, owner: SessionOwner): Session {
    const session = this.#sessions.get(id)
    if (session?.isAlive !== true || session.owner !== undefined) {
      throw metadataError('sessionLost', `there is no session ${id} to resume`)
    }
    session.owner = owner
    this.heartbeat(session)
    return session
  }

  /** Extends the deadline. Returns false if the session has ended. */
  heartbeat(session: Session): boolean {
    if (!session.isAlive) return false
    session.deadline = elapsed(this.#clock) + session.timeoutMilliseconds
    this.#arm(session.deadline)
    return true
  }

  /** Ends a session on request of its handle. */
  async close(session: Session): Promise<void> {
    if (!session.isAlive) return
    session.isAlive = false
    try {
      await this.#core.endSession(session)
      this.#sessions.delete(session.id)
    } catch (error) {
      this.#removeLater(session)
      throw error
    }
  }

  /** Ends a session whose deadline has passed. */
  expire(session: Session): void {
    if (!session.isAlive) return
    session.isAlive = false
    session.owner?.expired()
    this.#remove(session)
  }

  /** Stops the timer. The sessions remain stored. */
  stop(): void {
    this.#isStopped = true
    this.#stopTimer?.()
  }

  #admit(session: Session): void {
    this.#sessions.set(session.id, session)
    this.heartbeat(session)
  }

  #arm(deadline: number): void {
    if (this.#isStopped || deadline >= this.#timerAt) return
    this.#stopTimer?.()
    this.#timerAt = deadline
    const wait = deadline - elapsed(this.#clock)
    this.#stopTimer = later(this.#clock, wait, () => this.#check())
  }

  #check(): void {
    const now = elapsed(this.#clock)
    this.#timerAt = Infinity
    let next = Infinity
    for (const session of [...this.#sessions.values()]) {
      if (!session.isAlive) continue
      if (session.deadline <= now) this.expire(session)
      else next = Math.min(next, session.deadline)
    }
    if (next < Infinity) this.#arm(next)
  }

  /** Resumes a removal that the previous process began. */
  #endLater(session: Session): void {
    session.isAlive = false
    this.#sessions.set(session.id, session)
    this.#remove(session)
  }

  #remove(session: Session): void {
    this.#core.endSession(session).then(
      () => this.#sessions.delete(session.id),
      () => this.#removeLater(session),
    )
  }

  /** Retries the removal of a dead session: the disk may have been full. */
  #removeLater(session: Session): void {
    later(this.#clock, retryMilliseconds, () => {
      if (!this.#isStopped) this.#remove(session)
    })
  }
}
