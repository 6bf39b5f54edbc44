/** Encodes increments and appends: reads the newest cell, computes the new one and writes it. */
import { toBytes } from '../../base/bytes.js'
import {
  checkAmount,
  checkTail,
  columnsOfAppend,
  columnsOfIncrement,
  notACounter,
  parseUpdate,
  type ColumnUpdate,
} from '../../checks/updates.js'
import type { CellView } from '../../storage/cell/cell-view.js'
import { CellType } from '../../storage/cell/cell-type.js'
import { parseSingleColumn, type ColumnName } from '../../storage/cell/column-name.js'
import { latestTimestamp, type Timestamp } from '../../storage/cell/timestamp.js'
import type { FamilyState } from '../../storage/engine/catalog/catalog.js'
import { planColumns, type ReadVersions } from './deletes.js'
import type { MutationWriter } from './mutation-writer.js'
import type { Append, Increment, RowOperation } from '../../api/index.js'

interface Target<T> {
  readonly column: ColumnName
  readonly family: FamilyState
  readonly escapedQualifier: Buffer
  readonly amount: T
}

/** Encodes an increment. `ERR_NOT_A_COUNTER` if a stored value is not eight bytes. */
export function addIncrement(
  writer: MutationWriter,
  increment: RowOperation<Increment>,
  read: ReadVersions,
): void {
  const targets = resolve(writer, columnsOfIncrement(increment))
  for (const { amount } of targets) checkAmount(amount)
  modify(writer, increment, targets, read, (stored, target) => {
    const base = stored === undefined ? 0n : counterValue(stored, target)
    const value = Buffer.allocUnsafe(8)
    value.writeBigInt64BE(BigInt.asIntN(64, base + BigInt(target.amount)))
    return value
  })
}

/** Encodes an append. */
export function addAppend(
  writer: MutationWriter,
  append: RowOperation<Append>,
  read: ReadVersions,
): void {
  const targets = resolve(writer, columnsOfAppend(append))
  for (const { amount } of targets) checkTail(amount)
  modify(writer, append, targets, read, (stored, { amount }) => {
    const tail = toBytes(amount)
    return stored === undefined ? tail : Buffer.concat([stored.copyValue(), tail])
  })
}

function resolve<T>(writer: MutationWriter, columns: readonly ColumnUpdate<T>[]): Target<T>[] {
  const targets = columns.map(({ column, amount }) => {
    const { family, escapedQualifier } = parseSingleColumn(column)
    return { column, family: writer.family(family), escapedQualifier, amount }
  })
  return targets.length === 1 ? targets : targets.sort(compareTargets)
}

/** The order of the cells in the result. Several mentions of one column keep their order. */
function compareTargets(a: Target<unknown>, b: Target<unknown>): number {
  const byFamily = a.family.index - b.family.index
  return byFamily === 0 ? Buffer.compare(a.escapedQualifier, b.escapedQualifier) : byFamily
}

/**
 * Makes each new cell strictly newer than the one it replaces: max(server's time, old + 1). So an
 * explicit timestamp takes effect only for a column without a cell. The old cell's TTL is kept
 * unless the operation sets one. If a column is named twice, both mentions start from the same old
 * value. As in HBase the last mention wins, and the result has both.
 */
function modify<T>(
  writer: MutationWriter,
  operation: RowOperation<Increment> | RowOperation<Append>,
  targets: readonly Target<T>[],
  read: ReadVersions,
  compute: (stored: CellView | undefined, target: Target<T>) => Buffer,
): void {
  const {
    ttlMilliseconds: ttl,
    timestamp,
    returnResults,
    timeRange,
  } = parseUpdate(operation, (timestamp) => writer.checkSlop(timestamp))
  const cells = read(planColumns(targets, timeRange))
  writer.givesResult = true
  for (const target of targets) {
    const { family, escapedQualifier } = target
    const stored = cells.find(family.index, escapedQualifier)
    const value = compute(stored, target)
    const at = stored === undefined ? timestamp : newerThan(writer, stored)
    const keptTtl = ttl > 0 || stored === undefined ? ttl : stored.ttlMilliseconds
    writer.encode(family, escapedQualifier, CellType.put, at, keptTtl, value)
    if (returnResults) writer.includeInResult(family)
  }
}

/**
 * max(server's time, old + 1). Since 2^63-1 means "the server's time", the greatest usable
 * timestamp repeats.
 */
function newerThan(writer: MutationWriter, stored: CellView): Timestamp {
  const next = stored.timestampExact + 1n
  const now = BigInt(writer.assignTimestamp())
  const newer = now > next ? now : next
  return newer >= latestTimestamp ? latestTimestamp - 1n : newer
}

function counterValue(stored: CellView, target: Target<unknown>): bigint {
  const start = stored.contentStart
  const length = stored.valueEnd - start
  if (length === 8) return stored.buffer.readBigInt64BE(start)
  throw notACounter(target.family.name, length)
}
