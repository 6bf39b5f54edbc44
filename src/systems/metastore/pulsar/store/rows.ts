/**
 * The layout of a store in tables: table, row and cells.
 *
 *     nodes    depth (2 bytes), path               n:r the record, n:c the number of children
 *     index    index name, parent path, key, name  n: empty
 *     owned    session (8 bytes), path             n: empty
 *     feed     first sequence, part from 1 on      n: the events of commits, or of one part
 *     control  sequence, sessions, counters        n:
 *
 * The depth prefix places the children of a path in one contiguous range without their descendants.
 * Listing children reads exactly these rows. An implied parent is a row without a record. The
 * number of children shows with one read whether a node is empty and whether it remains an implied
 * parent.
 *
 * Cells are put and deleted with the sequence of their commit as timestamp, so the order of writes
 * does not depend on a clock. Only rows of the feed have wall-clock timestamps, because they
 * expire.
 */
import type { Result, TableOptions } from '../../../../api/index.js'
import { terminated } from '../../../../comfort/keys/key-parts.js'
import { childPrefix, depthOf } from '../../metadata/paths.js'
import { corrupt } from '../../../bytes/byte-reader.js'
import { readUint64, writeUint64 } from '../../kernel/numbers.js'
import { decodeRecord, type StoredRecord } from './record-format.js'

/** The tables of a store. */
export const tableNames = ['nodes', 'index', 'owned', 'feed', 'control'] as const

/** One of the tables. */
export type TableName = (typeof tableNames)[number]

/** Bytes of the depth prefix of a path. */
export const depthBytes = 2

/** Longest row of a table. */
export const rowBytesMax = 32_767

const family = 'n'

/** Column of a record. */
export const recordColumn = `${family}:r`
/** Column of the number of children. */
export const childrenColumn = `${family}:c`
/** The only column of all other tables. */
export const plainColumn = `${family}:`

/** Row of the newest sequence in the table `control`. */
export const sequenceRow = 'sequence'
/** Prefix of the rows of sessions in the table `control`. */
export const sessionPrefix = 'session/'

/** Options of a table; rows of the feed expire after `feedSeconds`. */
export function tableOptions(table: TableName, feedSeconds: number): TableOptions {
  const ttl = table === 'feed' ? { ttlMilliseconds: feedSeconds * 1000 } : {}
  return { families: { [family]: ttl }, durability: 'FSYNC_WAL' }
}

/** The record of a path and the number of its children, including implied parents. */
export interface Node {
  readonly record: StoredRecord | undefined
  readonly children: number
}

/** A path that is neither a record nor an implied parent. */
export const absentNode: Node = Object.freeze({ record: undefined, children: 0 })

/** Whether a path is neither a record nor an implied parent. */
export function isAbsent({ record, children }: Node): boolean {
  return record === undefined && children === 0
}

/** Row of a path. */
export function nodeRow(path: string): Buffer {
  return depthRow(depthOf(path), path)
}

/** Prefix of the rows of all children of a path. */
export function childRows(path: string): Buffer {
  return depthRow(depthOf(path) + 1, childPrefix(path))
}

/** A range of rows. */
export interface RowRange {
  readonly startRow: Buffer
  /** The exclusive end of the range. */
  readonly stopRow: Buffer
}

/** The rows of all children of a path. */
export function childRange(path: string): RowRange {
  const startRow = childRows(path)
  const stopRow = Buffer.from(startRow)
  // Increments the final slash: sorts after all names that follow the slash.
  stopRow[stopRow.length - 1]++
  return { startRow, stopRow }
}

/** Prefix of the rows of all descendants `levels` below a path. */
export function descendantRows(path: string, levels: number): Buffer {
  return depthRow(depthOf(path) + levels, childPrefix(path))
}

function depthRow(depth: number, text: string): Buffer {
  const row = Buffer.allocUnsafe(depthBytes + Buffer.byteLength(text))
  row.writeUInt16BE(depth, 0)
  row.write(text, depthBytes)
  return row
}

/** Path of a row of `nodes`. */
export function pathOfRow(row: Buffer): string {
  return row.toString('utf8', 2)
}

/** The node of a row. */
export function nodeOf(result: Result): Node {
  if (result.isEmpty) return absentNode
  const children = result.value(childrenColumn)
  return {
    record: recordOf(result),
    children: children === undefined ? 0 : readUint64(children, 0, result.row),
  }
}

/** The record of a row; undefined if there is none. */
export function recordOf(result: Result): StoredRecord | undefined {
  const bytes = result.value(recordColumn)
  return bytes === undefined ? undefined : decodeRecord(bytes)
}

/** Row of `owned` for an ephemeral record. */
export function ownedRow(session: number, path: string): Buffer {
  const row = Buffer.allocUnsafe(8 + Buffer.byteLength(path))
  writeUint64(row, session, 0)
  row.write(path, 8)
  return row
}

/** Path of a row of `owned`. */
export function ownedPath(row: Buffer): string {
  return row.toString('utf8', 8)
}

/** Row of `feed`: a sequence, and the number of the part unless it is the first. */
export function feedRow(sequence: number, part: number): Buffer {
  const row = Buffer.allocUnsafe(part === 0 ? 8 : 12)
  writeUint64(row, sequence, 0)
  if (part > 0) row.writeUInt32BE(part, 8)
  return row
}

/** Sequence and number of the part of a row of `feed`. `ERR_CORRUPTION`. */
export function feedPlace(row: Buffer): { readonly sequence: number; readonly part: number } {
  if (row.length !== 8 && row.length !== 12) {
    throw corrupt(`the feed has the damaged row 0x${row.toString('hex')}`)
  }
  return { sequence: readUint64(row, 0, row), part: row.length === 8 ? 0 : row.readUInt32BE(8) }
}

function indexStart(index: string, parent: string): Buffer {
  return Buffer.concat([terminated(Buffer.from(index)), terminated(Buffer.from(parent))])
}

/** The row of an index entry, without the name of the child, with which it ends. */
export function indexKey(index: string, key: string, parent: string): Buffer {
  return Buffer.concat([indexStart(index, parent), terminated(Buffer.from(key))])
}

/** The range of rows of a range of keys. */
export function indexRange(
  index: string,
  parent: string,
  from: string | undefined,
  to: string | undefined,
): RowRange {
  const start = indexStart(index, parent)
  const rowsOf = (key: string | undefined): Buffer => {
    return key === undefined ? start : Buffer.concat([start, terminated(Buffer.from(key))])
  }
  const stopRow = Buffer.from(rowsOf(to))
  // Increments the terminator: sorts after all that follows it.
  stopRow[stopRow.length - 1]++
  return { startRow: rowsOf(from), stopRow }
}

/** Name of the indexed child. */
export function indexedName(row: Buffer): string {
  return row.toString('utf8', row.lastIndexOf('\0\x01') + 2)
}

/** Row of the counter of sequential puts or sequence keys in the table `control`. */
export function counterRow(kind: 'sequential' | 'deltas', prefix: string): string {
  return `${kind}${prefix}`
}

/** Decodes the numbers of a stored counter. `ERR_CORRUPTION`. */
export function countersOf(bytes: Buffer | undefined): readonly bigint[] {
  if (bytes === undefined) return []
  if (bytes.length % 8 !== 0) {
    throw corrupt(`the numbers of a sequence are damaged: 0x${bytes.toString('hex')}`)
  }
  const numbers: bigint[] = []
  for (let at = 0; at < bytes.length; at += 8) numbers.push(bytes.readBigUInt64BE(at))
  return numbers
}
