/** Reads a segment through a cache: terms, postings, stored documents and lengths. */
import { ByteReader, corrupt } from '../../../bytes/byte-reader.js'
import type { SearchDocument } from '../../search-backend.js'
import type { ByteCache } from './byte-cache.js'
import { numbersPerBitmapEntry } from '../doc-sets.js'
import { decodePositions, decodePostings, type DecodedPostings, type Postings } from './postings.js'
import { decodeHeader, termKey, type SegmentField, type SegmentHeader } from './segment-header.js'
import { rowKind, type SegmentRows } from './segment-rows.js'
import { decodeDocument, decodeDocumentKey } from './stored-document.js'
import { nextTurn } from '../turns.js'

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

/** The location of a term in a segment. */
interface TermPlace {
  readonly block: TermBlock
  readonly index: number
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

/** An open segment. Segments are immutable. */
export class SegmentReader {
  readonly number: number
  readonly header: SegmentHeader
  readonly #rows: SegmentRows
  readonly #cache: ByteCache
  readonly #fields = new Map<string, number>()
  readonly #postingsName: string
  /** Number of searches that read the segment. */
  users = 0
  /** Whether the rows are removed once there are no users. */
  isRetired = false

  constructor(number: number, header: SegmentHeader, rows: SegmentRows, cache: ByteCache) {
    this.number = number
    this.header = header
    this.#rows = rows
    this.#cache = cache
    this.#postingsName = `postings of the search segment ${number}`
    for (const [index, { name }] of header.fields.entries()) this.#fields.set(name, index)
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

  field(name: string): SegmentField | undefined {
    const index = this.#fields.get(name)
    return index === undefined ? undefined : this.header.fields[index]
  }

  /** Documents and counts of a term; undefined if no document contains it. */
  async postings(field: string, term: string): Promise<DecodedPostings | undefined> {
    const index = this.#fields.get(field)
    if (index === undefined) return undefined
    const key = termKey(index, term)
    const name = `${this.number}/d/${key}`
    const cached = this.#cache.get<DecodedPostings>(name)
    if (cached !== undefined) return cached
    const place = await this.#find(key)
    if (place === undefined) return undefined
    const postings = this.#decode(place.block, place.index, await this.#readerOf(place))
    // The estimate includes the shares and bitmaps that searches cache by list.
    const { length } = postings.docs
    const bitBytes = length * numbersPerBitmapEntry > this.docs ? this.docs / 8 : 0
    this.#cache.set(name, postings, 200 + length * (postings.counts ? 16 : 12) + bitBytes)
    return postings
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
    const { termBlocks } = this.header
    if (index === undefined || termBlocks.length === 0) return
    let number = -1
    let block: TermBlock | undefined
    for (const term of terms.sort()) {
      const key = termKey(index, term)
      if (
        block === undefined ||
        (number + 1 < termBlocks.length && termBlocks[number + 1] <= key)
      ) {
        number = this.#blockOf(key)
        block = await this.#termBlock(number)
      }
      const at = lowerBound(block.keys, key)
      if (block.keys[at] !== key) continue
      const reader = await this.#readerOf({ block, index: at })
      visit(term, this.#decode(block, at, reader).docs)
    }
  }

  /** Positions of a term of a `text` field, document by document. */
  async positions(field: string, term: string): Promise<Int32Array | undefined> {
    const index = this.#fields.get(field)
    if (index === undefined) return undefined
    const key = termKey(index, term)
    const name = `${this.number}/p/${key}`
    const cached = this.#cache.get<Int32Array>(name)
    if (cached !== undefined) return cached
    const place = await this.#find(key)
    if (place === undefined) return undefined
    const reader = await this.#readerOf(place)
    const postings = this.#decode(place.block, place.index, reader)
    const positions = decodePositions(reader, postings)
    this.#cache.set(name, positions, 100 + positions.length * 4)
    return positions
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
      for (let at = lowerBound(block.keys, first); at < block.keys.length; at++) {
        const key = block.keys[at]
        if (key >= end) return
        const reader = this.#inlineReader(block, at) ?? (await this.#rowReader(block, at))
        visit(key.slice(2), this.#decode(block, at, reader).docs)
      }
      if (number % 8 === 7) await nextTurn()
    }
  }

  /** The documents cached by name, or those returned by `find`, which are then cached. */
  async kept(name: string, find: () => Promise<Int32Array>): Promise<Int32Array> {
    const cacheName = `${this.number}/r/${name}`
    const cached = this.#cache.get<Int32Array>(cacheName)
    if (cached !== undefined) return cached
    const docs = await find()
    this.#cache.set(cacheName, docs, 100 + 2 * cacheName.length + docs.byteLength)
    return docs
  }

  /** Number of blocks that contain the terms of a range: an estimate of the range's size. */
  blocksBetween(field: string, low: string | undefined, high: string | undefined): number {
    const index = this.#fields.get(field)
    if (index === undefined) return 0
    const end = high === undefined ? termKey(index + 1, '') : termKey(index, high)
    return this.#blockOf(end) - this.#blockOf(termKey(index, low ?? '')) + 1
  }

  /** All terms of one block with their full postings, for merges. */
  async blockTerms(number: number): Promise<{ key: string; postings: Postings }[]> {
    const block = await this.#termBlock(number)
    const terms: { key: string; postings: Postings }[] = []
    for (const [at, key] of block.keys.entries()) {
      const reader = this.#inlineReader(block, at) ?? (await this.#rowReader(block, at))
      const postings = this.#decode(block, at, reader)
      if (this.#kindOf(key) === 'text') {
        const positions = decodePositions(reader, postings)
        const { docs } = postings
        const counts = postings.counts ?? new Int32Array(docs.length).fill(1)
        terms.push({ key, postings: { docs, counts, positions } })
      } else terms.push({ key, postings: { ...postings, positions: undefined } })
    }
    return terms
  }

  /** The value of each document in a field, for sorting and for large ranges. */
  async column(field: string): Promise<FieldColumn> {
    const name = `${this.number}/c/${field}`
    const cached = this.#cache.get<FieldColumn>(name)
    if (cached !== undefined) return cached
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
    const column: FieldColumn = { ordinals, terms, hasSeveral }
    this.#cache.set(name, column, bytes)
    return column
  }

  /** Number of words of each document in a `text` field. */
  async lengths(field: string): Promise<Int32Array> {
    const index = this.#fields.get(field)
    if (index === undefined) return new Int32Array(this.docs)
    const name = `${this.number}/l/${field}`
    const cached = this.#cache.get<Int32Array>(name)
    if (cached !== undefined) return cached
    const bytes = await this.#rows.read(this.number, rowKind.lengths, index)
    const reader = new ByteReader(bytes, `the lengths of field ${field} of segment ${this.number}`)
    const lengths = new Int32Array(this.docs)
    for (let doc = -1; !reader.isAtEnd;) {
      doc += reader.varint() + 1
      if (doc >= this.docs) throw reader.failure(`there is no document ${doc}`)
      lengths[doc] = reader.varint()
    }
    this.#cache.set(name, lengths, 100 + lengths.byteLength)
    return lengths
  }

  async stored(doc: number): Promise<SearchDocument> {
    return decodeDocument(await this.storedBytes(doc))
  }

  async key(doc: number): Promise<string> {
    return decodeDocumentKey(await this.storedBytes(doc))
  }

  /** The encoded form of a stored document. */
  async storedBytes(doc: number): Promise<Buffer> {
    const { storedBlocks } = this.header
    let low = 0
    let high = storedBlocks.length - 1
    while (low < high) {
      const middle = (low + high + 1) >>> 1
      if (storedBlocks[middle] <= doc) low = middle
      else high = middle - 1
    }
    const block = await this.#storedBlock(low)
    const bytes = block[doc - storedBlocks[low]]
    if (bytes === undefined)
      throw corrupt(`the search segment ${this.number} lacks document ${doc}`)
    return bytes
  }

  /** Removes the cached parts of the segment. */
  drop(): void {
    this.#cache.removePrefix(`${this.number}/`)
  }

  async #storedBlock(block: number): Promise<readonly Buffer[]> {
    const name = `${this.number}/s/${block}`
    const cached = this.#cache.get<readonly Buffer[]>(name)
    if (cached !== undefined) return cached
    const bytes = await this.#rows.read(this.number, rowKind.stored, block)
    const reader = new ByteReader(bytes, `stored documents of the search segment ${this.number}`)
    const documents: Buffer[] = []
    while (!reader.isAtEnd) documents.push(reader.bytes())
    this.#cache.set(name, documents, bytes.length + 120 * documents.length)
    return documents
  }

  async #find(key: string): Promise<TermPlace | undefined> {
    if (this.header.termBlocks.length === 0) return undefined
    const block = await this.#termBlock(this.#blockOf(key))
    const index = lowerBound(block.keys, key)
    return block.keys[index] === key ? { block, index } : undefined
  }

  /** Index of the last block whose first key is at or below `key`; 0 if there is none. */
  #blockOf(key: string): number {
    const { termBlocks } = this.header
    const next = lowerBound(termBlocks, key)
    return termBlocks[next] === key ? next : Math.max(0, next - 1)
  }

  #kindOf(key: string): string {
    const index = (key.charCodeAt(0) << 8) | key.charCodeAt(1)
    const field = this.header.fields[index]
    if (field === undefined) throw corrupt(`the search segment ${this.number} lacks field ${index}`)
    return field.kind
  }

  async #readerOf({ block, index }: TermPlace): Promise<ByteReader> {
    return this.#inlineReader(block, index) ?? this.#rowReader(block, index)
  }

  /** Reads the postings of a term that are stored in its block; undefined: they have a row. */
  #inlineReader({ bytes, places, sizes }: TermBlock, index: number): ByteReader | undefined {
    const size = sizes[index]
    if (size < 0) return undefined
    return new ByteReader(bytes, this.#postingsName, places[index], places[index] + size)
  }

  async #rowReader({ places }: TermBlock, index: number): Promise<ByteReader> {
    const bytes = await this.#rows.read(this.number, rowKind.postings, places[index])
    return new ByteReader(bytes, this.#postingsName)
  }

  #decode(block: TermBlock, index: number, reader: ByteReader): DecodedPostings {
    const count = block.docCounts[index]
    if (count > this.docs) throw reader.failure(`${count} of ${this.docs} documents`)
    return decodePostings(reader, count, this.#kindOf(block.keys[index]) === 'text', this.docs)
  }

  async #termBlock(number: number): Promise<TermBlock> {
    const name = `${this.number}/t/${number}`
    const cached = this.#cache.get<TermBlock>(name)
    if (cached !== undefined) return cached
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
      last = last.slice(0, shared) + reader.bytes().toString('latin1')
      keys.push(last)
      docCounts.push(reader.varint())
      const place = reader.varint()
      if (place % 2 === 1) {
        places.push((place - 1) / 2)
        sizes.push(-1)
      } else {
        places.push(bytes.length - reader.left)
        sizes.push(place / 2)
        reader.raw(place / 2)
      }
    }
    const block: TermBlock = { bytes, keys, docCounts, places, sizes }
    this.#cache.set(name, block, bytes.length + keys.length * 80)
    return block
  }
}

/** Index of the first element at or above `key`. */
export function lowerBound(sorted: readonly string[], key: string): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sorted[middle] < key) low = middle + 1
    else high = middle
  }
  return low
}
