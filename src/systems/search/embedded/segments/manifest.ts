/** The commit of an index: one row that names the segments and their removed documents. */
import { assert, type Put, type RowMutations } from '../../../../api/index.js'
import { ByteReader } from '../../../bytes/byte-reader.js'
import { ByteWriter } from '../../../bytes/byte-writer.js'
import { noDocs } from '../doc-sets.js'
import type { ByteCache } from './byte-cache.js'
import { decodePostings, encodePostings } from './segment-format.js'
import { SegmentReader, type SegmentView } from './segment-reader.js'
import { commitFamily, type SegmentRows } from './segment-rows.js'

const format = 1
const row = 'commit'
const segmentsColumn = `${commitFamily}:m`

function removedQualifier(segment: number): string {
  return `d${segment.toString(16).padStart(8, '0')}`
}

/** The content of the commit row. */
export interface Commit {
  readonly views: readonly SegmentView[]
  /**
   * The next segment number at the time of the commit; later segments may exist without a commit.
   */
  readonly nextSegment: number
}

/** Reads and writes the commit. */
export class Manifest {
  readonly rows: SegmentRows
  readonly cache: ByteCache
  /** Removed documents by segment, as stored; only of segments that have some. */
  #stored = new Map<number, Int32Array>()
  /** The next segment number, as stored. */
  #nextSegment = 0

  constructor(rows: SegmentRows, cache: ByteCache) {
    this.rows = rows
    this.cache = cache
  }

  /** Reads the last commit. `ERR_CORRUPTION`. */
  async read(): Promise<Commit> {
    const found = await this.rows.table.get({ row, columns: [commitFamily] })
    const bytes = found.value(segmentsColumn)
    if (bytes === undefined) return { views: [], nextSegment: 0 }
    const reader = new ByteReader(bytes, 'the commit of the search index')
    if (reader.byte() !== format) throw reader.failure('the format is not known')
    const nextSegment = reader.varint()
    this.#nextSegment = nextSegment
    const views: SegmentView[] = []
    for (let left = reader.count(); left > 0; left--) {
      const segment = await SegmentReader.open(reader.varint(), this.rows, this.cache)
      const stored = found.value(`${commitFamily}:${removedQualifier(segment.number)}`)
      let removed: Int32Array = noDocs
      if (stored !== undefined) {
        const what = `the removed documents of the search segment ${segment.number}`
        const docs = new ByteReader(stored, what)
        removed = decodePostings(docs, docs.count(), false, segment.docs).docs
        docs.finish()
        this.#stored.set(segment.number, removed)
      }
      views.push({ reader: segment, removed })
    }
    reader.finish()
    return { views, nextSegment }
  }

  async write({ views, nextSegment }: Commit): Promise<void> {
    const writer = new ByteWriter()
    writer.byte(format)
    writer.varint(nextSegment)
    writer.varint(views.length)
    const cells: Record<string, Buffer> = {}
    const stored = new Map<number, Int32Array>()
    for (const { reader, removed } of views) {
      writer.varint(reader.number)
      if (removed.length === 0) continue
      stored.set(reader.number, removed)
      if (this.#stored.get(reader.number) === removed) continue
      const docs = new ByteWriter()
      docs.varint(removed.length)
      encodePostings(docs, { docs: removed, counts: undefined }, undefined)
      cells[`${commitFamily}:${removedQualifier(reader.number)}`] = docs.finish()
    }
    cells[segmentsColumn] = writer.finish()
    const { table, durability } = this.rows
    assert(
      views.every(({ reader }) => reader.number < nextSegment),
      'a commit names segments below the next number',
    )
    const put: Put = { row, cells, timestamp: 1 }
    const gone = [...this.#stored.keys()].filter((segment) => !stored.has(segment))
    const columns = gone.map((segment) => {
      return { family: commitFamily, qualifier: removedQualifier(segment), timestamp: 1 }
    })
    const removal: RowMutations['mutations'] =
      columns.length === 0 ? [] : [{ delete: { row, columns } }]
    await table.mutateRow({ row, mutations: [...removal, { put }], durability })
    this.#stored = stored
    this.#nextSegment = nextSegment
  }

  /**
   * Stores the next segment number before rows of segments are removed that no commit has named:
   * the markers of their removal would hide the rows of a segment that gets their number again.
   */
  async reserve(commit: Commit): Promise<void> {
    if (commit.nextSegment > this.#nextSegment) await this.write(commit)
  }
}
