/**
 * Scans of record tables in the order of the ids. A scan reads the newest version of each record.
 */
import {
  checkArray,
  checkSignal,
  OptionNames,
  readArguments,
  shown,
} from '../../../../api/index.js'
import { invalidArgument } from '../../errors.js'
import { RecordId, type RecordIdLike } from '../../record-id.js'
import type { SchemaCache } from '../../schema/schema-cache.js'
import { isBytes } from '../../value-kinds.js'
import { prepareFilter, type PreparedFilter, type RecordFilter } from './record-filters.js'
import type { StoredRecord } from '../record.js'
import { decodeHead, headColumn, isDeletedHead } from '../record-state.js'
import type { WantedFields } from './record-view.js'
import type { TableContext } from '../table-context.js'

/** Range, filter and fields of a scan. */
export interface RecordScan {
  /** First id, which need not exist. Bytes are taken as a row. */
  readonly startId?: RecordIdLike | Uint8Array | undefined
  /** End of the scan, exclusive. If it equals the start, the scan returns that one record. */
  readonly stopId?: RecordIdLike | Uint8Array | undefined
  /** Filter of the records. Default: all records pass. */
  readonly filter?: RecordFilter | undefined
  /**
   * Fields to return: their names, `'all'` (the default) or `'none'`. Types are always returned.
   */
  readonly fields?: readonly string[] | 'all' | 'none' | undefined
  /** Limit of records. Default: none. */
  readonly limit?: number | undefined
  /** Aborts the scan with `ERR_ABORTED`. */
  readonly signal?: AbortSignal | undefined
}

const names = new OptionNames<RecordScan>('a scan of records', {
  startId: true,
  stopId: true,
  filter: true,
  fields: true,
  limit: true,
  signal: true,
})

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

/** Range and limit of a scan, fixed at the call. */
interface Span {
  readonly startRow: Buffer | undefined
  readonly stopRow: Buffer | undefined
  readonly signal: AbortSignal | undefined
  readonly limit: number | undefined
}

/** Yields the records that pass the filter. */
async function* scanned(
  context: TableContext,
  { startRow, stopRow, signal, limit = Infinity }: Span,
  filter: PreparedFilter | undefined,
  wanted: WantedFields,
): AsyncGenerator<StoredRecord, void> {
  const isOne = startRow !== undefined && stopRow?.equals(startRow) === true
  const prefix = startRow === undefined && stopRow === undefined ? filter?.rowPrefix : undefined
  const span = {
    ...(startRow === undefined ? {} : { startRow }),
    ...(stopRow === undefined ? {} : { stopRow, stopInclusive: isOne }),
  }
  const rows = context.table.scan({
    columns: [headColumn],
    ...(prefix === undefined ? span : { prefix }),
    ...(signal === undefined ? {} : { signal }),
  })
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
        if (isDeletedHead(bytes)) continue
        const id = RecordId.fromBytes(key)
        if (filter?.test(id, decodeHead(bytes)) === false) continue
        yield context.views.newest(id, bytes, wanted)
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

/** Checks the options of a scan and copies them. `ERR_INVALID_ARGUMENT`. */
export function checkScan(given: RecordScan): RecordScan {
  return readArguments(() => {
    const scan = names.copy(given)
    const { limit } = scan
    if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 0)) {
      throw invalidArgument(`limit must be a whole number, got ${shown(limit)}`)
    }
    checkSignal(scan.signal)
    return scan
  })
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
  const { startId, stopId, signal, limit } = scan
  const span = { startRow: rowOf(startId), stopRow: rowOf(stopId), signal, limit }
  return scanned(context, span, filter, wanted)
}
