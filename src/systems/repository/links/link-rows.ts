/**
 * Rows of the link index (src/systems/repository/FORMAT.md). Every link has two rows for each
 * version tag: one by its source, one by its target.
 */
import { readTerminated, terminated, type KeyReader } from '../../../comfort/keys/key-parts.js'
import { uint32 } from '../../bytes/byte-writer.js'
import { corrupt } from '../errors.js'
import { type RecordId, storedRecordId } from '../record-id.js'

/** A record of any table. */
export interface RecordPlace {
  /** Repository `/` table. */
  readonly table: string
  readonly id: RecordId
}

/** A link in a version of a record. */
export interface IndexedLink {
  readonly source: RecordPlace
  readonly target: RecordPlace
  /** Ordinals of the field types of the version tag and of the link field. */
  readonly tag: number
  readonly field: number
}

const forward = 0x66
const backward = 0x62

/** A record as part of a row. */
export function placeBytes({ table, id }: RecordPlace): Buffer {
  return Buffer.concat([terminated(Buffer.from(table)), terminated(id.bytes)])
}

/** The prefix of the link rows of a record, optionally of one tag, and of one field. */
export function linkPrefix(
  direction: 'forward' | 'backward',
  place: RecordPlace,
  tag?: number,
  field?: number,
): Buffer {
  const parts = [Buffer.of(direction === 'forward' ? forward : backward), placeBytes(place)]
  if (tag !== undefined) parts.push(uint32(tag))
  if (field !== undefined) parts.push(uint32(field))
  return Buffer.concat(parts)
}

/** The prefix of the link rows of all records of a table. */
export function tablePrefix(table: string): Buffer {
  return Buffer.concat([Buffer.of(forward), terminated(Buffer.from(table))])
}

/** The row by source, and the row by target. */
export function linkRows({ source, target, tag, field }: IndexedLink): [Buffer, Buffer] {
  return [
    Buffer.concat([linkPrefix('forward', source, tag, field), placeBytes(target)]),
    Buffer.concat([linkPrefix('backward', target, tag, field), placeBytes(source)]),
  ]
}

/** Decodes a row of either direction. `ERR_CORRUPTION`. */
export function parseLinkRow(row: Buffer): IndexedLink {
  const reader = { source: row, at: 1 }
  const near = readPlace(reader)
  const { at } = reader
  if (row.length < at + 8) throw damagedRow(row)
  reader.at += 8
  const far = readPlace(reader)
  const isForward = row[0] === forward
  return {
    source: isForward ? near : far,
    target: isForward ? far : near,
    tag: row.readUInt32BE(at),
    field: row.readUInt32BE(at + 4),
  }
}

/** Reads a record from a row, and moves behind it. `ERR_CORRUPTION`. */
export function readPlace(reader: KeyReader): RecordPlace {
  const table = readTerminated(reader)
  const id = table && readTerminated(reader)
  if (id === undefined) throw damagedRow(reader.source)
  return { table: table!.toString('utf8'), id: storedRecordId(id, 'a row of an index') }
}

function damagedRow(row: Buffer): Error {
  return corrupt(`a row of an index leads to no record: ${row.toString('hex')}`)
}
