/**
 * Scans of record tables in the order of the ids. A scan reads the newest version of each record.
 */
import {
  checkArray,
  checked,
  checkSignal,
  declareOptions,
  integer,
  unchecked,
  type OptionsOf,
  type Scan,
  type SettingsOf,
} from '../../../../api/index.js'
import { RecordId, type RecordIdLike, storedRecordId } from '../../record-id.js'
import type { SchemaCache } from '../../schema/schema-cache.js'
import { isBytes } from '../../value-kinds.js'
import { decodeHead, headColumn, isDeletedHead } from '../record-state.js'
import type { StoredRecord } from '../record.js'
import type { TableContext } from '../table-context.js'
import { prepareFilter, type PreparedFilter, type RecordFilter } from './record-filters.js'
import { viewOf, type WantedFields } from './record-view.js'

const scanOptions = declareOptions('a scan of records', {
  /** First id, which need not exist. Bytes are taken as a row. */
  startId: unchecked<RecordIdLike | Uint8Array>(),
  /** End of the scan, exclusive. If it equals the start, the scan returns that one record. */
  stopId: unchecked<RecordIdLike | Uint8Array>(),
  /** Filter of the records. Default: all records pass. */
  filter: unchecked<RecordFilter>(),
  /**
   * Fields to return: their names, `'all'` (the default) or `'none'`. Types are always returned.
   */
  fields: unchecked<readonly string[] | 'all' | 'none'>(),
  /** Limit of records. Default: none. */
  limit: integer({ min: 0, default: undefined }),
  /** Aborts the scan with `ERR_ABORTED`. */
  signal: checked(checkSignal),
})

/** Range, filter and fields of a scan. */
export interface RecordScan extends OptionsOf<typeof scanOptions> {}

/** Checks the options of a scan and copies them. `ERR_INVALID_ARGUMENT`. */
export function checkScan(scan: RecordScan): SettingsOf<typeof scanOptions> {
  return scanOptions.read(scan)
}

/**
 * Rows of the first and of the largest batch; each batch has twice as many rows as the one before.
 */
const rowsFirst = 8
const rowsMost = 128

function rowOf(id: RecordIdLike | Uint8Array | undefined): Buffer | undefined {
  if (id === undefined) return undefined
  return isBytes(id) ? Buffer.from(id) : RecordId.of(id).bytes
}

/** Numbers of the fields to return; undefined = all. `ERR_FIELD_TYPE_NOT_FOUND`. */
export function wantedFields(schema: SchemaCache, fields: RecordScan['fields']): WantedFields {
  if (fields === undefined || fields === 'all') return undefined
  if (fields === 'none') return new Set()
  return new Set(checkArray(fields, 'fields').map((name) => schema.field(name).ordinal))
}

/** Yields the records that pass the filter. */
async function* scanned(
  context: TableContext,
  scan: Scan,
  limit: number,
  filter: PreparedFilter | undefined,
  wanted: WantedFields,
): AsyncGenerator<StoredRecord, void> {
  const rows = context.table.scan(scan)
  const what = `a row of ${context.keyText}`
  let left = limit
  // Rows are read in batches, because a promise for each row costs more than the row.
  let batchRows = Math.min(rowsFirst, left)
  try {
    for (;;) {
      if (left <= 0) return
      const batch = await rows.nextBatch(batchRows)
      if (batch.length === 0) return
      for (const row of batch) {
        const key = row.row!
        if (isBehind(key, filter?.rowPrefix)) return
        const bytes = row.value(headColumn)!
        const id = storedRecordId(key, what)
        if (isDeletedHead(bytes, id)) continue
        if (filter?.test(id, decodeHead(bytes, id)) === false) continue
        yield viewOf(context, id, bytes, wanted)
        if (--left <= 0) return
      }
      batchRows = Math.min(batchRows * 2, rowsMost)
    }
  } finally {
    rows.close()
  }
}

/** Whether a row sorts after all rows with a prefix. */
function isBehind(row: Buffer, prefix: Buffer | undefined): boolean {
  return prefix !== undefined && Buffer.compare(row.subarray(0, prefix.length), prefix) > 0
}

/**
 * Scans records. Invalid arguments throw `ERR_INVALID_ARGUMENT` at the call, before the first read.
 */
export function scanRecords(
  context: TableContext,
  given: RecordScan = {},
): AsyncGenerator<StoredRecord, void> {
  context.checkOpen()
  const scan = checkScan(given)
  const { schema } = context
  const filter = scan.filter === undefined ? undefined : prepareFilter(scan.filter, schema)
  const wanted = wantedFields(schema, scan.fields)
  const { signal, limit = Infinity } = scan
  const [startRow, stopRow] = [rowOf(scan.startId), rowOf(scan.stopId)]
  const isOne = startRow !== undefined && stopRow?.equals(startRow) === true
  const prefix = startRow === undefined && stopRow === undefined ? filter?.rowPrefix : undefined
  const range = { startRow, stopRow, stopInclusive: isOne }
  const rows: Scan = {
    columns: [headColumn],
    signal,
    ...(prefix === undefined ? range : { prefix }),
  }
  return scanned(context, rows, limit, filter, wanted)
}
