/**
 * One store: the single writer of its tables, shared by all handles in the process.
 *
 * Writes are gathered while the commits before them become durable, and go to the database as one
 * atomic batch: a group. Each write of a group is checked against what the ones before it have
 * changed, so a thousand conditional puts on one key share one sync. A write that waits for nobody
 * pays one sync and no delay. The group holds the check that the stored sequence is the one this
 * writer knows, so two writers can never mix.
 */
import type { AtomicMutation, Database, Table } from '../../api/index.js'
import { requireCapability } from '../../api/index.js'
import { KeyedQueue } from '../kernel/keyed-queue.js'
import { ChangeLog, decodeCommits, encodeCommits } from './change-log.js'
import {
  AlreadyClosedError,
  asMetadataError,
  MetadataErrorCode,
  MetadataStoreError,
} from './errors.js'
import { parentOf } from './paths.js'
import { NodeTable, openTables } from './node-table.js'
import { CommitPlan, type OwningSession, type Step, type Written } from './planner.js'
import { readUint64, uint64, type StoredRecord } from './record-format.js'
import {
  counterRow,
  layoutRow,
  plainColumn,
  sequenceRow,
  sessionPrefix,
  type TableName,
} from './rows.js'
import { cellMutation, NotLoaded, WorkingState } from './working-state.js'
import type { FeedCommit } from './types.js'

/** Settings of a store, by the handle that opens it first. */
export interface CoreSettings {
  /** What the names of the tables begin with. */
  readonly prefix: string
  readonly now: () => number
  readonly feedRetentionSeconds: number
}

/** A commit as handles are told of it: its events, and the records that it wrote or removed. */
export interface AppliedCommit extends FeedCommit {
  /** The new record by path; undefined = removed. */
  readonly records: ReadonlyMap<string, StoredRecord | undefined>
}

/** A handle. Told of every group of commits once it is durable, before any promise resolves. */
export interface CommitSink {
  applied(commits: readonly AppliedCommit[]): void
}

/** What a caller waits for. */
interface Submission {
  readonly kind: 'steps' | 'tree' | 'end-session' | 'rows'
  readonly steps: readonly Step[]
  /** Root of a recursive delete. */
  readonly path: string
  readonly session: OwningSession | undefined
  /** Rows of the table `control` to write or remove. */
  readonly rows: readonly { readonly row: string; readonly value: Buffer | undefined }[]
  readonly resolve: (written: readonly (Written | undefined)[]) => void
  readonly reject: (error: unknown) => void
}

const layoutVersion = '1'
/** Writes and bytes of one group. */
const groupWritesMax = 20_000
const groupBytesMax = 32 * 1024 * 1024

interface Inflight {
  readonly touched: ReadonlySet<string>
  readonly done: Promise<unknown>
}

export class StoreCore {
  readonly log: ChangeLog
  readonly nodes: NodeTable
  readonly settings: CoreSettings
  readonly #database: Database
  readonly #tables: Readonly<Record<TableName, Table>>
  readonly #sinks = new Set<CommitSink>()
  #queue: Submission[] = []
  #isRunning = false
  /** The newest sequence that is stored. */
  #sequence: number
  /** A commit failed, so what is stored has to be read again. */
  #isInDoubt = false
  #inflight: Inflight | undefined = undefined
  #isClosed = false

  private constructor(
    database: Database,
    tables: Readonly<Record<TableName, Table>>,
    settings: CoreSettings,
    sequence: number,
  ) {
    this.#database = database
    this.#tables = tables
    this.settings = settings
    this.#sequence = sequence
    this.nodes = new NodeTable(tables)
    this.log = new ChangeLog(tables.feed, sequence)
  }

  /** Opens the store in a database. `ERR_METADATA_STORE_FAILURE`, `ERR_UNSUPPORTED`. */
  static async open(database: Database, settings: CoreSettings): Promise<StoreCore> {
    requireCapability(database.capabilities, 'atomicAcrossTables', 'a metadata store')
    const tables = await openTables(database, settings.prefix, settings.feedRetentionSeconds)
    const column = plainColumn
    await tables.control.checkAndMutate(
      { row: layoutRow, column, notExists: true },
      { put: { cells: { [column]: layoutVersion } } },
    )
    const found = (await tables.control.get({ row: layoutRow })).value(column)?.toString()
    if (found !== layoutVersion) {
      const message = `the layout has version ${found}; this package knows ${layoutVersion}`
      throw new MetadataStoreError(MetadataErrorCode.storeFailure, message)
    }
    const sequence = await storedSequence(tables.control)
    return new StoreCore(database, tables, settings, sequence)
  }

  /** The newest sequence whose commit is durable. */
  get sequence(): number {
    return this.log.last
  }

  addSink(sink: CommitSink): void {
    this.#sinks.add(sink)
  }

  removeSink(sink: CommitSink): void {
    this.#sinks.delete(sink)
    this.log.wake()
  }

  /** One commit of several steps. */
  commit(
    steps: readonly Step[],
    session: OwningSession | undefined,
  ): Promise<readonly (Written | undefined)[]> {
    return this.#submit({ kind: 'steps', steps, path: '', session, rows: [] })
  }

  /** Removes a path and everything below it in one commit. */
  async deleteTree(path: string): Promise<void> {
    await this.#submit({ kind: 'tree', steps: [], path, session: undefined, rows: [] })
  }

  /** Removes the records of a session and its row in one commit. */
  async endSession(session: OwningSession): Promise<void> {
    const rows = [{ row: sessionPrefix + session.id, value: undefined }]
    await this.#submit({ kind: 'end-session', steps: [], path: '', session, rows })
  }

  /** Writes rows of the table `control` in a commit of their own. */
  async writeControl(rows: Submission['rows']): Promise<void> {
    await this.#submit({ kind: 'rows', steps: [], path: '', session: undefined, rows })
  }

  /** Rows of the table `control` that begin with a prefix. */
  async controlRows(prefix: string): Promise<{ row: string; value: Buffer }[]> {
    const rows: { row: string; value: Buffer }[] = []
    for await (const result of this.#tables.control.scan({ prefix })) {
      rows.push({ row: result.row!.toString(), value: result.value(plainColumn)! })
    }
    return rows
  }

  /** Waits until what a read of these paths has seen is durable. Undefined paths: any. */
  async settled(path: string | undefined): Promise<void> {
    const inflight = this.#inflight
    if (inflight === undefined) return
    if (path === undefined || inflight.touched.has(path)) await inflight.done
  }

  /** Resolves when all writes that were called have ended. */
  async drain(): Promise<void> {
    while (this.#isRunning || this.#queue.length > 0) {
      await this.#inflight?.done.catch(() => undefined)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** Refuses later writes and ends the feed. Waits for those that were called. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.drain()
    this.log.close()
  }

  #submit(
    submission: Omit<Submission, 'resolve' | 'reject'>,
  ): Promise<readonly (Written | undefined)[]> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(new AlreadyClosedError('the store'))
      this.#queue.push({ ...submission, resolve, reject })
      if (this.#isRunning) return
      this.#isRunning = true
      // What is called in the same turn joins the group.
      queueMicrotask(() => void this.#run())
    })
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const group = this.#takeGroup()
      try {
        if (this.#isInDoubt) await this.#recover()
        await this.#commitGroup(group)
      } catch (error) {
        this.#isInDoubt = true
        const failure = asMetadataError(error)
        for (const { reject } of group) reject(failure)
      }
    }
    this.#isRunning = false
  }

  /** The writes of the next group. One that reads whole trees goes alone. */
  #takeGroup(): Submission[] {
    const queue = this.#queue
    let count = 0
    let bytes = 0
    while (count < queue.length && count < groupWritesMax && bytes < groupBytesMax) {
      const { kind, steps } = queue[count]
      if (kind === 'tree' || kind === 'end-session') break
      for (const step of steps) if (step.kind === 'put') bytes += step.value.length
      count++
    }
    count = Math.max(count, 1)
    this.#queue = queue.slice(count)
    return count === queue.length ? queue : queue.slice(0, count)
  }

  async #commitGroup(group: readonly Submission[]): Promise<void> {
    const state = new WorkingState()
    await this.#load(state, group)
    const commits: AppliedCommit[] = []
    const outcomes: (() => void)[] = []
    for (const submission of group) {
      const sequence = this.#sequence + commits.length + 1
      try {
        const { commit, written } = await this.#plan(submission, state, sequence)
        if (commit !== undefined) commits.push(commit)
        outcomes.push(() => submission.resolve(written))
      } catch (error) {
        const failure = asMetadataError(error)
        outcomes.push(() => submission.reject(failure))
      }
    }
    if (commits.length > 0) await this.#apply(state, commits)
    // A refusal may rest on writes of the group, so it is told when those are durable.
    for (const settle of outcomes) settle()
  }

  async #load(state: WorkingState, group: readonly Submission[]): Promise<void> {
    const paths = new Set<string>()
    const counters = new Set<string>()
    for (const { steps } of group) {
      for (const step of steps) {
        if (step.kind === 'put' && step.options.sequenceKeysDeltas !== undefined) {
          counters.add(counterRow('deltas', step.path))
        } else if (step.kind === 'put' && step.options.sequential === true) {
          counters.add(counterRow('sequential', parentOf(step.path) ?? '/'))
        } else {
          paths.add(step.path)
          if (step.kind === 'delete') addAncestors(paths, step.path)
        }
      }
    }
    await this.nodes.load(state, paths, counters)
  }

  /** Plans a commit, loading what turns out to be needed. A rejection has changed nothing. */
  async #plan(
    submission: Submission,
    state: WorkingState,
    sequence: number,
  ): Promise<{ commit: AppliedCommit | undefined; written: (Written | undefined)[] }> {
    const doomed = await this.#doomed(submission, state)
    for (;;) {
      const plan = new CommitPlan(state, sequence, this.settings.now(), submission.session)
      try {
        const written = submission.steps.map((step) => plan.step(step))
        for (const path of doomed) plan.removeRecord(path)
        for (const { row, value } of submission.rows) {
          state.setEntry({ table: 'control', row, value })
        }
        const events = plan.events()
        state.commit()
        if (events.length === 0 && submission.rows.length === 0) {
          return { commit: undefined, written }
        }
        const records = new Map<string, StoredRecord | undefined>()
        for (const { type, path } of events) {
          if (type !== 'ChildrenChanged') records.set(path, state.node(path).record)
        }
        return { commit: { sequence, events, records }, written }
      } catch (error) {
        state.rollBack()
        if (!(error instanceof NotLoaded)) throw error
        const { path, counter } = error
        await this.nodes.load(
          state,
          path === undefined ? [] : [path],
          counter === undefined ? [] : [counter],
        )
      }
    }
  }

  /** Paths that a submission removes without naming them, children before parents. */
  async #doomed({ kind, path, session }: Submission, state: WorkingState): Promise<string[]> {
    if (kind !== 'tree' && kind !== 'end-session') return []
    const paths =
      kind === 'tree'
        ? await this.nodes.loadTree(path, state)
        : await this.nodes.ownedPaths(session!.id)
    const all = new Set(paths)
    for (const each of kind === 'tree' ? [path] : paths) addAncestors(all, each)
    await this.nodes.load(state, all, [])
    return paths
  }

  async #apply(state: WorkingState, commits: readonly AppliedCommit[]): Promise<void> {
    const last = this.#sequence + commits.length
    const done = this.#write(state, commits, last)
    const touched = new Set<string>()
    for (const path of state.changedPaths()) {
      touched.add(path)
      const parent = parentOf(path)
      if (parent !== undefined) touched.add(parent)
    }
    this.#inflight = { touched, done }
    try {
      await done
    } finally {
      this.#inflight = undefined
    }
    this.#sequence = last
    this.#publish(commits, last)
  }

  async #write(
    state: WorkingState,
    commits: readonly AppliedCommit[],
    last: number,
  ): Promise<void> {
    const before = this.#sequence
    const sequenceCell = { table: this.#tables.control, row: sequenceRow }
    const mutations: AtomicMutation[] = state
      .mutations(last)
      .map((mutation) => ({ ...mutation, table: this.#tables[mutation.table as TableName] }))
    mutations.push({ ...sequenceCell, mutations: [cellMutation(plainColumn, uint64(last), last)] })
    mutations.push({
      table: this.#tables.feed,
      row: uint64(commits[0].sequence),
      mutations: [{ put: { cells: { [plainColumn]: encodeCommits(commits) } } }],
    })
    const unchanged = { ...sequenceCell, column: plainColumn }
    const check =
      before === 0
        ? { ...unchanged, notExists: true as const }
        : { ...unchanged, equals: uint64(before) }
    const { success } = await this.#database.atomic({
      checks: [check],
      mutations,
      durability: 'FSYNC_WAL',
    })
    if (success) return
    const message = 'another writer has changed the tables of the store'
    throw new MetadataStoreError(MetadataErrorCode.storeFailure, message)
  }

  #publish(commits: readonly AppliedCommit[], last: number): void {
    this.log.append(commits, last)
    for (const sink of this.#sinks) sink.applied(commits)
  }

  /** Reads again what is stored, and publishes commits whose writer was told of a failure. */
  async #recover(): Promise<void> {
    const stored = await storedSequence(this.#tables.control)
    if (stored > this.#sequence) {
      const commits: AppliedCommit[] = []
      for await (const row of this.#tables.feed.scan({ startRow: uint64(this.#sequence + 1) })) {
        for (const commit of decodeCommits(row.value(plainColumn)!)) {
          commits.push({ ...commit, records: await this.#recordsOf(commit) })
        }
      }
      this.#sequence = stored
      this.#publish(commits, stored)
    }
    this.#isInDoubt = false
  }

  async #recordsOf({ events }: FeedCommit): Promise<Map<string, StoredRecord | undefined>> {
    const records = new Map<string, StoredRecord | undefined>()
    for (const { type, path } of events) {
      if (type !== 'ChildrenChanged') records.set(path, await this.nodes.record(path))
    }
    return records
  }
}

async function storedSequence(control: Table): Promise<number> {
  const bytes = (await control.get({ row: sequenceRow })).value(plainColumn)
  return bytes === undefined ? 0 : readUint64(bytes, 0)
}

function addAncestors(paths: Set<string>, path: string): void {
  let above = parentOf(path)
  while (above !== undefined && !paths.has(above)) {
    paths.add(above)
    above = parentOf(above)
  }
}

const opening = new KeyedQueue()
const cores = new WeakMap<Database, Map<string, StoreCore>>()

/** The one core of a store in a database; `settings` count for the first that asks. */
export function coreOf(database: Database, settings: CoreSettings): Promise<StoreCore> {
  return opening.run(settings.prefix, async () => {
    let byPrefix = cores.get(database)
    if (byPrefix === undefined) cores.set(database, (byPrefix = new Map<string, StoreCore>()))
    let core = byPrefix.get(settings.prefix)
    if (core === undefined) {
      core = await StoreCore.open(database, settings)
      byPrefix.set(settings.prefix, core)
    }
    return core
  })
}

/** Forgets the core of a store that was closed. */
export function forgetCore(database: Database, prefix: string): void {
  cores.get(database)?.delete(prefix)
}
