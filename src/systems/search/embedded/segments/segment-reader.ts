/** Reads a segment through a cache: terms, postings, stored documents and lengths. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { assert, lowerBound } from '../../../../api/index.js'
import { ByteReader, corrupt } from '../../../bytes/byte-reader.js'
import type { SearchDocument } from '../../search-backend.js'
import type { ByteCache } from './byte-cache.js'
import { numbersPerBitmapEntry } from '../doc-sets.js'
import {
  decodeDocument,
  decodeDocumentKey,
  decodeHeader,
  decodePositions,
  decodePostings,
  fieldOfKey,
  termKey,
  type Postings,
  type SegmentField,
  type SegmentHeader,
} from './segment-format.js'
import { rowKind, type SegmentRows } from './segment-rows.js'

/** A term block, with the location of each term's postings. */
interface TermBlock {
  readonly bytes: Buffer
  readonly keys: readonly string[]
  readonly docCounts: readonly number[]
  /** Offset of the postings in `bytes`, or the number of their row. */
  readonly places: readonly number[]
  /** Bytes of the postings; -1: the postings have a row of their own. */
  readonly sizes: readonly number[]
}

/** A term with all its postings. */
export interface SegmentTerm {
  readonly key: string
  readonly postings: Postings<Int32Array>
  /** Undefined for kinds other than `text`. */
  readonly positions: Int32Array | undefined
}

/** The value of each document in a field with one value per document. */
export interface FieldColumn {
  /** By document: the index of its value in `terms`; -1: no value. */
  readonly ordinals: Int32Array
  /** All values, ascending. */
  readonly terms: readonly string[]
  /** Whether a document has several values; `ordinals` then holds only one of them. */
  readonly hasSeveral: boolean
}

/** A segment with its removed documents, as committed. */
export interface SegmentView {
  readonly reader: SegmentReader
  /** Numbers of the removed documents, ascending. */
  readonly removed: Int32Array
}

/** A part of a segment in memory, and an estimate of its bytes. */
type Loaded<T> = readonly [part: T, bytes: number]

/** An open segment. Segments are immutable. */
export class SegmentReader {
  readonly number: number
  readonly header: SegmentHeader
  readonly #rows: SegmentRows
  readonly #cache: ByteCache
  readonly #fields: ReadonlyMap<string, number>
  readonly #postingsName: string
  /** Searches and merges that read the segment, and one for the views that name the segment. */
  #users = 1

  constructor(number: number, header: SegmentHeader, rows: SegmentRows, cache: ByteCache) {
    this.number = number
    this.header = header
    this.#rows = rows
    this.#cache = cache
    this.#postingsName = `postings of the search segment ${number}`
    this.#fields = new Map(header.fields.map(({ name }, index) => [name, index]))
  }

  /** Opens a segment by reading its header. `ERR_CORRUPTION`. */
  static async open(number: number, rows: SegmentRows, cache: ByteCache): Promise<SegmentReader> {
    const header = decodeHeader(await rows.read(number, rowKind.header, 0), number)
    return new SegmentReader(number, header, rows, cache)
  }

  /** Number of documents, including removed ones. */
  get docs(): number {
    return this.header.docs
  }

  /** Notes a search or merge that reads the segment. */
  pin(): void {
    this.#users++
  }

  /**
   * Ends a {@link pin}, or the naming by views. The last call removes the segment, and returns the
   * removal of its rows.
   */
  unpin(): Promise<void> | undefined {
    assert(this.#users > 0, 'a search segment is released as often as it was pinned')
    if (--this.#users > 0) return undefined
    this.#cache.removePrefix(`${this.number}/`)
    return this.#rows.remove(this.number)
  }

  field(name: string): SegmentField | undefined {
    const index = this.#fields.get(name)
    return index === undefined ? undefined : this.header.fields[index]
  }

  /** Documents and counts of a term; undefined if no document contains it. */
  postings(field: string, term: string): Promise<Postings<Int32Array> | undefined> {
    return this.#ofTerm('d', field, term, (postings) => {
      // The estimate includes the shares and bitmaps that searches cache by list.
      const { length } = postings.docs
      const bitBytes = length * numbersPerBitmapEntry > this.docs ? this.docs / 8 : 0
      return [postings, 200 + length * (postings.counts ? 16 : 12) + bitBytes]
    })
  }

  /** Positions of a term of a `text` field, document by document. */
  positions(field: string, term: string): Promise<Int32Array | undefined> {
    return this.#ofTerm('p', field, term, (postings, reader) => {
      const positions = decodePositions(reader, postings)
      return [positions, 100 + positions.length * 4]
    })
  }

  /**
   * Calls `visit` for those of the terms that the segment contains, in order, with their documents.
   * Each block is read once, even if it contains several of the terms.
   */
  async eachOf(
    field: string,
    terms: string[],
    visit: (term: string, docs: Int32Array) => void,
  ): Promise<void> {
    const index = this.#fields.get(field)
    if (index === undefined) return
    let number = -1
    let block: TermBlock | undefined
    for (const term of terms.sort()) {
      const key = termKey(index, term)
      const place = this.#blockOf(key)
      if (block === undefined || place !== number) block = await this.#termBlock(place)
      number = place
      const at = positionIn(block.keys, key)
      if (block.keys[at] !== key) continue
      visit(term, this.#decode(block, at, await this.#postingsReader(block, at)).docs)
    }
  }

  /**
   * Calls `visit` for the terms of a field from `low` to `high` (exclusive) in order, with their
   * documents. Undefined: no bound.
   */
  async eachTerm(
    field: string,
    { low, high }: { low?: string | undefined; high?: string | undefined },
    visit: (term: string, docs: Int32Array) => void,
  ): Promise<void> {
    const index = this.#fields.get(field)
    if (index === undefined) return
    const { termBlocks } = this.header
    const first = termKey(index, low ?? '')
    const end = high === undefined ? termKey(index + 1, '') : termKey(index, high)
    for (let number = this.#blockOf(first); number < termBlocks.length; number++) {
      if (termBlocks[number] >= end) return
      const block = await this.#termBlock(number)
      for (let at = positionIn(block.keys, first); at < block.keys.length; at++) {
        const key = block.keys[at]
        if (key >= end) return
        const reader = this.#postingsReader(block, at)
        const docs = this.#decode(block, at, reader instanceof ByteReader ? reader : await reader)
        visit(key.slice(2), docs.docs)
      }
      if (number % 8 === 7) await nextTurn()
    }
  }

  /** The documents cached by name, or those returned by `find`, which are then cached. */
  kept(name: string, find: () => Promise<Int32Array>): Promise<Int32Array> {
    return this.#cached('r', name, async () => {
      const docs = await find()
      return [docs, 120 + 2 * name.length + docs.byteLength]
    })
  }

  /** Number of blocks that contain the terms of a range: an estimate of the range's size. */
  blocksBetween(field: string, low: string | undefined, high: string | undefined): number {
    const index = this.#fields.get(field)
    if (index === undefined) return 0
    const end = high === undefined ? termKey(index + 1, '') : termKey(index, high)
    return this.#blockOf(end) - this.#blockOf(termKey(index, low ?? '')) + 1
  }

  /** All terms of one block with their full postings, for merges. */
  async blockTerms(number: number): Promise<SegmentTerm[]> {
    const block = await this.#termBlock(number)
    const terms: SegmentTerm[] = []
    for (const [at, key] of block.keys.entries()) {
      const reader = await this.#postingsReader(block, at)
      const postings = this.#decode(block, at, reader)
      const positions = this.#isText(key) ? decodePositions(reader, postings) : undefined
      terms.push({ key, postings, positions })
    }
    return terms
  }

  /** The value of each document in a field, for sorting and for large ranges. */
  column(field: string): Promise<FieldColumn> {
    return this.#cached('c', field, async () => {
      const ordinals = new Int32Array(this.docs).fill(-1)
      const terms: string[] = []
      let hasSeveral = false
      let bytes = 200 + ordinals.byteLength
      await this.eachTerm(field, {}, (term, docs) => {
        for (const doc of docs) {
          if (ordinals[doc] >= 0) hasSeveral = true
          else ordinals[doc] = terms.length
        }
        terms.push(term)
        bytes += 32 + term.length
      })
      return [{ ordinals, terms, hasSeveral }, bytes]
    })
  }

  /** Number of words of each document in a `text` field. */
  async lengths(field: string): Promise<Int32Array> {
    const index = this.#fields.get(field)
    if (index === undefined) return new Int32Array(this.docs)
    return this.#cached('l', field, async () => {
      const bytes = await this.#rows.read(this.number, rowKind.lengths, index)
      const what = `the lengths of field ${field} of segment ${this.number}`
      const reader = new ByteReader(bytes, what)
      const lengths = new Int32Array(this.docs)
      for (let doc = -1; !reader.isAtEnd;) {
        doc += reader.varint() + 1
        if (doc >= this.docs) throw reader.failure(`there is no document ${doc}`)
        lengths[doc] = reader.varint()
      }
      return [lengths, 100 + lengths.byteLength]
    })
  }

  async stored(doc: number): Promise<SearchDocument> {
    return decodeDocument(await this.storedBytes(doc))
  }

  async key(doc: number): Promise<string> {
    return decodeDocumentKey(await this.storedBytes(doc))
  }

  async storedBytes(doc: number): Promise<Buffer> {
    const { storedBlocks } = this.header
    const at = lowerBound(1, storedBlocks.length, (block) => storedBlocks[block] <= doc) - 1
    const block = await this.#cached('s', at, async (): Promise<Loaded<Buffer[]>> => {
      const bytes = await this.#rows.read(this.number, rowKind.stored, at)
      const reader = new ByteReader(bytes, `stored documents of the search segment ${this.number}`)
      const documents: Buffer[] = []
      while (!reader.isAtEnd) documents.push(reader.bytes())
      return [documents, bytes.length + 120 * documents.length]
    })
    const bytes = block[doc - storedBlocks[at]] as Buffer | undefined
    if (bytes !== undefined) return bytes
    throw corrupt(`the search segment ${this.number} lacks document ${doc}`)
  }

  /** A part of the segment, by a letter for its kind and its name, from the cache if possible. */
  async #cached<T>(
    kind: string,
    name: string | number,
    load: () => Promise<Loaded<T>>,
  ): Promise<T> {
    const key = `${this.number}/${kind}/${name}`
    const cached = this.#cache.get<T>(key)
    if (cached !== undefined) return cached
    const [part, bytes] = await load()
    if (part !== undefined) this.#cache.set(key, part, bytes)
    return part
  }

  /** A part of the postings of a term; undefined, and not cached, if the term is absent. */
  #ofTerm<T>(
    kind: string,
    field: string,
    term: string,
    read: (postings: Postings<Int32Array>, reader: ByteReader) => Loaded<T>,
  ): Promise<T | undefined> {
    const index = this.#fields.get(field)
    if (index === undefined) return Promise.resolve(undefined)
    const key = termKey(index, term)
    return this.#cached<T | undefined>(kind, key, async () => {
      const block = await this.#termBlock(this.#blockOf(key))
      const at = positionIn(block.keys, key)
      if (block.keys[at] !== key) return [undefined, 0]
      const reader = await this.#postingsReader(block, at)
      return read(this.#decode(block, at, reader), reader)
    })
  }

  /** Index of the last block whose first key is at or below `key`; 0 if there is none. */
  #blockOf(key: string): number {
    const { termBlocks } = this.header
    const next = positionIn(termBlocks, key)
    return termBlocks[next] === key ? next : Math.max(0, next - 1)
  }

  #isText(key: string): boolean {
    const index = fieldOfKey(key)
    const field = this.header.fields[index] as SegmentField | undefined
    if (field === undefined) throw corrupt(`the search segment ${this.number} lacks field ${index}`)
    return field.kind === 'text'
  }

  /** Reads the postings of a term: of its block, without a promise, or of a row of their own. */
  #postingsReader(block: TermBlock, at: number): ByteReader | Promise<ByteReader> {
    const place = block.places[at]
    const size = block.sizes[at]
    if (size >= 0) return new ByteReader(block.bytes, this.#postingsName, place, place + size)
    const row = this.#rows.read(this.number, rowKind.postings, place)
    return row.then((bytes) => new ByteReader(bytes, this.#postingsName))
  }

  #decode(block: TermBlock, at: number, reader: ByteReader): Postings<Int32Array> {
    const count = block.docCounts[at]
    if (count > this.docs) throw reader.failure(`${count} of ${this.docs} documents`)
    return decodePostings(reader, count, this.#isText(block.keys[at]), this.docs)
  }

  #termBlock(number: number): Promise<TermBlock> {
    return this.#cached('t', number, async (): Promise<Loaded<TermBlock>> => {
      const bytes = await this.#rows.read(this.number, rowKind.terms, number)
      const reader = new ByteReader(bytes, `terms of the search segment ${this.number}`)
      const keys: string[] = []
      const docCounts: number[] = []
      const places: number[] = []
      const sizes: number[] = []
      let last = ''
      while (!reader.isAtEnd) {
        const shared = reader.varint()
        if (shared > last.length) throw reader.failure('a term shares too much')
        const key = last.slice(0, shared) + reader.bytes().toString('latin1')
        const isFirst = keys.length === 0
        if (isFirst ? key !== this.header.termBlocks[number] : key <= last) {
          throw reader.failure('a term is at a wrong place')
        }
        last = key
        keys.push(key)
        docCounts.push(reader.varint())
        const place = reader.varint()
        const isRow = place % 2 === 1
        places.push(isRow ? (place - 1) / 2 : bytes.length - reader.left)
        sizes.push(isRow ? -1 : place / 2)
        if (!isRow) reader.raw(place / 2)
      }
      const block: TermBlock = { bytes, keys, docCounts, places, sizes }
      return [block, bytes.length + keys.length * 80]
    })
  }
}

/** Index of the first element at or above `key`. */
export function positionIn(sorted: readonly string[], key: string): number {
  return lowerBound(0, sorted.length, (at) => sorted[at] < key)
}
