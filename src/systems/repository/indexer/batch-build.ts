/**
 * Builds the documents of all or some records of an index, concurrently with writes.
 *
 * The tables are split into ranges of ids, and several ranges are read side by side in this thread:
 * building a document reads the database, which another thread cannot open. The progress of each
 * range is stored at checkpoints, so an interrupted build resumes at its last checkpoint.
 */
import { assert } from '../../../api/index.js'
import { RecordId } from '../record-id.js'
import type { RecordTable } from '../tables/record-table.js'
import type { IndexContext } from './index-context.js'
import type { BuildArguments, BuildReport } from './index-definition.js'
import { allDocuments, inLanes, type RecordIndexer } from './record-indexer.js'
import { errorOf } from '../thrown.js'

/** A range of one table; the bounds are rows in hexadecimal. */
interface BuildRange {
  readonly table: string
  /** Inclusive; undefined: the beginning of the table. */
  start?: string | undefined
  /** Exclusive; undefined: the end of the table. */
  readonly stop?: string | undefined
  isDone?: boolean
}

interface StoredBuild {
  readonly started: number
  readonly arguments: BuildArguments
  isCleared: boolean
  readonly ranges: BuildRange[]
  records: number
  failed: number
}

/** Progress of a build. */
export interface BuildProgress {
  /** Records that are indexed so far. */
  readonly records: number
  /** Records among them whose documents could not be built. */
  readonly failed: number
  /** Number of ranges into which the record tables are split. */
  readonly ranges: number
  /** Number of finished ranges. */
  readonly rangesDone: number
}

const rangesPerTable = 16
const recordsPerPage = 64
const recordsAtOnce = 8
/**
 * Pages between checkpoints. Each checkpoint commits, and a commit makes a segment of the index, so
 * frequent checkpoints cause many merges. Early checkpoints come whenever the number of pages has
 * doubled: an interrupted build repeats at most half of its pages, and those that were in progress.
 */
const pagesPerCheckpoint = 64
const firstCheckpointPages = 8

function isCheckpoint(pages: number): boolean {
  if (pages >= pagesPerCheckpoint) return pages % pagesPerCheckpoint === 0
  return pages >= firstCheckpointPages && (pages & (pages - 1)) === 0
}

/** A running build. */
export class BatchBuild {
  readonly #context: IndexContext
  readonly #indexer: RecordIndexer
  #state: StoredBuild | undefined
  #pages = 0
  #storing: Promise<void> = Promise.resolve()

  constructor(context: IndexContext, indexer: RecordIndexer) {
    this.#context = context
    this.#indexer = indexer
  }

  get progress(): BuildProgress {
    const { records = 0, failed = 0, ranges = [] } = this.#state ?? {}
    const rangesDone = ranges.filter(({ isDone }) => isDone === true).length
    return { records, failed, ranges: ranges.length, rangesDone }
  }

  /**
   * Runs the build, from its checkpoint if there is one; undefined if the build was interrupted.
   */
  async run(args: BuildArguments): Promise<BuildReport | undefined> {
    const { name, definitions, clock, signal, settings, late, writer } = this.#context
    const stored = (await definitions.progress(name)) as StoredBuild | undefined
    const state = stored ?? (await this.#begin(args))
    this.#state = state
    if (!state.isCleared) await this.#clear(state)
    await inLanes(state.ranges.values(), Math.max(1, settings.lanes), (range) => {
      return this.#buildRange(state, range)
    })
    if (signal.aborted) return undefined
    const { tables, startId, stopId, filter } = state.arguments
    const isWhole = [tables, startId, stopId, filter].every((each) => each === undefined)
    if (isWhole) await this.#removeGone()
    await late.settled()
    if (signal.aborted) return undefined
    await writer.commit()
    const { started, records, failed } = state
    return { started, ended: clock.now(), arguments: state.arguments, records, failed }
  }

  async #begin(args: BuildArguments): Promise<StoredBuild> {
    const { name, definitions, clock, tables } = this.#context
    const ranges: BuildRange[] = []
    for (const table of tables()) {
      if (args.tables !== undefined && !args.tables.includes(table.name)) continue
      ranges.push(...(await splitTable(table, args)))
    }
    const isCleared = args.clear !== true
    const started = clock.now()
    const state = { started, arguments: args, isCleared, ranges, records: 0, failed: 0 }
    await definitions.setProgress(name, state)
    return state
  }

  async #clear(state: StoredBuild): Promise<void> {
    const { name, definitions, rows, writer, shown } = this.#context
    await this.#indexer.exclusive(async () => {
      await writer.clear()
      await rows.clear()
      shown.clear()
    })
    state.isCleared = true
    await definitions.setProgress(name, state)
  }

  async #buildRange(state: StoredBuild, range: BuildRange): Promise<void> {
    const { signal } = this.#context
    while (range.isDone !== true && !signal.aborted) {
      // Waits for the checkpoint: an interrupted build would repeat the pages after it.
      await this.#storing
      const table = this.#context.tables().find(({ name }) => name === range.table)
      const ids = table === undefined ? [] : await this.#nextIds(state, table, range)
      await this.#buildPage(state, range.table, ids)
      if (signal.aborted) return
      if (ids.length < recordsPerPage) range.isDone = true
      else {
        const next = `${ids[ids.length - 1].bytes.toString('hex')}00`
        assert(range.start === undefined || next > range.start, 'a build goes forward')
        range.start = next
      }
      this.#pages++
      if (isCheckpoint(this.#pages)) await this.#store(state)
    }
  }

  async #nextIds(state: StoredBuild, table: RecordTable, range: BuildRange): Promise<RecordId[]> {
    const { start, stop } = range
    const { filter } = state.arguments
    const ids: RecordId[] = []
    if (start !== undefined && start === stop) return ids
    const records = table.scan({
      fields: 'none',
      limit: recordsPerPage,
      ...(start === undefined ? {} : { startId: Buffer.from(start, 'hex') }),
      ...(stop === undefined ? {} : { stopId: Buffer.from(stop, 'hex') }),
      filter,
    })
    for await (const { id } of records) ids.push(id)
    return ids
  }

  async #buildPage(state: StoredBuild, table: string, ids: readonly RecordId[]): Promise<void> {
    const { rows, clock, signal } = this.#context
    await inLanes(ids.values(), recordsAtOnce, async (id) => {
      if (signal.aborted) return
      state.records++
      try {
        await this.#indexer.update({ table, id }, allDocuments)
      } catch (error) {
        if (signal.aborted) return
        state.failed++
        const key = `${table}-${id.text}`
        await rows.addRefused({ table, id }, key, errorOf(error).message, clock.now())
      }
    })
  }

  /** Stores the progress of all ranges, once their documents are durable. */
  async #store(state: StoredBuild): Promise<void> {
    const { name, definitions, writer } = this.#context
    const store = async (): Promise<void> => {
      const copy = structuredClone(state)
      await writer.commit()
      await definitions.setProgress(name, copy)
    }
    this.#storing = this.#storing.then(store)
    await this.#storing
  }

  /** Removes the documents and rows of records that no longer exist. */
  async #removeGone(): Promise<void> {
    const { rows, tables, signal } = this.#context
    for await (const place of rows.places()) {
      if (signal.aborted) return
      const table = tables().find(({ name }) => name === place.table)
      if ((await table?.exists(place.id)) !== true) {
        await this.#indexer.update(place, allDocuments)
      }
    }
  }
}

/** Splits a table into ranges of about equal key distance between its first and last row. */
async function splitTable(
  { name, context }: RecordTable,
  { startId, stopId }: BuildArguments,
): Promise<BuildRange[]> {
  const { table } = context
  const startRow = startId === undefined ? undefined : RecordId.parse(startId).bytes
  const stopRow = stopId === undefined ? undefined : RecordId.parse(stopId).bytes
  const [first] = await table.scan({ startRow, stopRow, limit: 1 }).all()
  if ((first as typeof first | undefined) === undefined) return []
  const reversed = {
    ...(stopRow === undefined ? {} : { startRow: stopRow, startInclusive: false }),
    ...(startRow === undefined ? {} : { stopRow: startRow, stopInclusive: true }),
  }
  const [last] = await table.scan({ ...reversed, reversed: true, limit: 1 }).all()
  const cuts = cutsBetween(first.row!, last.row!).map((cut) => cut.toString('hex'))
  const starts = [startRow?.toString('hex'), ...cuts]
  const stops = [...cuts, stopRow?.toString('hex')]
  return starts.map((start, index) => ({ table: name, start, stop: stops[index] }))
}

/** Rows between two rows, ascending, at about equal key distances. */
export function cutsBetween(first: Buffer, last: Buffer): Buffer[] {
  let common = 0
  while (common < first.length && first[common] === last[common]) common++
  const numberAt = (row: Buffer): number => {
    const bytes = Buffer.alloc(6)
    row.copy(bytes, 0, common, common + 6)
    return bytes.readUIntBE(0, 6)
  }
  const low = numberAt(first)
  const high = numberAt(last)
  const cuts: Buffer[] = []
  let before = low
  for (let i = 1; i < rangesPerTable; i++) {
    const number = Math.floor(low + ((high - low) * i) / rangesPerTable)
    if (number <= before) continue
    before = number
    const cut = Buffer.alloc(6)
    cut.writeUIntBE(number, 0, 6)
    cuts.push(Buffer.concat([first.subarray(0, common), cut]))
  }
  return cuts
}
