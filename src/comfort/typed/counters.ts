/** The columns of a typed table that can be incremented. */
import { invalidArgument } from '../../base/errors.js'
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

/** An amount to add. Throws `ERR_INVALID_ARGUMENT` if it is no value of the column. */
export function counterAmount(column: TypedColumn, amount: number | bigint): number | bigint {
  const isBeyond = typeof amount === 'bigint' && !Number.isSafeInteger(Number(amount))
  if (!isBeyond || column.encoding.name === 'int64') return amount
  throw invalidArgument(
    `increment of '${column.name}' by ${amount}: an integer is below 2^53; the encoding int64 takes more`,
  )
}

/** The value of a counter as reads return it. */
export function countedValue<C extends ColumnsOption, N extends keyof C & string>(
  column: TypedColumn,
  value: bigint,
): ColumnOutput<C[N]> {
  return (column.encoding.name === 'int64' ? value : Number(value)) as ColumnOutput<C[N]>
}
