/**
 * One store: the single writer of its tables, shared by all handles in the process.
 *
 * Writes are gathered while the commits before them become durable, and go to the database as one
 * atomic batch: a group. Each write of a group is checked against what the ones before it have
 * changed, so a thousand conditional puts on one key share one sync. A write that waits for nobody
 * pays one sync and no delay. The group holds the check that the stored sequence is the one this
 * writer knows, so two writers can never mix.
 */
import type { Database, Snapshot, Table } from '../../../../api/index.js'
import { CellarError, ErrorCode, checkDatabase, requireCapability } from '../../../../api/index.js'
import { KeyedQueue } from '../../kernel/keyed-queue.js'
import { callListener, warnOfListener } from '../../kernel/listener-errors.js'
import { Turns } from '../../kernel/turns.js'
import { ChangeLog } from './change-log.js'
import {
  AlreadyClosedError,
  asMetadataError,
  InvalidArgumentError,
  MetadataErrorCode,
  MetadataStoreError,
} from '../errors.js'
import type { FeedRow } from './feed-rows.js'
import { GroupEvents, groupOf } from './group-events.js'
import { parentOf } from '../paths.js'
import { NodeTable, openTables, type View } from './node-table.js'
import { CommitPlanner, type OwningSession, type Step } from './planner.js'
import { readUint64, uint64, type StoredRecord } from './record-format.js'
import {
  counterRow,
  feedRow,
  layoutRow,
  plainColumn,
  sequenceRow,
  sessionPrefix,
  type TableName,
} from './rows.js'
import {
  Submission,
  SubmissionQueue,
  type AllWritten,
  type ControlRows,
  type GroupLimits,
} from './submission.js'
import { cellMutation, NotLoaded, WorkingState } from './working-state.js'
import type { FeedCommit, MetadataStoreMetrics } from '../types.js'

/** Settings of a store, by the handle that opens it first. */
export interface CoreSettings {
  /** What the names of the tables begin with. */
  readonly prefix: string
  readonly now: () => number
  readonly feedRetentionSeconds: number
  /** For tests. Default: those of the package. */
  readonly limits?: Partial<CoreLimits> | undefined
}

/** A handle. Told of every group of commits once it is durable, before any promise resolves. */
export interface CommitSink {
  applied(group: GroupEvents): void
}

const noPaths: readonly string[] = []
const layoutVersion = '1'
/** Written to find out whether the database takes writes again. */
const recoveredRow = 'recovered'
/** Bounds of what is written at once. */
export interface CoreLimits extends GroupLimits {
  /** Bytes of one commit, as `Submission.bytes` counts them. */
  readonly commitBytesMax: number
  readonly feedRowBytesMax: number
}

const mebibyte = 1024 * 1024

/** A commit is in memory several times, and stops the event loop while it is encoded. */
const limitsDefault: CoreLimits = Object.freeze({
  groupWritesMax: 20_000,
  groupBytesMax: 32 * mebibyte,
  commitBytesMax: 256 * mebibyte,
  feedRowBytesMax: mebibyte / 4,
})

/** Session of a row whose session ends in several commits: it is not to be taken up again. */
export const endingTimeout = 0

interface Inflight {
  readonly state: WorkingState
  readonly done: Promise<unknown>
}

export class StoreCore {
  readonly log: ChangeLog
  readonly nodes: NodeTable
  readonly settings: CoreSettings
  readonly #limits: CoreLimits
  readonly #database: Database
  readonly #tables: Readonly<Record<TableName, Table>>
  readonly #sinks = new Set<CommitSink>()
  readonly #queue = new SubmissionQueue()
  readonly #turns = new Turns()
  #isRunning = false
  /** The newest sequence that is stored. */
  #sequence: number
  #inflight: Inflight | undefined = undefined
  /**
   * What was there before a commit that failed: the tables may show its changes, and lose them
   * again. Until a later write is durable, reads see this.
   */
  #doubt: Snapshot | undefined = undefined
  #isClosed = false
  readonly #counts = {
    groups: 0,
    commits: 0,
    events: 0,
    feedBytes: 0,
    refusedCalls: 0,
    failedGroups: 0,
    writeMilliseconds: 0,
  }

  private constructor(
    database: Database,
    tables: Readonly<Record<TableName, Table>>,
    settings: CoreSettings,
    sequence: number,
  ) {
    this.#database = database
    this.#tables = tables
    this.settings = settings
    this.#limits = { ...limitsDefault, ...settings.limits }
    this.#sequence = sequence
    this.nodes = new NodeTable(tables)
    this.log = new ChangeLog(tables.feed, sequence)
  }

  /** Opens the store in a database. `ERR_METADATA_STORE_FAILURE`, `ERR_UNSUPPORTED`. */
  static async open(database: Database, settings: CoreSettings): Promise<StoreCore> {
    checkDatabase(database, 'a metadata store')
    requireCapability(database.capabilities, 'atomicAcrossTables', 'a metadata store')
    requireCapability(database.capabilities, 'snapshots', 'a metadata store')
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

  /** See {@link MetadataStoreMetrics}; the sessions are counted by their registry. */
  metrics(): Omit<MetadataStoreMetrics, 'sessions'> {
    const isInDoubt = this.#doubt !== undefined
    return { ...this.#counts, waitingCalls: this.#queue.length, isInDoubt }
  }

  addSink(sink: CommitSink): void {
    this.#sinks.add(sink)
  }

  removeSink(sink: CommitSink): void {
    this.#sinks.delete(sink)
    this.log.wake()
  }

  /** One commit of several steps. `answer` makes the result when the commit is durable. */
  async commit<T>(
    steps: readonly Step[],
    session: OwningSession,
    answer: (written: AllWritten, session: number) => T,
  ): Promise<T> {
    const submission = new Submission({ kind: 'steps', steps, session, answer })
    if (submission.bytes > this.#limits.commitBytesMax) {
      const message = `a commit has up to ${this.#limits.commitBytesMax} bytes of paths and values`
      throw new InvalidArgumentError(message)
    }
    return (await this.#submit(submission)) as T
  }

  /** Removes a path and everything below it: in one commit, unless that would be too long. */
  async deleteTree(path: string): Promise<void> {
    await this.#submit(new Submission({ kind: 'tree', path }))
  }

  /** Removes the records of a session, and with the last ones its row. */
  async endSession(session: OwningSession): Promise<void> {
    await this.#submit(new Submission({ kind: 'end-session', session }))
  }

  /** Writes rows of the table `control` in a commit of their own. */
  async writeControl(rows: ControlRows): Promise<void> {
    await this.#submit(new Submission({ kind: 'rows', rows }))
  }

  /** Rows of the table `control` that begin with a prefix. */
  async controlRows(prefix: string): Promise<{ row: string; value: Buffer }[]> {
    const rows: { row: string; value: Buffer }[] = []
    for await (const result of this.#tables.control.scan({ prefix })) {
      rows.push({ row: result.row!.toString(), value: result.value(plainColumn)! })
    }
    return rows
  }

  /**
   * Reads what is durable. `path` is all that the answer depends on; undefined = anything. What a
   * commit that is under way may have shown is waited for, and read again if the commit fails.
   */
  async read<T>(path: string | undefined, read: (view: View) => Promise<T>): Promise<T> {
    for (;;) {
      const doubt = this.#doubt
      let found: T
      try {
        found = await read({ snapshot: doubt })
      } catch (error) {
        // The view was closed behind a write that has ended the doubt.
        if (doubt !== this.#doubt) continue
        throw error
      }
      if (doubt !== undefined) return found
      if (await this.#isDurable(path)) return found
    }
  }

  /** Whether what was read is durable, for all that is known when the promise resolves. */
  async #isDurable(path: string | undefined): Promise<boolean> {
    const inflight = this.#inflight
    const isSeen = inflight !== undefined && (path === undefined || inflight.state.isChanged(path))
    if (isSeen) await inflight.done.catch(() => undefined)
    return this.#doubt === undefined
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

  #submit(submission: Submission): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(new AlreadyClosedError('the store'))
    this.#queue.add(submission)
    if (!this.#isRunning) {
      this.#isRunning = true
      // What is called in the same turn joins the group.
      queueMicrotask(() => void this.#run())
    }
    return submission.answered
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      // In memory a commit is over in microtasks, so timers would never have their turn.
      if (this.#turns.isSpent) await this.#turns.next()
      await this.#commitGroup(this.#queue.take(this.#limits))
    }
    this.#isRunning = false
  }

  /** Commits a group and answers its calls. Never rejects. */
  async #commitGroup(group: readonly Submission[]): Promise<void> {
    let hasFailed = false
    try {
      if (this.#doubt !== undefined) await this.#recover()
      const { state, events } = await this.#planGroup(group)
      if (events.commitCount > 0) await this.#apply(state, events)
      // No other write comes between the commits of one removal.
      if (group.some((each) => each.goesOn)) return await this.#commitGroup(group)
    } catch (error) {
      const failure = asMetadataError(error)
      for (const submission of group) submission.failure = failure
      hasFailed = true
    }
    // A refusal may rest on writes of the group, so it is told when those are durable.
    for (const submission of group) {
      if (submission.failure !== undefined && !hasFailed) this.#counts.refusedCalls++
      submission.settle()
    }
  }

  async #planGroup(group: readonly Submission[]) {
    const state = new WorkingState(this.#tables, this.#database.cellBytesMax)
    await this.#load(state, group)
    const events = new GroupEvents()
    const planner = new CommitPlanner(state, events, this.settings.now())
    for (const submission of group) {
      try {
        const doomed = submission.isRemoval ? await this.#doomed(submission, state) : noPaths
        let missing = this.#plan(submission, state, planner, events, doomed)
        while (missing !== undefined) {
          await this.nodes.load(state, missing.paths, missing.counters)
          missing = this.#plan(submission, state, planner, events, doomed)
        }
      } catch (error) {
        submission.failure = asMetadataError(error)
      }
    }
    return { state, events }
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
    doomed: readonly string[],
  ): NotLoaded | undefined {
    const { steps, session } = submission
    const rows = rowsOf(submission)
    const sequence = this.#sequence + events.commitCount + 1
    planner.begin(sequence, session)
    try {
      const written =
        steps.length === 1 ? [planner.step(steps[0])] : steps.map((step) => planner.step(step))
      for (const path of doomed) planner.removeRecord(path)
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
  async #doomed(submission: Submission, state: WorkingState): Promise<readonly string[]> {
    const { kind, path, session } = submission
    const { commitBytesMax } = this.#limits
    const { paths, isWhole } =
      kind === 'tree'
        ? await this.nodes.treePart(path, state, commitBytesMax)
        : await this.nodes.ownedPart(session!.id, commitBytesMax)
    submission.isWhole = isWhole
    const all = new Set(paths)
    for (const each of paths) addAncestors(all, each)
    await this.nodes.load(state, all, [])
    return paths
  }

  /** Makes a group durable and tells of it. */
  async #apply(state: WorkingState, events: GroupEvents): Promise<void> {
    const last = this.#sequence + events.commitCount
    const rows = this.#feedRows(events)
    const before = this.#database.snapshot()
    const startedAt = performance.now()
    const done = this.#write(state, last, rows)
    this.#inflight = { state, done }
    try {
      await done
      before.close()
    } catch (error) {
      if (isRefusal(error)) before.close()
      else this.#doubt = before
      this.#counts.failedGroups++
      throw error
    } finally {
      this.#inflight = undefined
    }
    const counts = this.#counts
    counts.groups++
    counts.commits += events.commitCount
    counts.events += events.eventCount
    for (const { bytes } of rows) counts.feedBytes += bytes.length
    counts.writeMilliseconds += performance.now() - startedAt
    state.eachChanged((path, node) => this.nodes.cache.set(path, node))
    this.#publish(events, last, rows)
  }

  #feedRows(events: GroupEvents): FeedRow[] {
    return events.rows(Math.min(this.#limits.feedRowBytesMax, this.#database.cellBytesMax / 2))
  }

  /** Writes a group of commits up to the sequence `last`. */
  async #write(state: WorkingState, last: number, rows: readonly FeedRow[]): Promise<void> {
    const before = this.#sequence
    const sequenceCell = { table: this.#tables.control, row: sequenceRow }
    const mutations = state.mutations(last)
    mutations.push({ ...sequenceCell, mutations: [cellMutation(plainColumn, uint64(last), last)] })
    for (const { sequence, part, bytes } of rows) {
      const put = { cells: { [plainColumn]: bytes } }
      const row = feedRow(sequence, part)
      mutations.push({ table: this.#tables.feed, row, mutations: [{ put }] })
    }
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

  #publish(events: GroupEvents, last: number, rows: readonly FeedRow[]): void {
    this.#sequence = last
    this.log.append(last, rows)
    // A handle that fails must not make a failure of a commit that is durable.
    for (const sink of this.#sinks) callListener(warnOfListener, () => sink.applied(events))
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
      for (const commit of await this.log.storedAfter(this.#sequence)) {
        commits.push({ commit, records: await this.#recordsOf(commit) })
      }
      const events = groupOf(commits)
      this.#publish(events, stored, this.#feedRows(events))
    }
    const before = this.#doubt
    this.#doubt = undefined
    before?.close()
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

/** Rows that a submission writes; those of the end of a session depend on what is left of it. */
function rowsOf({ kind, rows, session, isWhole }: Submission): ControlRows {
  if (kind !== 'end-session') return rows
  const value = isWhole ? undefined : uint64(endingTimeout)
  return [{ row: sessionPrefix + session!.id, value }]
}

/** Whether the database has refused a batch for what is in it, and applied nothing. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof CellarError)) return false
  return error.code === ErrorCode.tooLarge || error.code === ErrorCode.invalidArgument
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
