/**
 * The state of a database from open to closed, and the work that each state allows.
 *
 * The first failed write or sync of the log or manifest poisons the database. Then reads continue,
 * writes fail with `ERR_POISONED` and the first error as cause, and `onPoisoned` is called once.
 */
import { CellarError, closedError, ErrorCode, poisonedError } from '../../base/errors.js'

export class Lifecycle {
  state: 'open' | 'closing' | 'closed' = 'open'
  /** Functions that a close calls, to end calls that might otherwise wait for ever. */
  readonly endedByClose = new Set<() => void>()
  /** Functions to call with the reason when writes are refused from now on. */
  readonly onRefusal: ((reason: CellarError) => void)[] = []
  private readonly directory: string
  private readonly onPoisoned: (error: CellarError) => void
  private poisonedBy: CellarError | undefined = undefined
  /** Whether mutations and flushes are refused: the database is poisoned or open read-only. */
  private isUnwritable: boolean
  /** Running changes that make files or edits. A close waits for them. */
  private readonly changes = new Set<Promise<unknown>>()

  constructor(directory: string, readOnly: boolean, onPoisoned: (error: CellarError) => void) {
    this.directory = directory
    this.isUnwritable = readOnly
    this.onPoisoned = onPoisoned
  }

  /** Throws `ERR_CLOSED` unless the database is open. */
  checkOpen(): void {
    if (this.state !== 'open') throw closedError('the database')
  }

  /** Throws unless mutations are possible: `ERR_CLOSED`, `ERR_POISONED`, `ERR_READ_ONLY`. */
  checkWritable(): void {
    if (this.state !== 'open') throw closedError('the database')
    if (this.isUnwritable) throw this.writeRefusal()
  }

  /** Whether {@link checkWritable} passes. */
  get isWritable(): boolean {
    return this.state === 'open' && !this.isUnwritable
  }

  /**
   * Throws if flushes are impossible: `ERR_CLOSED`, `ERR_POISONED`, `ERR_READ_ONLY`. During a close
   * they are still possible.
   */
  checkFlush(): void {
    if (this.state === 'closed') throw closedError('the database')
    if (this.isUnwritable) throw this.writeRefusal()
  }

  /** Whether {@link checkFlush} passes. */
  get mayFlush(): boolean {
    return this.state !== 'closed' && !this.isUnwritable
  }

  /** Refuses all later writes. */
  poison(error: CellarError): void {
    if (this.poisonedBy !== undefined) return
    this.poisonedBy = error
    this.isUnwritable = true
    this.refuseWaiting(error)
    this.onPoisoned(error)
  }

  /** The error that poisoned the database; undefined if none did. */
  get failure(): CellarError | undefined {
    return this.poisonedBy
  }

  /**
   * Runs a change that makes files or edits; a close waits for it. REQUIRES that the change does
   * not wait for its caller. Throws as {@link checkWritable}.
   */
  async change<T>(step: () => Promise<T>): Promise<T> {
    this.checkWritable()
    const change = step()
    this.changes.add(change)
    try {
      return await change
    } finally {
      this.changes.delete(change)
    }
  }

  /** Resolves when all running changes have ended. */
  async changesEnded(): Promise<void> {
    await Promise.allSettled(this.changes)
  }

  /** Ends the state `closing`: even flushes are refused. */
  hasClosed(): void {
    this.state = 'closed'
    this.refuseWaiting(closedError('the database'))
  }

  private refuseWaiting(reason: CellarError): void {
    for (const refuse of this.onRefusal) refuse(reason)
  }

  private writeRefusal(): CellarError {
    if (this.poisonedBy !== undefined) return poisonedError(this.poisonedBy)
    return new CellarError(ErrorCode.readOnly, `${this.directory} is open read-only`)
  }
}
