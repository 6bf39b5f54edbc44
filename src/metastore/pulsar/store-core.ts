/**
 * One store: the single writer of its tables, shared by all handles in the process.
 *
 * Writes are gathered while the commits before them become durable, and go to the database as one
 * atomic batch: a group. Each write of a group is checked against what the ones before it have
 * changed, so a thousand conditional puts on one key share one sync. A write that waits for nobody
 * pays one sync and no delay. The group holds the check that the stored sequence is the one this
 * writer knows, so two writers can never mix.
 */
import type { Database, Table } from '../../api/index.js'
import { requireCapability } from '../../api/index.js'
import { KeyedQueue } from '../kernel/keyed-queue.js'
import { ChangeLog, decodeCommits } from './change-log.js'
import {
  AlreadyClosedError,
  asMetadataError,
  MetadataErrorCode,
  MetadataStoreError,
} from './errors.js'
import { GroupEvents, groupOf } from './group-events.js'
import { parentOf } from './paths.js'
import { NodeTable, openTables } from './node-table.js'
import { CommitPlanner, type OwningSession, type Step, type Written } from './planner.js'
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

/** A handle. Told of every group of commits once it is durable, before any promise resolves. */
export interface CommitSink {
  applied(group: GroupEvents): void
}

type AllWritten = readonly (Written | undefined)[]
type ControlRows = readonly { readonly row: string; readonly value: Buffer | undefined }[]

const noSteps: readonly Step[] = []
const noRows: ControlRows = []
const nothingWritten: AllWritten = []
const noAnswer = (): void => undefined

/** What the promise of a write gives when its commit is durable. */
type Answer = (written: AllWritten, session: number) => unknown

/** What a caller waits for. One object a write, for ten thousand may wait at once. */
class Submission {
  readonly kind: 'steps' | 'tree' | 'end-session' | 'rows'
  readonly steps: readonly Step[]
  readonly session: OwningSession | undefined
  /** Root of a recursive delete. */
  readonly path: string
  /** Rows of the table `control` to write or remove. */
  readonly rows: ControlRows
  written: AllWritten = nothingWritten
  failure: MetadataStoreError | undefined = undefined
  /** Settles the promise of the caller. */
  resolve!: (answer: unknown) => void
  reject!: (failure: MetadataStoreError) => void
  readonly #answer: Answer

  constructor(
    kind: Submission['kind'],
    steps: readonly Step[],
    session: OwningSession | undefined,
    path: string,
    rows: ControlRows,
    answer: Answer,
  ) {
    this.kind = kind
    this.steps = steps
    this.session = session
    this.path = path
    this.rows = rows
    this.#answer = answer
  }

  settle(): void {
    if (this.failure === undefined) this.resolve(this.#answer(this.written, this.session?.id ?? 0))
    else this.reject(this.failure)
  }

  /** Whether what it removes is found by reading while the group is planned. */
  get isOpenEnded(): boolean {
    return this.kind === 'tree' || this.kind === 'end-session'
  }
}

const layoutVersion = '1'
/** Written to find out whether the database takes writes again. */
const recoveredRow = 'recovered'
/** Writes and bytes of one group. */
const groupWritesMax = 20_000
const groupBytesMax = 32 * 1024 * 1024

interface Inflight {
  readonly state: WorkingState
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

  /** One commit of several steps. `answer` makes the result when the commit is durable. */
  commit<T>(
    steps: readonly Step[],
    session: OwningSession,
    answer: (written: AllWritten, session: number) => T,
  ): Promise<T> {
    return this.#submit<T>(new Submission('steps', steps, session, '', noRows, answer))
  }

  /** Removes a path and everything below it in one commit. */
  deleteTree(path: string): Promise<void> {
    return this.#whole('tree', undefined, path, noRows)
  }

  /** Removes the records of a session and its row in one commit. */
  endSession(session: OwningSession): Promise<void> {
    const rows = [{ row: sessionPrefix + session.id, value: undefined }]
    return this.#whole('end-session', session, '', rows)
  }

  /** Writes rows of the table `control` in a commit of their own. */
  writeControl(rows: ControlRows): Promise<void> {
    return this.#whole('rows', undefined, '', rows)
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
    // What a failed commit has left is shown when it is known to be durable.
    if (this.#isInDoubt) await this.#whole('rows', undefined, '', noRows)
    const inflight = this.#inflight
    if (inflight === undefined) return
    if (path === undefined || inflight.state.isChanged(path)) await inflight.done
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

  #whole(
    kind: Submission['kind'],
    session: OwningSession | undefined,
    path: string,
    rows: ControlRows,
  ): Promise<void> {
    return this.#submit(new Submission(kind, noSteps, session, path, rows, noAnswer))
  }

  #submit<T>(submission: Submission): Promise<T> {
    if (this.#isClosed) return Promise.reject(new AlreadyClosedError('the store'))
    const answered = new Promise<unknown>((resolve, reject) => {
      submission.resolve = resolve
      submission.reject = reject
    })
    this.#queue.push(submission)
    if (!this.#isRunning) {
      this.#isRunning = true
      // What is called in the same turn joins the group.
      queueMicrotask(() => void this.#run())
    }
    return answered as Promise<T>
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
        for (const submission of group) submission.failure = failure
      }
      // A refusal may rest on writes of the group, so it is told when those are durable.
      for (const submission of group) submission.settle()
    }
    this.#isRunning = false
  }

  /** The writes of the next group. One that reads whole trees goes alone. */
  #takeGroup(): Submission[] {
    const queue = this.#queue
    let count = 0
    let bytes = 0
    while (count < queue.length && count < groupWritesMax && bytes < groupBytesMax) {
      const { isOpenEnded, steps } = queue[count]
      if (isOpenEnded) break
      for (const step of steps) if (step.kind === 'put') bytes += step.cell.length
      count++
    }
    count = Math.max(count, 1)
    this.#queue = queue.slice(count)
    return count === queue.length ? queue : queue.slice(0, count)
  }

  async #commitGroup(group: readonly Submission[]): Promise<void> {
    const state = new WorkingState(this.#tables)
    await this.#load(state, group)
    const events = new GroupEvents()
    const planner = new CommitPlanner(state, events, this.settings.now())
    for (const submission of group) {
      try {
        const doomed = submission.isOpenEnded ? await this.#doomed(submission, state) : undefined
        let missing = this.#plan(submission, state, planner, events, doomed)
        while (missing !== undefined) {
          await this.nodes.load(state, missing.paths, missing.counters)
          missing = this.#plan(submission, state, planner, events, doomed)
        }
      } catch (error) {
        submission.failure = asMetadataError(error)
      }
    }
    if (events.commitCount > 0) await this.#apply(state, events)
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

  /**
   * Plans a commit in one turn and adds it to the others. Returns what has to be loaded before, if
   * something is missing. Nothing has changed then, nor after an error.
   */
  #plan(
    submission: Submission,
    state: WorkingState,
    planner: CommitPlanner,
    events: GroupEvents,
    doomed: readonly string[] | undefined,
  ): NotLoaded | undefined {
    const { steps, rows, session } = submission
    const sequence = this.#sequence + events.commitCount + 1
    planner.begin(sequence, session)
    try {
      const written =
        steps.length === 1 ? [planner.step(steps[0])] : steps.map((step) => planner.step(step))
      if (doomed !== undefined) for (const path of doomed) planner.removeRecord(path)
      for (const { row, value } of rows) state.setEntry({ table: 'control', row, value })
      planner.finish()
      state.commit()
      submission.written = written
      if (events.hasOpen || rows.length > 0) events.endCommit(sequence)
      return undefined
    } catch (error) {
      state.rollBack()
      events.dropOpen()
      if (error instanceof NotLoaded) return error
      throw error
    }
  }

  /** Paths that a submission removes without naming them, children before parents. */
  async #doomed({ kind, path, session }: Submission, state: WorkingState): Promise<string[]> {
    const paths =
      kind === 'tree'
        ? await this.nodes.loadTree(path, state)
        : await this.nodes.ownedPaths(session!.id)
    const all = new Set(paths)
    for (const each of kind === 'tree' ? [path] : paths) addAncestors(all, each)
    await this.nodes.load(state, all, [])
    return paths
  }

  async #apply(state: WorkingState, events: GroupEvents): Promise<void> {
    const first = this.#sequence + 1
    const last = this.#sequence + events.commitCount
    const feed = events.encode()
    const done = this.#write(state, first, last, feed)
    this.#inflight = { state, done }
    try {
      await done
    } finally {
      this.#inflight = undefined
    }
    state.eachChanged((path, node) => this.nodes.cache.set(path, node))
    this.#publish(events, first, last, feed)
  }

  /** Writes a group of commits with the sequences `first` to `last`. */
  async #write(state: WorkingState, first: number, last: number, feed: Buffer): Promise<void> {
    const before = this.#sequence
    const sequenceCell = { table: this.#tables.control, row: sequenceRow }
    const mutations = state.mutations(last)
    mutations.push({ ...sequenceCell, mutations: [cellMutation(plainColumn, uint64(last), last)] })
    mutations.push({
      table: this.#tables.feed,
      row: uint64(first),
      mutations: [{ put: { cells: { [plainColumn]: feed } } }],
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

  #publish(events: GroupEvents, first: number, last: number, feed: Buffer): void {
    this.#sequence = last
    this.log.append(first, last, feed)
    for (const sink of this.#sinks) sink.applied(events)
  }

  /**
   * Reads again what is stored, and publishes commits whose writer was told of a failure. A durable
   * write comes first: what it leaves in the log in front of it is durable then, too.
   */
  async #recover(): Promise<void> {
    this.nodes.cache.clear()
    const row = recoveredRow
    const mutations = [{ put: { cells: { [plainColumn]: '' } } }]
    await this.#database.atomic({
      mutations: [{ table: this.#tables.control, row, mutations }],
      durability: 'FSYNC_WAL',
    })
    const stored = await storedSequence(this.#tables.control)
    if (stored > this.#sequence) {
      const commits: { commit: FeedCommit; records: (StoredRecord | undefined)[] }[] = []
      for await (const row of this.#tables.feed.scan({ startRow: uint64(this.#sequence + 1) })) {
        for (const commit of decodeCommits(row.value(plainColumn)!)) {
          commits.push({ commit, records: await this.#recordsOf(commit) })
        }
      }
      const events = groupOf(commits)
      this.#publish(events, commits[0].commit.sequence, stored, events.encode())
    }
    this.#isInDoubt = false
  }

  async #recordsOf({ events }: FeedCommit): Promise<(StoredRecord | undefined)[]> {
    const records: (StoredRecord | undefined)[] = []
    for (const { type, path } of events) {
      records.push(type === 'ChildrenChanged' ? undefined : await this.nodes.record(path))
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
