/** Mixed batches: operations of one row in their order, rows side by side. */
import type { BatchCallback, BatchOperation, BatchResult, Result, Table } from '../../api/index.js'
import { toBytes } from '../../base/bytes.js'
import { copyArguments } from '../../base/copy-arguments.js'
import { checkBatchCallback, tellOutcome } from '../../checks/batch-callback.js'
import { asCellarError, checkOperation, noResult } from '../../checks/lists.js'

/** Runs the operations of a batch by the calls of a table. Outcomes by position. */
export async function runBatch(
  table: Table,
  operations: readonly BatchOperation[],
  callback: BatchCallback | undefined,
): Promise<BatchResult[]> {
  checkBatchCallback(callback)
  const own = operations.map((operation) => copyArguments(checkOperation(operation)).value)
  const results: BatchResult[] = []
  const rows = new Map<string, [number, BatchOperation][]>()
  for (const [position, operation] of own.entries()) {
    const row = rowOf(operation)
    const ofRow = rows.get(row)
    if (ofRow === undefined) rows.set(row, [[position, operation]])
    else ofRow.push([position, operation])
  }
  const thrown: unknown[] = []
  const runRow = async (ofRow: readonly [number, BatchOperation][]): Promise<void> => {
    for (const [position, operation] of ofRow) {
      const result = await outcomeOf(table, operation)
      results[position] = result
      try {
        if (callback !== undefined) tellOutcome(callback, result, position)
      } catch (error) {
        thrown.push(error)
      }
    }
  }
  await Promise.all([...rows.values()].map(runRow))
  if (thrown.length > 0) throw thrown[0]
  return results
}

/** The row of an operation as text, by which operations are put in order; bad rows are alike. */
function rowOf(operation: BatchOperation): string {
  const checked = operation.checkAndMutate
  const parts: unknown[] = checked === undefined ? Object.values(operation) : [checked.check]
  const [row] = parts.map((part) => (part as { readonly row?: unknown } | null)?.row)
  const isRow = typeof row === 'string' || row instanceof Uint8Array
  return isRow ? toBytes(row).toString('latin1') : ''
}

async function outcomeOf(table: Table, operation: BatchOperation): Promise<BatchResult> {
  try {
    const { checkAndMutate: checked } = operation
    if (checked !== undefined) {
      const { success, result } = await table.checkAndMutate(checked.check, checked.action)
      return { ok: true, success, result: result ?? noResult }
    }
    return { ok: true, result: await resultOfOne(table, operation) }
  } catch (error) {
    return { ok: false, error: asCellarError(error) }
  }
}

async function resultOfOne(table: Table, operation: BatchOperation): Promise<Result> {
  if (operation.get !== undefined) return table.get(operation.get)
  if (operation.increment !== undefined) return table.increment(operation.increment)
  if (operation.append !== undefined) return table.append(operation.append)
  if (operation.mutateRow !== undefined) return table.mutateRow(operation.mutateRow)
  if (operation.put !== undefined) await table.put(operation.put)
  else await table.delete(operation.delete as Parameters<Table['delete']>[0])
  return noResult
}
