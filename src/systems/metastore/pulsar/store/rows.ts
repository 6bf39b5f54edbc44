/**
 * How a store lies in tables: table, row and cells.
 *
 *     nodes    depth (2 bytes), path               n:r the record, n:c the number of children
 *     index    index name, parent path, key, name  n: empty
 *     owned    session (8 bytes), path             n: empty
 *     feed     first sequence, part from 1 on      n: the events of commits, or of a part of one
 *     control  sequence, sessions, counters        n:
 *
 * The depth in front puts the children of a path side by side, without their own descendants, so a
 * listing reads the children and nothing else. An implied parent is a row without a record. The
 * number of children answers "is it empty" and "is it still a parent" with one read.
 *
 * Cells are put and deleted at the sequence of their commit as timestamp, so the order of writes
 * does not depend on any clock. Only rows of the feed have wall-clock timestamps: they expire.
 */
import type { Result, TableOptions } from '../../../../api/index.js'
import { childPrefix, depthOf } from '../paths.js'
import { decodeRecord, readUint64, writeUint64, type StoredRecord } from './record-format.js'

/** The tables of a store. */
export const tableNames = ['nodes', 'index', 'owned', 'feed', 'control'] as const

/** One of the tables. */
export type TableName = (typeof tableNames)[number]

/** Bytes of the depth in front of a path. */
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
/** Row of the layout's version in the table `control`. */
export const layoutRow = 'layout'
/** What the rows of sessions begin with in the table `control`. */
export const sessionPrefix = 'session/'

/** Options of a table; the feed forgets commits after `feedSeconds`. */
export function tableOptions(table: TableName, feedSeconds: number): TableOptions {
  const ttl = table === 'feed' ? { ttlMilliseconds: feedSeconds * 1000 } : {}
  return { families: { [family]: ttl }, durability: 'FSYNC_WAL' }
}

/** A path with its record and its number of children, explicit and implied ones. */
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

/** What the rows of all children of a path begin with. */
export function childRows(path: string): Buffer {
  return depthRow(depthOf(path) + 1, childPrefix(path))
}

/** A range of rows. */
export interface RowRange {
  readonly startRow: Buffer
  /** The row behind the last one. */
  readonly stopRow: Buffer
}

/** The rows of all children of a path. */
export function childRange(path: string): RowRange {
  const startRow = childRows(path)
  const stopRow = Buffer.from(startRow)
  // Behind every name that follows the slash.
  stopRow[stopRow.length - 1]++
  return { startRow, stopRow }
}

/** What the rows of all descendants `levels` below a path begin with. */
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
    children: children === undefined ? 0 : readUint64(children, 0),
  }
}

/** The record of a row; undefined if it has none. */
export function recordOf(result: Result): StoredRecord | undefined {
  const bytes = result.value(recordColumn)
  return bytes === undefined ? undefined : decodeRecord(bytes)
}

/** Row of `owned`: a record that ends with a session. */
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

/** Row of `feed`: a sequence, and the number of a part behind the first. */
export function feedRow(sequence: number, part: number): Buffer {
  const row = Buffer.allocUnsafe(part === 0 ? 8 : 12)
  writeUint64(row, sequence, 0)
  if (part > 0) row.writeUInt32BE(part, 8)
  return row
}

/** Number of the part in a row of `feed`. */
export function feedPart(row: Buffer): number {
  return row.length === 8 ? 0 : row.readUInt32BE(8)
}

/** Ends a text in a row of `index`; inside texts, NUL becomes NUL and 255. */
const textEnd = '\u0000\u0001'
/** Sorts behind `textEnd` and before every longer text. */
const textEndNext = '\u0000\u0002'

function escaped(text: string): Buffer {
  const bytes = Buffer.from(text)
  if (!bytes.includes(0)) return bytes
  const parts: number[] = []
  for (const byte of bytes) {
    parts.push(byte)
    if (byte === 0) parts.push(255)
  }
  return Buffer.from(parts)
}

function textRow(...parts: readonly (string | Buffer)[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
}

function indexStart(index: string, parent: string): Buffer {
  return textRow(escaped(index), textEnd, parent, textEnd)
}

/** Row of an index entry. */
export function indexRow(index: string, key: string, parent: string, name: string): Buffer {
  return textRow(indexStart(index, parent), escaped(key), textEnd, name)
}

/** First row of a range of keys, and the row behind its last one. */
export function indexRange(
  index: string,
  parent: string,
  from: string | undefined,
  to: string | undefined,
): RowRange {
  const start = indexStart(index, parent)
  return {
    startRow: from === undefined ? start : textRow(start, escaped(from), textEnd),
    stopRow:
      to === undefined
        ? textRow(escaped(index), textEnd, parent, textEndNext)
        : textRow(start, escaped(to), textEndNext),
  }
}

/** Name of the child of an index entry. */
export function indexedName(row: Buffer): string {
  return row.toString('utf8', row.lastIndexOf(textEnd) + 2)
}

/** Row of the counter behind sequential puts or sequence keys in the table `control`. */
export function counterRow(kind: 'sequential' | 'deltas', prefix: string): string {
  return `${kind}${prefix}`
}
