/** Scans of record tables, in the order of the ids: the newest version of each record. */
import { checkArray, checkSignal, OptionNames, readArguments, shown } from '../../../../api/index.js'
import { invalidArgument } from '../../errors.js'
import { RecordId, type RecordIdLike } from '../../record-id.js'
import { isBytes } from '../../value-kinds.js'
import { prepareFilter, type PreparedFilter, type RecordFilter } from './record-filters.js'
import type { StoredRecord } from '../record.js'
import { decodeHead, headColumn, isDeletedHead } from '../record-state.js'
import type { WantedFields } from './record-view.js'
import type { TableContext } from '../table-context.js'

/** Which records a scan shows. */
export interface RecordScan {
  /** First id, which need not exist. Bytes are those of rows. */
  readonly startId?: RecordIdLike | Uint8Array | undefined
  /** Where to stop, exclusive. If it equals the start, the scan shows that one record. */
  readonly stopId?: RecordIdLike | Uint8Array | undefined
  /** Which records are shown. Default: all. */
  readonly filter?: RecordFilter | undefined
  /** Fields to return: their names, `'all'` (the default) or `'none'`. Types are always there. */
  readonly fields?: readonly string[] | 'all' | 'none' | undefined
  /** Most records. */
  readonly limit?: number | undefined
  /** Ends the scan with `ERR_ABORTED`. */
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

/** Rows of the first batch, and of the last one: each has twice as many as the one before. */
const rowsFirst = 8
const rowsMost = 128

function rowOf(id: RecordIdLike | Uint8Array | undefined): Buffer | undefined {
  if (id === undefined) return undefined
  return isBytes(id) ? Buffer.from(id) : RecordId.of(id).bytes
}

/** Numbers of the fields to return; undefined = all. `ERR_FIELD_TYPE_NOT_FOUND`. */
export function wantedFields({ schema }: TableContext, fields: RecordScan['fields']): WantedFields {
  if (fields === undefined || fields === 'all') return undefined
  if (fields === 'none') return new Set()
  return new Set(checkArray(fields, 'fields').map((name) => schema.field(name).ordinal))
}

/** Where a scan goes, as of its call. */
interface Span {
  readonly startRow: Buffer | undefined
  readonly stopRow: Buffer | undefined
  readonly signal: AbortSignal | undefined
  readonly limit: number | undefined
}

/** The records that pass. */
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
  // Rows by the batch: a promise for each of them costs more than the row.
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

/** Whether a row comes after all those with a prefix. */
function isBehind(row: Buffer, prefix: Buffer | undefined): boolean {
  return prefix !== undefined && Buffer.compare(row.subarray(0, prefix.length), prefix) > 0
}

/** Checks the options of a scan; a copy of them. `ERR_INVALID_ARGUMENT`. */
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

/** The records that pass. `ERR_INVALID_ARGUMENT` at once for arguments that cannot be. */
export function scanRecords(
  context: TableContext,
  given: RecordScan = {},
): AsyncGenerator<StoredRecord, void> {
  context.checkOpen()
  const scan = checkScan(given)
  const { schema } = context
  const filter = scan.filter === undefined ? undefined : prepareFilter(scan.filter, schema)
  const wanted = wantedFields(context, scan.fields)
  const { startId, stopId, signal, limit } = scan
  const span = { startRow: rowOf(startId), stopRow: rowOf(stopId), signal, limit }
  return scanned(context, span, filter, wanted)
}
