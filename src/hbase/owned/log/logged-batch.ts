/**
 * A batch of the log and its bytes in a cell of a chunk.
 *
 *     8 checksum of the rest, XXH64 with the sequence as seed, little-endian
 *     1 format, 1
 *     8 timestamp of the batch, milliseconds, little-endian
 *     v number of places, then each: v length and name of the table, the same of the family
 *     v number of cells, then each:
 *       v place, counted from 0
 *       1 type of the cell, HBase's code
 *       8 timestamp, little-endian
 *       8 TTL in milliseconds, little-endian; 0 = none
 *       v length and row, v length and qualifier, v length and value
 *
 * `v` is a varint of `base/varint.ts`. The seed shows a cell that lies in a wrong place.
 */
import { corruption } from '../../../base/errors.js'
import { readVarint, varintLength, writeVarint } from '../../../base/varint.js'
import { cellTypeCode, cellTypeName, type CellTypeCode } from '../../../storage/cell/cell-type.js'
import type { CellTypeName } from '../../../storage/cell/cell-type.js'
import { checksumMatches, xxh64 } from '../../../storage/codec/checksum.js'

/** A cell to write: a put or a delete marker, with its timestamp. */
export interface LoggedCell {
  readonly table: string
  readonly family: string
  readonly row: Buffer
  readonly qualifier: Buffer
  readonly type: CellTypeName
  readonly timestamp: bigint
  /** 0 = none. */
  readonly ttlMilliseconds: number
  readonly value: Buffer
}

/** The cells that are written all or none. */
export interface BatchContent {
  /** Milliseconds; later batches of a row have greater ones. */
  readonly timestamp: number
  /** In the order of the mutation. */
  readonly cells: readonly LoggedCell[]
}

/** A batch with its place in the log. */
export interface LoggedBatch extends BatchContent {
  /** From 1, without gaps. */
  readonly sequence: number
}

const format = 1
const headBytes = 17

/** The bytes of a batch. */
export function encodeBatch(sequence: number, batch: BatchContent): Buffer {
  const places: (readonly [table: Buffer, family: Buffer])[] = []
  const numbers = new Map<string, number>()
  const placeOf = ({ table, family }: LoggedCell): number => {
    const name = `${table}\0${family}`
    let place = numbers.get(name)
    if (place === undefined) {
      place = places.push([Buffer.from(table), Buffer.from(family)]) - 1
      numbers.set(name, place)
    }
    return place
  }
  const placeNumbers = batch.cells.map(placeOf)
  let length = headBytes + varintLength(places.length) + varintLength(batch.cells.length)
  for (const parts of places) for (const part of parts) length += partBytes(part)
  for (const [index, cell] of batch.cells.entries()) {
    length += varintLength(placeNumbers[index]) + 17
    length += partBytes(cell.row) + partBytes(cell.qualifier) + partBytes(cell.value)
  }
  const bytes = Buffer.allocUnsafe(length)
  bytes[8] = format
  bytes.writeBigUInt64LE(BigInt(batch.timestamp), 9)
  let at = writeVarint(bytes, headBytes, places.length)
  for (const parts of places) for (const part of parts) at = writePart(bytes, at, part)
  at = writeVarint(bytes, at, batch.cells.length)
  for (const [index, cell] of batch.cells.entries()) {
    at = writeVarint(bytes, at, placeNumbers[index])
    bytes[at] = cellTypeCode(cell.type)!
    at = bytes.writeBigUInt64LE(cell.timestamp, at + 1)
    at = bytes.writeBigUInt64LE(BigInt(cell.ttlMilliseconds), at)
    for (const part of [cell.row, cell.qualifier, cell.value]) at = writePart(bytes, at, part)
  }
  bytes.writeBigUInt64LE(xxh64(bytes.subarray(8), BigInt(sequence)), 0)
  return bytes
}

function partBytes(part: Buffer): number {
  return varintLength(part.length) + part.length
}

function writePart(target: Buffer, offset: number, part: Buffer): number {
  const at = writeVarint(target, offset, part.length)
  return at + part.copy(target, at)
}

/** Reads a batch. `row` names the chunk in messages. `ERR_CORRUPTION`. */
export function decodeBatch(sequence: number, bytes: Buffer, row: string): LoggedBatch {
  const reader = new BatchReader(bytes, `batch ${sequence} of ${row}`)
  const body = bytes.subarray(8)
  if (bytes.length < headBytes || !checksumMatches(bytes, 0, body, BigInt(sequence))) {
    throw reader.damaged('a batch with its checksum')
  }
  if (bytes[8] !== format) throw reader.damaged(`format ${format}`)
  const timestamp = Number(bytes.readBigUInt64LE(9))
  const places = reader.list(() => [reader.part().toString(), reader.part().toString()] as const)
  const cells = reader.list((): LoggedCell => {
    const place = places[reader.number()]
    const type = cellTypeName(reader.take(1)[0] as CellTypeCode)
    if (place === undefined || type === undefined) throw reader.damaged('a known place and type')
    return {
      table: place[0],
      family: place[1],
      type,
      timestamp: reader.take(8).readBigUInt64LE(),
      ttlMilliseconds: Number(reader.take(8).readBigUInt64LE()),
      row: reader.part(),
      qualifier: reader.part(),
      value: reader.part(),
    }
  })
  return { sequence, timestamp, cells }
}

class BatchReader {
  readonly #bytes: Buffer
  readonly #what: string
  #at = headBytes

  constructor(bytes: Buffer, what: string) {
    this.#bytes = bytes
    this.#what = what
  }

  number(): number {
    const value = readVarint(this.#bytes, this.#at, this.#bytes.length)
    if (value < 0) throw this.damaged('a number')
    this.#at += varintLength(value)
    return value
  }

  take(length: number): Buffer {
    const end = this.#at + length
    if (end > this.#bytes.length) throw this.damaged(`${length} bytes`)
    const taken = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return taken
  }

  part(): Buffer {
    return this.take(this.number())
  }

  list<T>(read: () => T): T[] {
    const length = this.number()
    const elements: T[] = []
    for (let i = 0; i < length; i++) elements.push(read())
    return elements
  }

  damaged(expected: string): Error {
    return corruption('damaged log', { file: this.#what, offset: this.#at, expected })
  }
}
