/** The parts of the cases: a backend, and the fixture of a case. */
import type {
  Clock,
  Coprocessor,
  CoprocessorRegistration,
  Database,
} from '../../../src/api/index.js'
import {
  Transaction,
  TransactionManager,
  type TransactionManagerOptions,
} from '../../../src/systems/transactions/index.js'
import type { SuiteCase, SuiteClock } from '../../suites/kit.js'

/** A database that a case may close and open again, on the same data. */
export interface SuiteDatabase {
  /** The open database; another one after {@link reopen}. */
  readonly database: Database
  /** Closes the database and opens it again; returns the new handle. */
  reopen(): Promise<Database>
  /** Closes the database for good; its data are no longer needed. */
  close(): Promise<void>
  /**
   * A second opener of the same data, with a handle of its own, which fails with `ERR_LOCKED` while
   * another handle is open. Absent: cases about several openers are left out.
   */
  openAgain?(): Promise<Database>
  /**
   * Ends the database as a crash does that tears the last frame of the log, which was being
   * written; then opens it again. Absent: cases about torn logs are left out.
   */
  reopenTorn?(): Promise<Database>
  /** Absent: cases about flushes and compactions are left out. */
  readonly jobs?: {
    /** Adds a coprocessor to the tables of messaging. */
    register(database: Database, coprocessor: Coprocessor): Promise<CoprocessorRegistration>
    /** Writes all that is in memory into files. */
    flush(database: Database): Promise<void>
    /** Merges files of a table: all of them if `major`. */
    compact(database: Database, table: string, major: boolean): Promise<void>
  }
}

/** What the suite is run against. */
export interface MessagingBackend {
  /** Name of the backend in the names of the tests. */
  readonly name: string
  /** Opens an empty database with this clock. It needs atomic batches over tables. */
  open(clock: Clock): Promise<SuiteDatabase>
  /** Time after which a case that has not ended fails. Default 60 seconds. */
  readonly caseMilliseconds?: number | undefined
}

/** What a case gets: a database of its own, and a clock. */
export class Fixture {
  readonly clock: SuiteClock
  readonly suite: SuiteDatabase
  database: Database
  readonly #closing: (() => Promise<void>)[] = []

  constructor(open: SuiteDatabase, clock: SuiteClock) {
    this.suite = open
    this.database = open.database
    this.clock = clock
  }

  /** Opens a transaction manager that ends with the case. */
  async manager(options: TransactionManagerOptions = {}): Promise<TransactionManager> {
    const { clock } = this
    const manager = await TransactionManager.open(this.database, {
      clock,
      sweepMilliseconds: 0,
      ...options,
    })
    this.atEnd(() => manager.close())
    return manager
  }

  /** Closes what was opened, then the database, and opens it again. */
  async reopen(): Promise<void> {
    await this.endAll()
    this.database = await this.suite.reopen()
  }

  /** As `reopen`, behind a crash that tears the last frame of the log. */
  async reopenTorn(): Promise<void> {
    const database = await this.suite.reopenTorn!()
    await this.endAll()
    this.database = database
  }

  /** Runs at the end of the case, or before a reopen; the last one first. */
  atEnd(work: () => Promise<void>): void {
    this.#closing.push(work)
  }

  async endAll(): Promise<void> {
    for (let work = this.#closing.pop(); work !== undefined; work = this.#closing.pop()) {
      await work()
    }
  }
}

/** One case. It fails by throwing. */
export interface MessagingCase extends SuiteCase {
  /** The part of the backend that the case needs; without it the case is skipped. */
  readonly needs?: 'jobs' | 'openAgain' | 'reopenTorn' | undefined
  readonly run: (fixture: Fixture) => Promise<void>
}

/** A transaction made by hand: read pointer, id, invalid and running pointers. */
export function tx(
  readPointer: bigint,
  transactionId: bigint,
  invalids: readonly bigint[],
  inProgress: readonly bigint[],
): Transaction {
  return new Transaction({
    readPointer,
    transactionId,
    invalids,
    inProgress,
    firstShortInProgress: inProgress[0] ?? 2n ** 63n - 1n,
  })
}
