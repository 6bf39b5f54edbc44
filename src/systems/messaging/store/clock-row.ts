/**
 * The row of the clock in the metadata table: the largest assigned time, over publishes and stores
 * of all topics. All times after a restart are larger.
 */
import type { MessagingTables } from '../topics/topic.js'
import { type AtomicMutation, type Database } from '../../../api/index.js'
import { eachRow } from '../../../comfort/tables.js'
import { corrupt } from '../../bytes/byte-reader.js'
import { decodeMessageRow, decodePayloadRow } from './rows.js'

const clockRow = Buffer.from('.clock')
const clockColumn = 'd:k'
const scannedRows = 1024

/**
 * Reads the largest assigned time; -1 if there is none. `ERR_CORRUPTION`. Tables that no service
 * has written, such as imported rows of CDAP, have no clock: then all of their rows are read.
 */
export async function readClock(database: Database, tables: MessagingTables): Promise<number> {
  const { metadata, message, payload } = tables
  const result = await database.table(metadata).get({ row: clockRow, columns: [clockColumn] })
  const value = result.value(clockColumn)
  if (value !== undefined) {
    const time = value.length === 8 ? Number(value.readBigInt64BE()) : NaN
    if (Number.isSafeInteger(time) && time >= 0) return time
    throw corrupt(`the clock in the table '${metadata}' is damaged: 0x${value.toString('hex')}`)
  }
  const times = [
    await latest(database, message, (row) => decodeMessageRow(row)?.publishTimestamp),
    await latest(database, payload, (row) => decodePayloadRow(row)?.writeTimestamp),
  ]
  return Math.max(...times)
}

/** The mutation that stores the largest assigned time. */
export function clockMutation(table: string, timestampMax: number): AtomicMutation {
  const value = Buffer.allocUnsafe(8)
  value.writeBigInt64BE(BigInt(timestampMax))
  const put = { cells: { [clockColumn]: value }, timestamp: 1 }
  return { table, row: clockRow, mutations: [{ put }] }
}

async function latest(
  database: Database,
  table: string,
  timeOf: (row: Buffer) => number | undefined,
): Promise<number> {
  let time = -1
  const scanner = database.table(table).scan()
  await eachRow(scanner, scannedRows, ({ row }) => {
    time = Math.max(time, timeOf(row!) ?? -1)
    return true
  })
  return time
}
