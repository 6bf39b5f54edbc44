/**
 * A database with one owner, over a store that is atomic per row: atomic batches over rows and
 * tables, snapshots and a change feed. See `docs/owned-database.md`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type * as api from '../../api/index.js'
import { plainTableName } from '../../api/names.js'
import { readArguments } from '../../base/arguments.js'
import { copyArguments } from '../../base/copy-arguments.js'
import {
  CellarError,
  closedError,
  ErrorCode,
  invalidArgument,
  poisonedError,
} from '../../base/errors.js'
import { foreignTable, readAtomic } from '../../checks/atomic.js'
import type { EmbeddedTable } from '../../table/embedded-table.js'
import { Feeds } from './feeds.js'
import { LocalFilters } from './local-filters.js'
import { fill } from './mirror.js'
import { roundsOf, rowWrites } from './log/apply.js'
import type { LogPlace, Patience } from './log/log-store.js'
import type { LoggedBatch } from './log/logged-batch.js'
import { OwnerLog, type Appended } from './log/owner-log.js'
import { namedRows, rowOfCheck, RowOrder, rowsOfMutation, type NamedRow } from './loads.js'
import type { OwnedSettings } from './options.js'
import { OwnedAdmin } from './owned-admin.js'
import { OwnedTable, plain } from './owned-table.js'
import { RowWriter } from './row-writer.js'
import { View, Views } from './views.js'
import { WorkingCopy, type Evaluated } from './working-copy.js'

/** Batches and bytes of a group and of a chunk of the log. */
const chunkBatchesMax = 1_000
const chunkBytesMax = 2 * 1024 * 1024
/** Bytes of the working copy after which it begins anew. */
const copyBytesMax = 32 * 1024 * 1024

/** A database with one owner. Made by `ownDatabase`. */
export class OwnedDatabase implements api.Database<OwnedTable> {
  /** Those of the store, with snapshots, changes and atomic batches. */
  readonly capabilities: api.Capabilities
  readonly cellBytesMax: number
  /** Schema; changes of tables wait for the batches before them. */
  readonly admin: OwnedAdmin
  /** @internal Evaluates filters that the store refuses. */
  readonly filters: LocalFilters
  readonly #store: api.Database
  readonly #settings: OwnedSettings
  readonly #log: OwnerLog
  readonly #views: Views
  readonly #clock: { now(): number }
  readonly #feeds: Feeds
  readonly #patience: Patience
  readonly #writer: RowWriter
  #copy: WorkingCopy | undefined = undefined
  readonly #order = new RowOrder()
  #running = 0
  /** Resolves when calls may begin. */
  #gate: Promise<void> | undefined = undefined
  /** The round that is being applied. */
  #round: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined = undefined
  #closing: Promise<void> | undefined = undefined

  /** @internal Made by `ownDatabase`. */
  constructor(
    store: api.Database,
    settings: OwnedSettings,
    place: LogPlace,
    recovered: ConstructorParameters<typeof OwnerLog>[1],
  ) {
    this.#store = store
    this.#settings = settings
    this.#patience = place.patience
    this.#writer = new RowWriter(store, 'passed over')
    this.cellBytesMax = store.cellBytesMax
    this.capabilities = Object.freeze({
      ...store.capabilities,
      sync: false,
      coprocessors: false,
      filters: true,
      snapshots: true,
      changes: true,
      atomicAcrossRows: true,
      atomicAcrossTables: true,
    })
    this.admin = new OwnedAdmin(this, store.admin, settings.logTable)
    let last = 0
    this.#clock = {
      now: () => (last = Math.max(last, settings.clock.now(), this.#log.timestamp + 1)),
    }
    this.#views = new Views(store, settings.clock)
    this.#feeds = new Feeds(store.admin, () => this.checkOpen())
    this.filters = new LocalFilters(store, settings.clock)
    this.#log = new OwnerLog(place, recovered, {
      apply: (batches) => this.#apply(batches),
      neededFrom: () => this.#feeds.neededFrom,
      retentionBytes: settings.logRetentionBytes,
      batchesMax: chunkBatchesMax,
      bytesMax: chunkBytesMax,
      onFailure: (error) => this.#failed(error),
    })
  }

  /** @internal Opens the working copy, and starts the heartbeat. */
  async begin(): Promise<void> {
    this.#copy = await this.#openCopy()
    await this.#log.beat()
    if (this.#log.failure !== undefined) throw this.#log.failure
    let isBeating = false
    // A store that is slower than the heartbeat must not get a queue of them.
    const beat = async (): Promise<void> => {
      if (isBeating) return
      isBeating = true
      await this.#log.beat()
      isBeating = false
    }
    this.#timer = setInterval(() => void beat(), this.#settings.heartbeatMilliseconds)
  }

  /** The error that poisoned the database, if any. Writes then fail with `ERR_POISONED`. */
  get failure(): CellarError | undefined {
    return this.#log.failure
  }

  /** Number of this ownership; each takeover adds 1. */
  get epoch(): number {
    return this.#log.epoch
  }

  table(name: string): OwnedTable {
    this.checkOpen()
    return new OwnedTable(this, this.#store.table(plainTableName(name)))
  }

  createTable(name: string, options: api.TableOptions): Promise<OwnedTable> {
    return this.admin.createTable(name, options)
  }

  /**
   * A view of the state at this moment. While a view is open, the owner reads rows before it
   * changes them, and keeps what it has read in memory. A view has no delete markers, and does not
   * survive the owner.
   */
  snapshot(): View {
    this.checkOpen()
    return this.openView()
  }

  /** The batches of the log, each shown when it is applied. See {@link api.Database.changes}. */
  changes(options: api.ChangeOptions = {}): AsyncGenerator<api.Change, void> {
    this.checkOpen()
    return this.#feeds.follow(this.#log, options)
  }

  async atomic(batch: api.AtomicBatchOption): Promise<api.AtomicResult> {
    this.checkOpen()
    const { value, bytes } = copyArguments(batch)
    const parts = readArguments(() => readAtomic(plain(value)))
    const names = new Set<string>()
    const nameOf = (table: string | api.Table): string => {
      if (typeof table === 'string') return plainTableName(table)
      if (table instanceof OwnedTable && table.isOf(this)) return table.name
      throw foreignTable()
    }
    const checks = parts.checks.map(({ table, check }) => ({ ...check, table: nameOf(table) }))
    const mutations = parts.mutations.map(({ table, row }) => ({ ...row, table: nameOf(table) }))
    for (const { table } of [...checks, ...mutations]) names.add(table)
    const rows = namedRows(() => [
      ...checks.map((check) => rowOfCheck(check.table, check)),
      ...mutations.flatMap((each) => rowsOfMutation(each.table, each.row, each)),
    ])
    const list = [...names]
    const { value: result, sequence } = await this.mutate(list, rows, bytes, (own) => {
      const copy = (table: string): EmbeddedTable => own[list.indexOf(table)]
      return this.#copy!.mirror.database.atomicSync({
        checks: checks.map((check) => ({ ...check, table: copy(check.table) })),
        mutations: mutations.map((each) => ({ ...each, table: copy(each.table) })),
      })
    })
    return { ...result, sequence }
  }

  /** Ends all work, and gives up the ownership. The database below stays open. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  /** As {@link close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /**
   * @internal Carries out mutations on the working copy, logs and applies them. `rows` are those
   * that the mutations name.
   */
  async mutate<T>(
    tables: readonly string[],
    rows: readonly NamedRow[],
    bytes: number,
    run: (tables: readonly EmbeddedTable[]) => T,
  ): Promise<{ readonly value: T; readonly sequence: number | undefined }> {
    this.checkOpen()
    if (bytes > this.#settings.batchBytesMax) {
      const message = `a mutation of about ${bytes} bytes is larger than batchBytesMax`
      throw new CellarError(ErrorCode.tooLarge, message)
    }
    while (this.#gate !== undefined) await this.#gate
    this.#running++
    let outcome: Evaluated<T>
    let appended: readonly Appended[]
    try {
      outcome = await this.#order.run(rows, () => this.#evaluate(tables, rows, run))
      // The log may get the batch a little later; a change of a table waits for it as well.
      appended = await outcome.logged
    } finally {
      this.#running--
    }
    await Promise.all(appended.map(({ done }) => done))
    const value = outcome.result()
    if (this.#copy!.bytes > copyBytesMax && this.#gate === undefined) void this.#renew()
    return { value, sequence: appended.at(-1)?.sequence }
  }

  /** @internal Changes a table between two batches, when the log is marked as applied. */
  between<T>(table: string, change: () => Promise<T>): Promise<T> {
    return this.#alone(async () => {
      await this.#log.beat()
      if (this.#log.failure !== undefined) throw poisonedError(this.#log.failure)
      try {
        return await change()
      } finally {
        await this.#copy!.mirror.forget(table)
        this.filters.forget(table)
        this.#writer.forget(table)
      }
    })
  }

  /** @internal A view that its caller closes. */
  openView(): View {
    this.checkOpen()
    return this.#views.open(this.#log.started, this.#round)
  }

  /** @internal The view that a caller has passed. */
  viewOf(snapshot: api.Snapshot | undefined): View {
    this.checkOpen()
    if (snapshot instanceof View && snapshot.isOf(this.#views)) return snapshot
    throw invalidArgument('the snapshot must be of the same database')
  }

  /** @internal Resolves when no batch is half applied that was when the call began. */
  settled(): Promise<void> {
    this.checkOpen()
    return this.#round
  }

  /** @internal Throws `ERR_CLOSED` once the database is closed. */
  checkOpen(): void {
    if (this.#closing !== undefined) throw closedError('the owned database')
  }

  async #openCopy(): Promise<WorkingCopy> {
    const { timestampSlopMilliseconds: slop } = this.#settings
    return WorkingCopy.open(this.#store, this.#clock, slop, (batch) => this.#log.append(batch))
  }

  async #evaluate<T>(
    tables: readonly string[],
    rows: readonly NamedRow[],
    run: (tables: readonly EmbeddedTable[]) => T,
  ): Promise<Evaluated<T>> {
    const copy = this.#copy!
    const own = await Promise.all(tables.map((name) => copy.mirror.table(name)))
    for (const [i, table] of own.entries()) copy.standsFor(table.name, tables[i])
    const loads = rows.filter(({ load }) => load !== undefined)
    const results = await Promise.all(
      loads.map(({ table, row, load }) => {
        const columns = load === 'all' ? undefined : load
        return this.#store.table(table).get({ row, columns, versions: 'all' })
      }),
    )
    if (this.#log.failure !== undefined) throw poisonedError(this.#log.failure)
    for (const [i, result] of results.entries()) {
      const table = own[tables.indexOf(loads[i].table)]
      if (!result.isEmpty) copy.evaluate(() => fill(table, result), true).result()
    }
    return copy.evaluate(() => run(own))
  }

  /** Runs when no other call is under way, and lets none begin meanwhile. */
  async #alone<T>(run: () => Promise<T>): Promise<T> {
    while (this.#gate !== undefined) await this.#gate
    this.checkOpen()
    const alone = (async () => {
      while (this.#running > 0) await sleep(1)
      await this.#log.whenApplied(this.#log.last)
      return run()
    })()
    const ended = alone.then(
      () => undefined,
      () => undefined,
    )
    this.#gate = ended
    void ended.then(() => (this.#gate = undefined))
    return alone
  }

  /** Begins another working copy, so that the memory of the old one is freed. */
  async #renew(): Promise<void> {
    await this.#alone(async () => {
      const old = this.#copy!
      this.#copy = await this.#openCopy()
      await old.close()
    }).catch(() => undefined)
  }

  async #apply(batches: readonly LoggedBatch[]): Promise<void> {
    const retry: Patience = async (error, since) => {
      if (this.#log.failure !== undefined) throw this.#log.failure
      await this.#patience(error, since)
    }
    const applied = (async () => {
      for (const round of roundsOf(batches)) {
        const writes = rowWrites(round)
        await this.#views.capture(writes)
        await this.#writer.write(writes, retry)
      }
    })()
    this.#round = applied
    await applied
  }

  #failed(error: CellarError): void {
    clearInterval(this.#timer)
    try {
      this.#settings.onFailure?.(error)
    } catch {
      // A listener that throws must not hinder the end.
    }
  }

  async #close(): Promise<void> {
    clearInterval(this.#timer)
    // A change of a table that ran on would meet the next owner.
    while (this.#gate !== undefined || this.#running > 0) await (this.#gate ?? sleep(1))
    await this.#log.whenApplied(this.#log.last).catch(() => undefined)
    await this.#log.beat(true)
    this.#log.end()
    await this.#views.close()
    await this.filters.close()
    await this.#copy?.close()
  }
}
