/** Writes the rows of one segment: stored documents, then terms in order, then the header. */
import { assert, type Put } from '../../../../api/index.js'
import { ByteWriter } from '../../../bytes/byte-writer.js'
import {
  encodeHeader,
  encodePostings,
  type Postings,
  type SegmentField,
  type SegmentHeader,
} from './segment-format.js'
import { rowKind, type RowKind, type SegmentRows } from './segment-rows.js'

/** Size at which a block of terms or stored documents is finished. */
const blockBytes = 8192
/** Longer postings have a row of their own. */
const inlineBytesMax = 1024
/** Bytes of rows per batch. */
const batchBytes = 1 << 20

/**
 * Writes a segment with a fixed number of documents. The caller of an addition also calls `send`.
 */
export class SegmentWriter {
  readonly number: number
  readonly #rows: SegmentRows
  readonly #docs: number
  #puts: Put[] = []
  #putBytes = 0
  readonly #termBlocks: string[] = []
  readonly #storedBlocks: number[] = []
  #terms = new ByteWriter(2 * blockBytes)
  #lastKey = ''
  #stored = new ByteWriter(2 * blockBytes)
  #storedDocs = 0
  #postingsRows = 0
  #scratch = new ByteWriter(1024)

  constructor(rows: SegmentRows, number: number, docs: number) {
    this.#rows = rows
    this.number = number
    this.#docs = docs
  }

  addStored(bytes: Buffer): void {
    if (this.#stored.length === 0) this.#storedBlocks.push(this.#storedDocs)
    this.#storedDocs++
    this.#stored.bytes(bytes)
    if (this.#stored.length >= blockBytes) this.#endStored()
  }

  /** Adds the next term, in key order; only text has positions. */
  addTerm(key: string, postings: Postings, positions?: ArrayLike<number>): void {
    assert(key > this.#lastKey, 'the terms of a segment ascend')
    const block = this.#terms
    let shared = 0
    if (block.length === 0) this.#termBlocks.push(key)
    else {
      const last = this.#lastKey
      const most = Math.min(key.length, last.length)
      while (shared < most && key.charCodeAt(shared) === last.charCodeAt(shared)) shared++
    }
    this.#lastKey = key
    block.varint(shared)
    block.bytes(Buffer.from(key.slice(shared), 'latin1'))
    block.varint(postings.docs.length)
    const scratch = this.#scratch
    scratch.clear()
    encodePostings(scratch, postings, positions)
    if (scratch.length <= inlineBytesMax) {
      block.varint(scratch.length * 2)
      block.raw(scratch.finish())
    } else {
      block.varint(this.#postingsRows * 2 + 1)
      this.#add(rowKind.postings, this.#postingsRows++, Buffer.from(scratch.finish()))
    }
    if (block.length >= blockBytes) this.#endTerms()
  }

  /** Adds the number of words of each document in a `text` field by the number of the field. */
  addLengths(field: number, lengths: ArrayLike<number>): void {
    const writer = new ByteWriter()
    let last = -1
    for (let doc = 0; doc < this.#docs; doc++) {
      if (lengths[doc] === 0) continue
      writer.varint(doc - last - 1)
      writer.varint(lengths[doc])
      last = doc
    }
    this.#add(rowKind.lengths, field, writer.finish())
  }

  /** Writes the remaining rows, and the header as the last row. */
  async finish(fields: readonly SegmentField[]): Promise<SegmentHeader> {
    assert(this.#storedDocs === this.#docs, 'a segment holds all its documents')
    if (this.#stored.length > 0) this.#endStored()
    if (this.#terms.length > 0) this.#endTerms()
    const header: SegmentHeader = {
      docs: this.#docs,
      fields,
      termBlocks: this.#termBlocks,
      storedBlocks: this.#storedBlocks,
    }
    this.#add(rowKind.header, 0, encodeHeader(header))
    await this.#send()
    return header
  }

  #endTerms(): void {
    this.#add(rowKind.terms, this.#termBlocks.length - 1, this.#terms.finish())
    this.#terms = new ByteWriter(2 * blockBytes)
  }

  #endStored(): void {
    this.#add(rowKind.stored, this.#storedBlocks.length - 1, this.#stored.finish())
    this.#stored = new ByteWriter(2 * blockBytes)
  }

  #add(kind: RowKind, number: number, bytes: Buffer): void {
    this.#puts.push(this.#rows.put(this.number, kind, number, bytes))
    this.#putBytes += bytes.length
  }

  /** Sends the buffered rows if they fill a batch. To be called between additions. */
  async send(): Promise<void> {
    if (this.#putBytes >= batchBytes) await this.#send()
  }

  async #send(): Promise<void> {
    const puts = this.#puts
    this.#puts = []
    this.#putBytes = 0
    if (puts.length > 0) await this.#rows.table.putList(puts)
  }
}
