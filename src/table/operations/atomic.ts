/**
 * Atomic batches: checks, then puts and deletes of rows of one or several tables, under one
 * sequence and in one frame of the log.
 *
 * All checks and all encoding happen before anything is applied, in one turn without `await`. So an
 * error or a missing block leaves the database unchanged.
 */
import type { AtomicResult } from '../../api/atomic.js'
import type { Check } from '../../api/mutations.js'
import type { RowList } from '../../checks/operations.js'
import type { ReadMode } from '../../storage/store/store-reader.js'
import type { Durability } from '../../storage/wal/log-options.js'
import { stronger, type DurabilityOption } from '../../api/durability.js'
import type { MutationWriter } from './mutation-writer.js'
import type { Intervention } from './intervention.js'
import type { PlainOperations } from './plain-operations.js'
import type { Applied } from './table-operations.js'

/** The mutations of one table in an atomic batch. */
export interface AtomicPart {
  readonly operations: PlainOperations
  /** Empty if the batch only checks the table. */
  readonly rows: readonly RowList[]
  /** The observers of the table; undefined if it has none. */
  readonly intervention?: Intervention | undefined
}

/** A check of an atomic batch. */
export interface CheckOfTable {
  readonly operations: PlainOperations
  readonly check: Check
}

/**
 * Applies an atomic batch if all checks hold. REQUIRES that `parts` has each table once, and at
 * least one row. May throw `BlockMissing` before anything was changed.
 */
export function applyAtomic(
  parts: readonly AtomicPart[],
  checks: readonly CheckOfTable[],
  asked: DurabilityOption | undefined,
  mode: ReadMode,
): Applied<AtomicResult> {
  const durability = strongest(parts, asked)
  for (let i = 0; i < checks.length; i++) {
    if (checks[i].operations.holds(checks[i].check, mode)) continue
    return { value: { success: false, failedCheck: i, sequence: undefined }, durability }
  }
  // Observers may read and write, so all are asked before the first row is encoded.
  // `endsAfterCheck` returns true if they have emptied the table's part of the batch.
  let emptied: Set<AtomicPart> | undefined
  for (const part of parts) {
    if (part.intervention?.endsAfterCheck(true) === true) (emptied ??= new Set()).add(part)
  }
  let writer: MutationWriter | undefined
  for (const part of parts) {
    const { operations, intervention } = part
    const rows = intervention?.rows ?? part.rows
    if (rows.length === 0 || emptied?.has(part) === true) continue
    writer = operations.addRows(rows, writer, mode, intervention)
  }
  if (writer === undefined) {
    return { value: { success: true, failedCheck: undefined, sequence: undefined }, durability }
  }
  for (const { operations } of parts) writer = operations.complete(writer, mode)
  writer.apply(durability)
  const sequence = writer.writes.readPoints.lastSequence
  return { value: { success: true, failedCheck: undefined, sequence }, durability }
}

/** The requested durability; by default the strongest of the written tables. */
function strongest(parts: readonly AtomicPart[], asked: DurabilityOption | undefined): Durability {
  let durability: Durability = 'SKIP_WAL'
  for (const { operations, rows } of parts) {
    if (rows.length > 0) durability = stronger(durability, operations.durabilityOf(asked))
  }
  return durability
}
