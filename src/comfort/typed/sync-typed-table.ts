/** A typed table of a backend with synchronous calls: {@link TypedTable} with them too. */
import type { PutReceipt } from '../../api/put-receipt.js'
import type { SyncRows } from '../../api/rows/sync-rows.js'
import type { SyncTable, Table } from '../../api/table.js'
import { checkArray } from '../../base/arguments.js'
import type { KeyParts } from '../keys/row-key.js'
import type { ColumnInput, ColumnOutput, ColumnsOption } from './columns.js'
import {
  checkAmount,
  countedValue,
  counterColumn,
  isHeld,
  notHeld,
  takenBack,
  type CounterName,
} from './counters.js'
import type { KeyOf, RowInput, RowOutput, TypedPutOptions } from './row-form.js'
import type { NoIndexes } from './typed-indexes.js'
import { getOf, scanOf, type TypedGetOptions, type TypedScanOptions } from './typed-reads.js'
import { TypedTable } from './typed-table.js'

/** A typed table with the synchronous forms too. */
export class SyncTypedTable<
  K extends KeyParts = KeyParts,
  C extends ColumnsOption = ColumnsOption,
  I = NoIndexes,
> extends TypedTable<K, C, I> {
  declare readonly table: Table & SyncTable

  /** As {@link TypedTable.put}, before it returns. */
  putSync(row: RowInput<K, C>, options?: TypedPutOptions): PutReceipt {
    return this.table.putSync(this.rows.put(row, options))
  }

  /** As {@link TypedTable.get}, before it returns. */
  getSync(key: KeyOf<K>, options?: TypedGetOptions<C>): RowOutput<K, C> | undefined {
    return this.rows.rowOf(this.table.getSync(getOf(this.rows, key, options)))
  }

  /** As {@link TypedTable.getList}, before it returns. */
  getListSync(
    keys: readonly KeyOf<K>[],
    options?: TypedGetOptions<C>,
  ): (RowOutput<K, C> | undefined)[] {
    const gets = checkArray(keys, 'keys').map((key) => getOf(this.rows, key, options))
    const results = this.table.getListSync(gets)
    return results.map((result) => this.rows.rowOf(result))
  }

  /** As {@link TypedTable.scan}, without promises. */
  scanSync(options: TypedScanOptions<K, C> = {}): SyncRows<RowOutput<K, C>> {
    return this.table.scanSync(scanOf(this.rows, options)).map((each) => this.rows.fromResult(each))
  }

  /** As {@link TypedTable.delete}, before it returns. */
  deleteSync(key: KeyOf<K>, ...names: readonly (keyof C & string)[]): void {
    this.table.deleteSync(this.rows.delete(key, names))
  }

  /** As {@link TypedTable.increment}, before it returns. */
  incrementSync<N extends CounterName<C>>(
    key: KeyOf<K>,
    name: N,
    amount: number | bigint = 1,
  ): ColumnOutput<C[N]> {
    const counter = counterColumn(this.rows, name)
    checkAmount(counter, amount)
    const row = this.rows.row(key)
    const value = this.table.incrementColumnValueSync(row, counter.column, amount)
    if (isHeld(counter, value)) return countedValue<C, N>(counter, value)
    const { check, action } = takenBack(row, counter, amount)
    this.table.checkAndMutateSync(check, action)
    throw notHeld(counter, value)
  }

  /** As {@link TypedTable.compareAndSet}, before it returns. */
  compareAndSetSync<N extends keyof C & string>(
    key: KeyOf<K>,
    name: N,
    expected: ColumnInput<C[N]> | undefined,
    value: ColumnInput<C[N]> | undefined,
  ): boolean {
    const { check, action } = this.rows.compareAndSet(key, name, expected, value)
    return this.table.checkAndMutateSync(check, action).success
  }
}
