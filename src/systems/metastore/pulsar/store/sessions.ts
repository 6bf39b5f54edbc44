/**
 * The sessions of one store: who is alive, until when, and the end of those that are not.
 *
 * A session lives as long as its handle sends heartbeats. Its row is stored, so the ephemeral
 * records of a process that died are removed after the store was opened again, once a timeout has
 * passed without a heartbeat. The end of a session is one commit; with very many records several,
 * of which the last removes the session.
 */
import { elapsed, later, type LeaseClock } from '../../kernel/lease-clock.js'
import { SessionLostError } from '../errors.js'
import { uint64, readUint64 } from './record-format.js'
import { sessionPrefix } from './rows.js'
import { endingTimeout, type StoreCore } from './store-core.js'
import type { OwningSession } from './planner.js'

/** Told of the end of a session, before its records are removed. */
export interface SessionOwner {
  expired(): void
}

/** One session. */
export class Session implements OwningSession {
  readonly id: number
  readonly timeoutMilliseconds: number
  isAlive = true
  /** When it ends without a heartbeat. */
  deadline = 0
  owner: SessionOwner | undefined = undefined

  constructor(id: number, timeoutMilliseconds: number) {
    this.id = id
    this.timeoutMilliseconds = timeoutMilliseconds
  }
}

const lastSessionRow = 'last-session'
/** Time after which the end of a session is tried again when its commit failed. */
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

  /** The sessions that are stored; each gets one timeout to be taken up again. */
  static async load(core: StoreCore, clock: LeaseClock): Promise<SessionRegistry> {
    const [last] = await core.controlRows(lastSessionRow)
    const registry = new SessionRegistry(
      core,
      clock,
      last === undefined ? 0 : readUint64(last.value, 0),
    )
    for (const { row, value } of await core.controlRows(sessionPrefix)) {
      const id = Number(row.slice(sessionPrefix.length))
      const session = new Session(id, readUint64(value, 0))
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

  /** Begins a session. Durable when it resolves. */
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

  /** Takes up a session that nobody in this process uses. `ERR_METADATA_SESSION_LOST`. */
  resume(id: number, owner: SessionOwner): Session {
    const session = this.#sessions.get(id)
    if (session?.isAlive !== true || session.owner !== undefined) {
      throw new SessionLostError(`there is no session ${id} to take up`)
    }
    session.owner = owner
    this.heartbeat(session)
    return session
  }

  /** Moves the deadline. False if the session has ended. */
  heartbeat(session: Session): boolean {
    if (!session.isAlive) return false
    session.deadline = elapsed(this.#clock) + session.timeoutMilliseconds
    this.#arm(session.deadline)
    return true
  }

  /** Ends a session by the will of its handle. */
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

  /** Ends a session as if its time had passed. */
  expire(session: Session): void {
    if (!session.isAlive) return
    session.isAlive = false
    session.owner?.expired()
    this.#remove(session)
  }

  /** Stops the timer; sessions stay stored. */
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

  /** The end of a session had begun when the process died. */
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

  /** The disk may be full. The session is dead, and its records go when they can. */
  #removeLater(session: Session): void {
    later(this.#clock, retryMilliseconds, () => {
      if (!this.#isStopped) this.#remove(session)
    })
  }
}
