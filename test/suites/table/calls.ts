/**
 * The operations of a table in one shape, whether the promise forms or the synchronous ones run.
 */
import type { AnyTable } from './case.js'
import type { Result } from '../../../src/api/index.js'
import type {
  Append,
  BatchOperation,
  BatchResult,
  Check,
  CheckAction,
  CheckAndMutateResult,
  Delete,
  Get,
  Increment,
  Put,
  PutReceipt,
  RowMutations,
  Scan,
  SyncTable,
  Table,
} from '../../../src/api/index.js'

/** The promise forms or the synchronous ones. */
export type CallForm = 'sync' | 'async'

/** What cases call; every member behaves the same in both forms. */
export interface TableCalls {
  /** As `Table.get`. */
  get(get: Get): Promise<Result>
  /** The results of several gets, in their order. */
  getList(gets: readonly Get[]): Promise<Result[]>
  /** As `Table.exists`. */
  exists(get: Get): Promise<boolean>
  /** Reads the scan to its end. */
  scan(scan?: Scan): Promise<Result[]>
  /** As `Table.put`. */
  put(put: Put): Promise<PutReceipt>
  /** Puts in the order of the list; a failure is told by position (`ERR_BATCH_FAILED`). */
  putList(puts: readonly Put[]): Promise<void>
  /** As `Table.delete`. */
  delete(deletion: Delete): Promise<void>
  /** Deletes in the order of the list; a failure is told by position (`ERR_BATCH_FAILED`). */
  deleteList(deletions: readonly Delete[]): Promise<void>
  /** As `Table.increment`. */
  increment(increment: Increment): Promise<Result>
  /** As `Table.append`. */
  append(append: Append): Promise<Result>
  /** As `Table.mutateRow`. */
  mutateRow(mutations: RowMutations): Promise<Result>
  /** As `Table.checkAndMutate`. */
  checkAndMutate(check: Check, action: CheckAction): Promise<CheckAndMutateResult>
  /** The outcomes of several checks, each with its action, in their order. */
  checkAndMutateList(
    list: readonly { readonly check: Check; readonly action: CheckAction }[],
  ): Promise<CheckAndMutateResult[]>
  /** As `Table.batch`. */
  batch(operations: readonly BatchOperation[]): Promise<BatchResult[]>
}

async function collect(results: AsyncIterable<Result>): Promise<Result[]> {
  const all: Result[] = []
  for await (const result of results) all.push(result)
  return all
}

function asyncCalls(table: AnyTable): TableCalls {
  return {
    get: (get) => table.get(get),
    getList: (gets) => table.getList(gets),
    exists: (get) => table.exists(get),
    scan: async (scan) => collect(table.scan(scan)),
    put: (put) => table.put(put),
    putList: (puts) => table.putList(puts),
    delete: (deletion) => table.delete(deletion),
    deleteList: (deletions) => table.deleteList(deletions),
    increment: (increment) => table.increment(increment),
    append: (append) => table.append(append),
    mutateRow: (mutations) => table.mutateRow(mutations),
    checkAndMutate: (check, action) => table.checkAndMutate(check, action),
    checkAndMutateList: (list) => table.checkAndMutateList(list),
    batch: (operations) => table.batch(operations),
  }
}

function syncCalls(table: Table & SyncTable): TableCalls {
  return {
    get: async (get) => table.getSync(get),
    getList: async (gets) => table.getListSync(gets),
    exists: async (get) => table.existsSync(get),
    scan: async (scan) => [...table.scanSync(scan)],
    put: async (put) => table.putSync(put),
    putList: async (puts) => table.putListSync(puts),
    delete: async (deletion) => table.deleteSync(deletion),
    deleteList: async (deletions) => table.deleteListSync(deletions),
    increment: async (increment) => table.incrementSync(increment),
    append: async (append) => table.appendSync(append),
    mutateRow: async (mutations) => table.mutateRowSync(mutations),
    checkAndMutate: async (check, action) => table.checkAndMutateSync(check, action),
    checkAndMutateList: async (list) => table.checkAndMutateListSync(list),
    batch: async (operations) => table.batchSync(operations),
  }
}

/** The calls of a table in one of the two forms; 'sync' needs the capability `sync`. */
export function callsOf(table: AnyTable, form: CallForm): TableCalls {
  return form === 'sync' ? syncCalls(table as Table & SyncTable) : asyncCalls(table)
}
