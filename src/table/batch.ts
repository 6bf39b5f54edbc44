/** Mixed batches: each operation on its own, in order, with an outcome per position (spec 2.7). */
import { CellarError, ErrorCode, invalidArgument } from '../base/errors.js'
import { Result } from './result.js'
import { checkObject } from './table-core.js'
import type { BatchOperation, BatchResult, SyncTable, Table } from './types.js'

const nothing = new Result({ page: Buffer.alloc(0), cells: [], partial: false }, [])

/** Runs a batch; rejects only if an argument is not a batch at all. */
export async function runBatch(
  table: Table,
  operations: readonly BatchOperation[],
): Promise<BatchResult[]> {
  // Starting all at once lets them share one group commit; the engine applies them in this order.
  return Promise.all(
    operations.map(async (operation): Promise<BatchResult> => {
      try {
        return await runOne(table, operation)
      } catch (error) {
        return { ok: false, error: asCellarError(error) }
      }
    }),
  )
}

/** Runs a batch synchronously. */
export function runBatchSync(
  table: SyncTable,
  operations: readonly BatchOperation[],
): BatchResult[] {
  return operations.map((operation): BatchResult => {
    try {
      return runOneSync(table, operation)
    } catch (error) {
      return { ok: false, error: asCellarError(error) }
    }
  })
}

async function runOne(table: Table, operation: BatchOperation): Promise<BatchResult> {
  checkOperation(operation)
  if ('get' in operation) return { ok: true, result: await table.get(operation.get) }
  if ('increment' in operation) {
    return { ok: true, result: await table.increment(operation.increment) }
  }
  if ('append' in operation) return { ok: true, result: await table.append(operation.append) }
  if ('mutateRow' in operation) {
    return { ok: true, result: await table.mutateRow(operation.mutateRow) }
  }
  if ('checkAndMutate' in operation) {
    const { check, action } = checkObject(operation.checkAndMutate, 'checkAndMutate')
    const { success, result } = await table.checkAndMutate(check, action)
    return { ok: true, success, result: result ?? nothing }
  }
  if ('put' in operation) await table.put(operation.put)
  else await table.delete(operation.delete)
  return { ok: true, result: nothing }
}

function runOneSync(table: SyncTable, operation: BatchOperation): BatchResult {
  checkOperation(operation)
  if ('get' in operation) return { ok: true, result: table.getSync(operation.get) }
  if ('increment' in operation) {
    return { ok: true, result: table.incrementSync(operation.increment) }
  }
  if ('append' in operation) return { ok: true, result: table.appendSync(operation.append) }
  if ('mutateRow' in operation) {
    return { ok: true, result: table.mutateRowSync(operation.mutateRow) }
  }
  if ('checkAndMutate' in operation) {
    const { check, action } = checkObject(operation.checkAndMutate, 'checkAndMutate')
    const { success, result } = table.checkAndMutateSync(check, action)
    return { ok: true, success, result: result ?? nothing }
  }
  if ('put' in operation) table.putSync(operation.put)
  else table.deleteSync(operation.delete)
  return { ok: true, result: nothing }
}

const kinds = ['get', 'put', 'delete', 'increment', 'append', 'mutateRow', 'checkAndMutate']

function checkOperation(operation: BatchOperation): void {
  const names =
    typeof operation === 'object' && operation !== null ? Object.keys(operation) : ['nothing']
  if (names.length === 1 && kinds.includes(names[0])) return
  throw invalidArgument(`an operation of a batch is one of ${kinds.join(', ')}`)
}

/** Anything but a CellarError is a bug here; it is passed on with its cause. */
function asCellarError(error: unknown): CellarError {
  if (error instanceof CellarError) return error
  const message = error instanceof Error ? error.message : String(error)
  return new CellarError(ErrorCode.jobFailed, message, { cause: error })
}
