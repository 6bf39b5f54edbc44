/** The columns of a typed table that can be incremented. */
import { shown } from '../../base/arguments.js'
import { invalidArgument } from '../../base/errors.js'
import type { Check, CheckAction } from '../../api/mutations.js'
import { encodings } from '../../api/results/encodings.js'
import { FilterList } from '../../storage/filter/filter-list.js'
import { SingleColumnValueFilter } from '../../storage/filter/single-column-filters.js'
import type { KeyParts } from '../keys/row-key.js'
import type { ColumnInput, ColumnOutput, ColumnsOption, TypedColumn } from './columns.js'
import type { RowForm } from './row-form.js'

/** The columns that can be incremented. */
export type CounterName<C extends ColumnsOption> = {
  [N in keyof C]: ColumnInput<C[N]> extends number | bigint ? N : never
}[keyof C] &
  string

/** The column of a counter. Throws `ERR_INVALID_ARGUMENT`. */
export function counterColumn<K extends KeyParts, C extends ColumnsOption>(
  rows: RowForm<K, C>,
  name: string,
): TypedColumn {
  const column = rows.column(name)
  const { encoding } = column
  if (encoding.name === 'integer' || encoding.name === 'int64') return column
  throw invalidArgument(
    `increment needs a column of the encoding integer or int64; '${name}' is ${encoding.name}`,
  )
}

/** Whether a counter can hold a value: the integers of 64 bits go further than safe ones. */
export function isHeld({ encoding }: TypedColumn, value: bigint): boolean {
  return encoding.name === 'int64' || Number.isSafeInteger(Number(value))
}

/** Refuses an amount that a counter cannot hold, so that it is no value of a new counter. */
export function checkAmount(column: TypedColumn, amount: number | bigint): void {
  if (typeof amount === 'bigint' && !isHeld(column, amount)) throw notHeld(column, amount)
}

/** The error for a value that a counter cannot hold. */
export function notHeld({ name }: TypedColumn, value: bigint): Error {
  return invalidArgument(
    `'${name}' holds safe integers, and would be ${shown(value)}; the encoding 'int64' holds more`,
  )
}

/** Takes an amount back, unless the counter has a value that it can hold by then. */
export function takenBack(
  row: Buffer,
  { column }: TypedColumn,
  amount: number | bigint,
): {
  /** Whether the value is beyond safe integers. */
  readonly check: Check
  /** The opposite increment. */
  readonly action: CheckAction
} {
  const beyond = (operator: 'GREATER' | 'LESS', value: number): SingleColumnValueFilter => {
    const bound = encodings.integer.encode(value)
    return new SingleColumnValueFilter({ column, operator, value: bound, filterIfMissing: true })
  }
  // As unsigned bytes negative values come behind the others.
  const filter = new FilterList('MUST_PASS_ALL', [
    beyond('GREATER', Number.MAX_SAFE_INTEGER),
    beyond('LESS', Number.MIN_SAFE_INTEGER),
  ])
  return { check: { row, filter }, action: { increment: { columns: { [column]: -amount } } } }
}

/** The value of a counter as reads return it. */
export function countedValue<C extends ColumnsOption, N extends keyof C & string>(
  column: TypedColumn,
  value: bigint,
): ColumnOutput<C[N]> {
  return (column.encoding.name === 'int64' ? value : Number(value)) as ColumnOutput<C[N]>
}
