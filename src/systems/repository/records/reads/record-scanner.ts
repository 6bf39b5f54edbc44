/**
 * Scans of record tables in the order of the ids, and their filters. A scan reads the newest
 * version of each record.
 */
import {
  checkArray,
  checked,
  checkObject,
  checkSignal,
  checkText,
  declareOptions,
  integer,
  readArguments,
  unchecked,
  type CompareOperator,
  type OptionsOf,
  type Scan,
} from '../../../../api/index.js'
import { RecordId, storedRecordId, type RecordIdLike } from '../../record-id.js'
import type { SchemaCache } from '../../schema/schema-cache.js'
import { isBytes } from '../../value-kinds.js'
import {
  decodeHead,
  headColumn,
  isDeletedHead,
  newestCell,
  type RecordState,
} from '../record-state.js'
import { checkVersion, type StoredRecord } from '../record.js'
import type { TableContext } from '../table-context.js'
import { viewOf, type WantedFields } from './record-heads.js'
import { invalidArgument } from '../../errors.js'
import { comparison, operatorOption } from '../field-values.js'

/** The declaration of {@link RecordScan}. */
export const scanOptions = declareOptions('a scan of records', {
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
        // After all rows with the prefix.
        const { rowPrefix: prefix } = filter ?? {}
        if (prefix && Buffer.compare(key.subarray(0, prefix.length), prefix) > 0) return
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

/**
 * Scans records. Invalid arguments throw `ERR_INVALID_ARGUMENT` at the call, before the first read.
 */
export function scanRecords(
  context: TableContext,
  given: RecordScan = {},
): AsyncGenerator<StoredRecord, void> {
  context.checkOpen()
  const scan = scanOptions.read(given)
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

/** A filter of a record scan. It sees all fields, not only the returned ones. */
export type RecordFilter =
  /** Ids whose bytes begin with the bytes of this one, also longer ids with the same beginning. */
  | {
      /** An id; its bytes are the prefix. */
      readonly idPrefix: RecordIdLike
    }
  /** The variants of a master with exactly these properties; null = any value. */
  | {
      /** The master. */
      readonly variantsOf: RecordIdLike
      /** Variant properties by name; null = any value. Default: the master alone. */
      readonly dimensions?: Readonly<Record<string, string | null>> | undefined
    }
  /** Records of a type, optionally of one version of the type. */
  | {
      /** Name of the record type. */
      readonly recordType: string
      /** Version of the record type; default any. */
      readonly version?: number | undefined
    }
  /** Records of a type and its subtypes. */
  | {
      /** Name of the record type. */
      readonly instanceOf: string
    }
  /** Compares the newest value of a field. */
  | {
      /** Name of the field. */
      readonly field: string
      /** Default `EQUAL`. */
      readonly operator?: CompareOperator | undefined
      /** The right operand of the comparison. */
      readonly value: unknown
      /** Whether records without the field are left out. Default true. */
      readonly filterIfMissing?: boolean | undefined
    }
  | {
      /** All of these hold; an empty list holds. */
      readonly all: readonly RecordFilter[]
    }
  | {
      /** One of these holds; an empty list does not hold. */
      readonly any: readonly RecordFilter[]
    }

type RecordTest = (id: RecordId, state: RecordState) => boolean

/** A filter ready for use, with the common prefix of the rows that can pass, if there is one. */
export interface PreparedFilter {
  readonly test: RecordTest
  readonly rowPrefix?: Buffer | undefined
}

const depthMax = 100

/** Checks the form of a filter and of its parts at every depth. `ERR_INVALID_ARGUMENT`. */
export function checkFilter(filter: RecordFilter, depth = 0): RecordFilter {
  checkObject(filter, 'a filter')
  if (depth >= depthMax) throw invalidArgument(`filters nest ${depthMax} deep at most`)
  const parts = 'all' in filter ? filter.all : 'any' in filter ? filter.any : []
  for (const part of checkArray(parts, 'the parts of a filter')) checkFilter(part, depth + 1)
  if ('variantsOf' in filter) {
    const wanted = Object.values(checkObject(filter.dimensions ?? {}, 'the dimensions of a filter'))
    for (const each of wanted) if (each !== null) checkText(each, 'a dimension of a filter')
  } else if ('recordType' in filter) {
    if (filter.version !== undefined) checkVersion(filter.version)
  } else if ('field' in filter) {
    operatorOption.read(filter.operator, 'operator')
    if (typeof (filter.filterIfMissing ?? true) !== 'boolean') {
      throw invalidArgument('filterIfMissing must be true or false')
    }
  }
  return filter
}

/**
 * Prepares a filter. `ERR_INVALID_ARGUMENT`, `ERR_FIELD_TYPE_NOT_FOUND`,
 * `ERR_RECORD_TYPE_NOT_FOUND`.
 */
export function prepareFilter(filter: RecordFilter, schema: SchemaCache): PreparedFilter {
  return readArguments(() => prepared(checkFilter(filter), schema))
}

function prepared(filter: RecordFilter, schema: SchemaCache): PreparedFilter {
  if ('all' in filter) {
    const parts = filter.all.map((each) => prepared(each, schema))
    const rowPrefix = parts.find((part) => part.rowPrefix !== undefined)?.rowPrefix
    return { test: (id, state) => parts.every(({ test }) => test(id, state)), rowPrefix }
  }
  if ('any' in filter) {
    const parts = filter.any.map((each) => prepared(each, schema))
    return { test: (id, state) => parts.some(({ test }) => test(id, state)) }
  }
  if ('idPrefix' in filter) {
    const rowPrefix = RecordId.of(filter.idPrefix).bytes
    const test: RecordTest = ({ bytes }) => bytes.subarray(0, rowPrefix.length).equals(rowPrefix)
    return { test, rowPrefix }
  }
  if ('variantsOf' in filter) return variantFilter(filter.variantsOf, filter.dimensions ?? {})
  if ('instanceOf' in filter) {
    const { id } = schema.recordType(filter.instanceOf)
    const ids = schema.subtypes(id).add(id)
    return { test: (_, { type }) => ids.has(schema.recordTypeAt(type.ordinal)?.id ?? '') }
  }
  if ('recordType' in filter) {
    const { ordinal } = schema.recordType(filter.recordType)
    const { version } = filter
    return {
      test: (_, { type }) => {
        return type.ordinal === ordinal && (version === undefined || type.version === version)
      },
    }
  }
  if ('field' in filter) return { test: fieldTest(filter, schema) }
  throw invalidArgument(
    `a filter has one of the known forms, got the names ${Object.keys(filter).slice(0, 10).join(', ')}`,
  )
}

function variantFilter(
  masterLike: RecordIdLike,
  dimensions: Readonly<Record<string, string | null>>,
): PreparedFilter {
  const { master } = RecordId.of(masterLike)
  const wanted = Object.entries(dimensions)
  const test: RecordTest = (id) => {
    const properties = id.variantProperties
    return (
      id.master.equals(master) &&
      Object.keys(properties).length === wanted.length &&
      wanted.every(([name, value]) => {
        const own = Object.hasOwn(properties, name) ? properties[name] : undefined
        return own !== undefined && (value === null || own === value)
      })
    )
  }
  return { test, rowPrefix: master.bytes }
}

function fieldTest(
  filter: Extract<RecordFilter, { readonly field: string }>,
  schema: SchemaCache,
): RecordTest {
  const { field: name, operator = 'EQUAL', value, filterIfMissing = true } = filter
  const field = schema.field(name)
  const compares = comparison(field, operator, value, schema)
  return (_, state) => {
    const cell = newestCell(state, field.ordinal)
    return cell === undefined ? !filterIfMissing : compares(cell.value)
  }
}
