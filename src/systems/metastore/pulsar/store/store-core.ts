/**
 * One store: the single writer of its tables, shared by all handles in the process.
 *
 * Writes are collected while the preceding group becomes durable, and each group is one atomic
 * batch. Each write is checked against the changes of the preceding writes of its group, so a
 * thousand conditional puts on one key share one sync. A single write is not delayed.
 */
import { checkDatabase, type AtomicMutation, type Database } from '../../../../api/index.js'
import {
  BatchWriter,
  callQueue,
  checkBackend,
  commitCalls,
  groupLimits,
  groupSize,
  type GroupLimits,
} from '../../kernel/group-commit.js'
import { callListener, warnOfListener } from '../../kernel/listener-errors.js'
import { uint64 } from '../../kernel/numbers.js'
import { ChangeLog } from './change-log.js'
import { CommitWriter } from './commit-writer.js'
import { asMetadataError, metadataError } from '../../metadata/errors.js'
import type { FeedRow } from './feed-rows.js'
import { GroupEvents } from './group-events.js'
import { parentOf } from '../../metadata/paths.js'
import { NodeTable, openTables, type Removal, type Tables, type View } from './node-table.js'
import { CommitPlanner, type OwningSession, type Step } from './planner.js'
import { counterRow, feedRow, plainColumn, sequenceRow, sessionPrefix } from './rows.js'
import { Submission, type AllWritten, type ControlRows } from './submission.js'
import { NotLoaded, WorkingState } from './working-state.js'
import type { MetadataStoreMetrics } from '../../metadata/types.js'

/** Settings of a store; those of the handle that opens it first apply. */
export interface CoreSettings {
  /** Prefix of the names of the tables. */
  readonly prefix: string
  readonly now: () => number
  readonly feedRetentionSeconds: number
}

/**
 * The subscriber of commits: a handle. Notified of every durable group before its promises resolve.
 */
export interface CommitSink {
  applied(group: GroupEvents): void
}

/** Limits of groups, commits and rows. */
export interface CoreLimits extends GroupLimits {
  /** Bytes of one commit, as `Call.bytes` counts them. */
  readonly commitBytesMax: number
  readonly feedRowBytesMax: number
}

const mebibyte = 1024 * 1024

/** A commit is in memory in several copies and blocks the event loop during encoding. */
const limitsDefault: CoreLimits = Object.freeze({
  ...groupLimits,
  commitBytesMax: 256 * mebibyte,
  feedRowBytesMax: mebibyte / 4,
})

/** @internal Limits of the stores of a database, for tests. Set before a store is opened. */
export const limitsForTests = new WeakMap<Database, Partial<CoreLimits>>()

/** The cell of the newest sequence. */
const sequenceCell = { row: sequenceRow, column: plainColumn }
const noPaths: readonly string[] = []

/**
 * Timeout in the row of a session that is being removed in several commits: it cannot be resumed.
 */
export const endingTimeout = 0

/** One store; see the file header. */
export class StoreCore {
  readonly log: ChangeLog
  readonly nodes: NodeTable
  readonly #settings: CoreSettings
  readonly #limits: CoreLimits
  readonly #database: Database
  readonly #tables: Tables
  readonly #sinks = new Set<CommitSink>()
  readonly #queue = callQueue<Submission>(
    (waiting) => groupSize(waiting, this.#limits, sharesGroup),
    (group) => commitCalls(group, (calls) => this.#commitGroup(calls), asMetadataError),
  )
  readonly #commits: CommitWriter
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
    tables: Tables,
    settings: CoreSettings,
    commits: CommitWriter,
  ) {
    this.#database = database
    this.#tables = tables
    this.#settings = settings
    this.#limits = { ...limitsDefault, ...limitsForTests.get(database) }
    this.nodes = new NodeTable(tables)
    this.log = new ChangeLog(tables.feed, commits.sequence)
    this.#commits = commits
  }

  /** Opens the store in a database. `ERR_METADATA_STORE_FAILURE`, `ERR_UNSUPPORTED`. */
  static async open(database: Database, settings: CoreSettings): Promise<StoreCore> {
    checkDatabase(database, 'a metadata store')
    checkBackend(database, 'a metadata store')
    const tables = await openTables(database, settings.prefix, settings.feedRetentionSeconds)
    const writer = await BatchWriter.open(database, tables.control, sequenceCell, plainColumn)
    return new StoreCore(database, tables, settings, new CommitWriter(database, writer))
  }

  /** The newest durable sequence. */
  get sequence(): number {
    return this.log.last
  }

  /** See {@link MetadataStoreMetrics}. The registry counts the sessions. */
  metrics(): Omit<MetadataStoreMetrics, 'sessions'> {
    const { isInDoubt } = this.#commits
    return { ...this.#counts, waitingCalls: this.#queue.waiting, isInDoubt }
  }

  addSink(sink: CommitSink): void {
    this.#sinks.add(sink)
  }

  removeSink(sink: CommitSink): void {
    this.#sinks.delete(sink)
    this.log.wake()
  }

  /** Applies steps as one commit. Returns the written records when the commit is durable. */
  commit(steps: readonly Step[], session: OwningSession): Promise<AllWritten> {
    const submission = new Submission({ steps, session })
    const { commitBytesMax } = this.#limits
    if (submission.bytes <= commitBytesMax) return this.#submit(submission)
    const message = `a commit has up to ${commitBytesMax} bytes of paths and values`
    return Promise.reject(metadataError('invalidArgument', message))
  }

  /** Removes a path and its descendants, in one commit unless it would exceed `commitBytesMax`. */
  async deleteTree(path: string): Promise<void> {
    const { commitBytesMax } = this.#limits
    const removal = (state: WorkingState): Promise<Removal> =>
      this.nodes.treePart(path, state, commitBytesMax)
    await this.#submit(new Submission({ removal }))
  }

  /** Removes the records of a session, and its row with the last of them. */
  async endSession({ id }: OwningSession): Promise<void> {
    const removal = (): Promise<Removal> => this.nodes.ownedPart(id, this.#limits.commitBytesMax)
    const rows = (isWhole: boolean): ControlRows => {
      const value = isWhole ? undefined : uint64(endingTimeout)
      return [{ row: sessionPrefix + id, value }]
    }
    await this.#submit(new Submission({ removal, rows }))
  }

  /** Writes rows of the table `control` in a separate commit. */
  async writeControl(rows: ControlRows): Promise<void> {
    await this.#submit(new Submission({ rows: () => rows }))
  }

  /** Rows of the table `control` that begin with a prefix. */
  async controlRows(prefix: string): Promise<{ row: string; value: Buffer }[]> {
    const rows: { row: string; value: Buffer }[] = []
    for await (const result of this.#tables.control.scan({ prefix })) {
      rows.push({ row: result.row!.toString(), value: result.value(plainColumn)! })
    }
    return rows
  }

  /** Reads the durable state. `path` is the only path that the result depends on; default: all. */
  read<T>(path: string | undefined, read: (view: View) => Promise<T>): Promise<T> {
    return this.#commits.read(path, (snapshot) => read({ snapshot }))
  }

  /** Refuses later writes, waits for submitted ones, and ends the feed. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#queue.settled()
    this.log.close()
  }

  #submit(submission: Submission): Promise<AllWritten> {
    if (this.#isClosed) return Promise.reject(metadataError('alreadyClosed', 'the store'))
    this.#queue.add(submission)
    return submission.promise
  }

  async #commitGroup(group: readonly Submission[]): Promise<void> {
    if (this.#commits.isInDoubt) {
      this.nodes.cache.clear()
      await this.#commits.recover((stored) => this.#recovered(stored))
    }
    const { state, events } = await this.#planGroup(group)
    if (events.commitCount > 0) await this.#apply(state, events)
    for (const { failure } of group) if (failure !== undefined) this.#counts.refusedCalls++
    // The commits of one removal are not interleaved with other writes.
    const goesOn = group.some(({ isWhole, failure }) => !isWhole && failure === undefined)
    if (goesOn) return await this.#commitGroup(group)
  }

  async #planGroup(group: readonly Submission[]) {
    const state = new WorkingState(this.#tables, this.#database.cellBytesMax)
    await this.#load(state, group)
    const events = new GroupEvents()
    const planner = new CommitPlanner(state, events, this.#settings.now())
    for (const submission of group) {
      submission.failure = undefined
      try {
        const removed =
          submission.removal === undefined ? noPaths : await this.#toRemove(submission, state)
        let missing = this.#plan(submission, state, planner, events, removed)
        while (missing !== undefined) {
          await this.nodes.load(state, missing.paths, missing.counters)
          missing = this.#plan(submission, state, planner, events, removed)
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
   * Plans a commit synchronously and adds it to the group. If nodes or counters are not loaded,
   * returns them; the commit is then planned again. In this case, and after an error, nothing has
   * changed.
   */
  #plan(
    submission: Submission,
    state: WorkingState,
    planner: CommitPlanner,
    events: GroupEvents,
    removed: readonly string[],
  ): NotLoaded | undefined {
    const { steps, session } = submission
    const rows = submission.rows(submission.isWhole)
    const sequence = this.#commits.sequence + events.commitCount + 1
    planner.begin(sequence, session)
    try {
      const written =
        steps.length === 1 ? [planner.step(steps[0])] : steps.map((step) => planner.step(step))
      for (const path of removed) planner.removeRecord(path)
      for (const { row, value } of rows) state.setEntry({ table: 'control', row, value })
      planner.finish()
      state.commit()
      submission.outcome = written
      if (events.hasOpen || rows.length > 0) events.endCommit(sequence)
      return undefined
    } catch (error) {
      state.rollBack()
      events.dropOpen()
      if (error instanceof NotLoaded) return error
      throw error
    }
  }

  /** Paths of the records that a removal deletes, children before parents. */
  async #toRemove(submission: Submission, state: WorkingState): Promise<readonly string[]> {
    const { paths, isWhole } = await submission.removal!(state)
    submission.isWhole = isWhole
    const all = new Set(paths)
    for (const each of paths) addAncestors(all, each)
    await this.nodes.load(state, all, [])
    return paths
  }

  /** Makes a group durable and publishes it. */
  async #apply(state: WorkingState, events: GroupEvents): Promise<void> {
    const last = this.#commits.sequence + events.commitCount
    const rows = this.#feedRows(events)
    const ofFeed = rows.map(({ sequence, part, bytes }): AtomicMutation => {
      const put = { cells: { [plainColumn]: bytes } }
      return { table: this.#tables.feed, row: feedRow(sequence, part), mutations: [{ put }] }
    })
    const counts = this.#counts
    const startedAt = performance.now()
    try {
      await this.#commits.write(state, ofFeed, last, () => {
        counts.groups++
        counts.commits += events.commitCount
        counts.events += events.eventCount
        for (const { bytes } of rows) counts.feedBytes += bytes.length
        counts.writeMilliseconds += performance.now() - startedAt
        state.eachChanged((path, node) => this.nodes.cache.set(path, node))
        this.#publish(events, last, rows)
      })
    } catch (error) {
      counts.failedGroups++
      throw error
    }
  }

  #feedRows(events: GroupEvents): FeedRow[] {
    return events.rows(Math.min(this.#limits.feedRowBytesMax, this.#database.cellBytesMax / 2))
  }

  #publish(events: GroupEvents, last: number, rows: readonly FeedRow[]): void {
    this.log.append(last, rows)
    // An error of a handle must not fail a durable commit.
    for (const sink of this.#sinks) callListener(warnOfListener, () => sink.applied(events))
  }

  /** Publishes commits that became durable although they reported a failure. */
  async #recovered(stored: number): Promise<void> {
    const events = new GroupEvents()
    for (const commit of await this.log.storedAfter(this.log.last)) {
      for (const { type, path } of commit.events) {
        const isRecord = type !== 'ChildrenChanged'
        events.add(type, path, isRecord ? await this.nodes.record(path) : undefined)
      }
      events.endCommit(commit.sequence)
    }
    if (events.commitCount > 0) this.#publish(events, stored, this.#feedRows(events))
  }
}

/** A removal is a group of its own. */
function sharesGroup(next: Submission, first: Submission): boolean {
  return next.removal === undefined && first.removal === undefined
}

function addAncestors(paths: Set<string>, path: string): void {
  let above = parentOf(path)
  while (above !== undefined && !paths.has(above)) {
    paths.add(above)
    above = parentOf(above)
  }
}
