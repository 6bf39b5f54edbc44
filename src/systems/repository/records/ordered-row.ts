/** Rows of the index table: encoded parts one after the other, in the order of their values. */
import type { AtomicMutation } from '../../../api/index.js'
import { uint32 } from '../../bytes/byte-writer.js'
import { terminated } from '../../../comfort/keys/key-parts.js'
import type { TableContext } from './table-context.js'

/** The column of the rows of the index table. */
export const indexColumn = 'i:r'

/** First bytes of the kinds of rows. */
export const rowKinds = { unique: 0x75, field: 0x78, definition: 0x64 } as const

/** The first row after all rows with this prefix, whose first byte is not FF. */
export function rowBehind(prefix: Buffer): Buffer {
  let length = prefix.length
  while (prefix[length - 1] === 0xff) length--
  const row = Buffer.from(prefix.subarray(0, length))
  row[length - 1]++
  return row
}

/** The prefix of the rows of a number, such as that of a field, in one record table. */
export function fieldPrefix(kind: number, table: Buffer, ordinal: number): Buffer {
  return Buffer.concat([Buffer.of(kind), terminated(table), uint32(ordinal)])
}

/** The mutation that writes a row of the index table. */
export function indexRow({ indexTable }: TableContext, row: Buffer, value: Buffer): AtomicMutation {
  const put = { cells: { [indexColumn]: value }, timestamp: 1 }
  return { table: indexTable, row, mutations: [{ put }] }
}

/** The mutation that removes a row of the index table. */
export function indexRemoval({ indexTable }: TableContext, row: Buffer): AtomicMutation {
  const families = [{ family: 'i', timestamp: 1 }]
  return { table: indexTable, row, mutations: [{ delete: { families } }] }
}
