/**
 * The sessions of one store: their deadlines, and the removal of expired sessions.
 *
 * A session lives while its handle sends heartbeats. The session has a stored row, so the ephemeral
 * records of a process that died can be removed after a restart: each stored session gets one
 * timeout to be resumed. A session is removed with its ephemeral records in one commit. Very many
 * records need several commits, of which the last removes the session.
 */
import { elapsed, later, Lease, type LeaseClock } from '../../kernel/lease-clock.js'
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
export interface Session extends OwningSession {
  readonly timeoutMilliseconds: number
  /** Ends without heartbeats. */
  readonly lease: Lease
  owner: SessionOwner | undefined
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
      const timeout = readUint64(value, 0, row)
      const session = registry.#admit(Number(row.slice(sessionPrefix.length)), timeout, undefined)
      // The previous process has begun the removal.
      if (timeout === endingTimeout) registry.expire(session)
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
    return session?.lease.isHeld === true && session.owner !== undefined
  }

  /** Creates a session. The session is durable when the promise resolves. */
  async open(timeoutMilliseconds: number, owner: SessionOwner): Promise<Session> {
    const id = ++this.#lastId
    await this.#core.writeControl([
      { row: sessionPrefix + id, value: uint64(timeoutMilliseconds) },
      { row: lastSessionRow, value: uint64(id) },
    ])
    return this.#admit(id, timeoutMilliseconds, owner)
  }

  /** Resumes a session without an owner in this process. `ERR_METADATA_SESSION_LOST`. */
  resume(id: number, owner: SessionOwner): Session {
    const session = this.#sessions.get(id)
    if (session?.lease.isHeld !== true || session.owner !== undefined) {
      throw metadataError('sessionLost', `there is no session ${id} to resume`)
    }
    session.owner = owner
    this.heartbeat(session)
    return session
  }

  /** Extends the deadline. Returns false if the session has ended. */
  heartbeat(session: Session): boolean {
    if (!session.lease.isHeld) return false
    session.lease.renew(elapsed(this.#clock) + session.timeoutMilliseconds)
    return true
  }

  /** Ends a session on request of its handle. */
  async close(session: Session): Promise<void> {
    if (!session.lease.end()) return
    try {
      await this.#core.endSession(session)
      this.#sessions.delete(session.id)
    } catch (error) {
      this.#removeLater(session)
      throw error
    }
  }

  /** Ends a session before its time. */
  expire(session: Session): void {
    if (session.lease.end()) this.#expired(session)
  }

  /** Stops the timers. The sessions remain stored. */
  stop(): void {
    this.#isStopped = true
    for (const { lease } of this.#sessions.values()) lease.end()
  }

  #admit(id: number, timeout: number, owner: SessionOwner | undefined): Session {
    const clock = this.#clock
    const lease = new Lease(clock, () => this.#expired(session), elapsed(clock) + timeout)
    const session: Session = { id, timeoutMilliseconds: timeout, lease, owner }
    this.#sessions.set(id, session)
    return session
  }

  #expired(session: Session): void {
    session.owner?.expired()
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
