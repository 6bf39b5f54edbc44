/**
 * Mutations of a row as structs of the Thrift2 service. It has puts, deletes of one kind each, and
 * lists of both for one row; increments and appends stand alone.
 */
import { invalidArgument } from '../../base/errors.js'
import { toBytes } from '../../base/bytes.js'
import {
  type Append,
  type Delete,
  type DurabilityOption,
  type Increment,
  type Mutation,
  type Put,
  type RowOperation,
} from '../../api/index.js'
import { parseDurability } from '../../api/durability.js'
import { parseDelete, type NamedMarker } from '../../checks/deletes.js'
import { checkMutation, checkMutations } from '../../checks/operations.js'
import { checkValue, markerWithQualifier, readPut } from '../../checks/puts.js'
import { checkSameRow, rowBytes } from '../../checks/rows.js'
import {
  checkAmount,
  checkTail,
  columnsOfAppend,
  columnsOfIncrement,
  parseUpdate,
} from '../../checks/updates.js'
import { unescape } from '../../storage/cell/cell-key.js'
import { CellType, type CellTypeCode } from '../../storage/cell/cell-type.js'
import {
  parseSingleColumn,
  type BytesLike,
  type ColumnName,
} from '../../storage/cell/column-name.js'
import { cellOverheadBytes, checkCellBytes } from '../../storage/cell/limits.js'
import { checkTimestamp, latestTimestamp, type Timestamp } from '../../storage/cell/timestamp.js'
import { notInThrift } from './refusals.js'
import type { Struct } from './wire/structs.js'

/** Puts and deletes of one row as structs. */
export interface RowStructs {
  readonly row: Uint8Array
  /** Each `{ put }` or `{ deleteSingle }`. */
  readonly mutations: readonly Struct[]
  readonly families: readonly string[]
  /** Whether all cells have timestamps of their own, so that a repetition has no further effect. */
  readonly isRepeatable: boolean
}

/** An increment or append as a struct. */
export interface UpdateStruct {
  readonly struct: Struct
  readonly families: readonly string[]
}

const durabilities = {
  USE_DEFAULT: 0,
  SKIP_WAL: 1,
  ASYNC_WAL: 2,
  SYNC_WAL: 3,
  FSYNC_WAL: 4,
} as const

/** HBase's number of a durability; undefined for the default. */
export function durabilityCode(durability: DurabilityOption | undefined): number | undefined {
  if (durability === undefined || durability === 'USE_DEFAULT') return undefined
  return durabilities[parseDurability(durability, 'SYNC_WAL')]
}

/** HBase's numbers of the kinds of deletes, by the type of their markers. */
const deleteTypes: Readonly<Record<Exclude<CellTypeCode, typeof CellType.put>, number>> = {
  [CellType.delete]: 0,
  [CellType.deleteColumn]: 1,
  [CellType.deleteFamily]: 2,
  [CellType.deleteFamilyVersion]: 3,
}

/** A value of a put as a struct. */
interface ColumnValue extends Struct {
  readonly family: string
  readonly qualifier: Buffer
  readonly timestamp: Timestamp | undefined
}

/** A value of a put, and its TTL; 0 = none. */
interface PutValue {
  readonly ttl: number
  readonly columnValue: ColumnValue
}

/** Collects the structs of one row's puts and deletes. */
export class RowStructBuilder {
  readonly #row: Uint8Array
  readonly #durability: number | undefined
  readonly #cellBytesMax: number
  readonly #mutations: Struct[] = []
  readonly #families = new Set<string>()
  #isRepeatable = true

  constructor(row: BytesLike, durability: DurabilityOption | undefined, cellBytesMax: number) {
    this.#row = rowBytes(row)
    this.#durability = durabilityCode(durability)
    this.#cellBytesMax = cellBytesMax
  }

  build(): RowStructs {
    return {
      row: this.#row,
      mutations: this.#mutations,
      families: [...this.#families],
      isRepeatable: this.#isRepeatable,
    }
  }

  /** Adds the mutations of a list, each `{ put }` or `{ delete }`. */
  addAll(mutations: readonly Mutation[]): void {
    for (const mutation of checkMutations(mutations)) {
      checkMutation(mutation)
      if (mutation.put !== undefined) this.addPut(mutation.put)
      else if (mutation.delete !== undefined) this.addDelete(mutation.delete)
      else if (mutation.increment !== undefined || mutation.append !== undefined) {
        throw notInThrift('updateInRow')
      } else throw invalidArgument('a mutation is one of {put}, {delete}, {increment}, {append}')
    }
  }

  addPut(put: RowOperation<Put>): void {
    checkSameRow(this.#row, put)
    const values: PutValue[] = []
    const markers: NamedMarker[] = []
    readPut(put, {
      addCell: (column, _place, type, timestamp, ttl, value) => {
        const { family, escapedQualifier } = parseSingleColumn(column)
        const at = this.#timestamp(timestamp)
        if (type !== CellType.put) {
          if (type === CellType.delete && at === undefined) throw notInThrift('marker')
          markers.push({ type, family, escapedQualifier, timestamp: at })
          return
        }
        const qualifier = unescape(escapedQualifier, 0, escapedQualifier.length)
        values.push({ ttl, columnValue: this.#columnValue(family, qualifier, value, at) })
      },
    })
    for (const [ttl, columnValues] of byLifetime(values)) {
      this.#push('put', { columnValues, ...ttlMember(ttl === 0 ? undefined : ttl) })
    }
    this.#addMarkers(markers)
  }

  addDelete(deletion: RowOperation<Delete>): void {
    checkSameRow(this.#row, deletion)
    const { markers, versions, isWholeRow, timestamp } = parseDelete(deletion)
    if (isWholeRow) {
      this.#push('deleteSingle', { timestamp: this.#timestamp(timestamp) })
      return
    }
    const type = CellType.delete
    this.#addMarkers([
      ...markers,
      ...versions.map(({ family, escapedQualifier, timestamp: at }) => {
        return { type, family, escapedQualifier, timestamp: at }
      }),
    ])
  }

  /**
   * One delete for each kind of markers: the service has one kind in each. A second marker of a
   * family begins another delete, because HBase's `addFamily` forgets the first one.
   */
  #addMarkers(markers: readonly NamedMarker[]): void {
    const deletes = new Map<string, { deleteType: number; columns: Struct[] }>()
    const counts = new Map<string, number>()
    for (const { type, family, escapedQualifier, timestamp } of markers) {
      if (type === CellType.put) continue
      const ofFamily = type === CellType.deleteFamily || type === CellType.deleteFamilyVersion
      if (ofFamily && escapedQualifier.length > 0) throw markerWithQualifier()
      this.#families.add(family)
      const qualifier = ofFamily
        ? undefined
        : unescape(escapedQualifier, 0, escapedQualifier.length)
      const column = { family, qualifier, timestamp: this.#timestamp(timestamp) }
      const deleteType = deleteTypes[type]
      let before = 0
      if (type === CellType.deleteFamily) {
        before = counts.get(family) ?? 0
        counts.set(family, before + 1)
      }
      const place = `${deleteType} ${before}`
      const known = deletes.get(place)
      if (known === undefined) deletes.set(place, { deleteType, columns: [column] })
      else known.columns.push(column)
    }
    for (const each of deletes.values()) this.#push('deleteSingle', each)
  }

  #push(kind: 'put' | 'deleteSingle', members: Struct): void {
    this.#mutations.push({ [kind]: { row: this.#row, durability: this.#durability, ...members } })
  }

  #columnValue(
    family: string,
    qualifier: Buffer,
    value: BytesLike,
    timestamp: Timestamp | undefined,
  ): ColumnValue {
    checkValue(value)
    this.#families.add(family)
    const bytes = toBytes(value)
    const length = this.#row.length + Buffer.byteLength(family) + qualifier.length + bytes.length
    checkCellBytes(length + cellOverheadBytes, this.#cellBytesMax)
    return { family, qualifier, value: bytes, timestamp }
  }

  /** Checks a timestamp; undefined: HBase fills in its time. */
  #timestamp(timestamp: Timestamp | undefined): Timestamp | undefined {
    if (timestamp !== undefined) checkTimestamp(timestamp, 'timestamp')
    const own = timestamp === latestTimestamp ? undefined : timestamp
    if (own === undefined) this.#isRepeatable = false
    return own
  }
}

/**
 * The values of a put by their TTL, since the gateway takes one for each put. Of values of one
 * column and timestamp only the last is kept, which would not be the last one in another put.
 */
function byLifetime(values: readonly PutValue[]): Map<number, Struct[]> {
  const groups = new Map<number, Struct[]>()
  for (const { ttl } of values) groups.set(ttl, [])
  const last = new Map<string, PutValue>()
  if (groups.size > 1) for (const each of values) last.set(nameOf(each), each)
  for (const each of values) {
    const isLast = groups.size === 1 || last.get(nameOf(each)) === each
    if (isLast) groups.get(each.ttl)!.push(each.columnValue)
  }
  return new Map([...groups].filter(([, group]) => group.length > 0))
}

function nameOf({ columnValue: { family, qualifier, timestamp } }: PutValue): string {
  return `${family}:${qualifier.toString('latin1')}@${timestamp ?? ''}`
}

/** HBase's attribute for the TTL of cells: eight bytes, big-endian. */
function ttlMember(milliseconds: number | undefined): Struct {
  if (milliseconds === undefined) return {}
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(BigInt(milliseconds))
  return { attributes: new Map([['_ttl', bytes]]) }
}

/** An increment as a struct. */
export function incrementStruct(increment: Increment): UpdateStruct {
  const columns = columnsOfIncrement(increment).map(({ column, amount }) => {
    checkAmount(amount)
    return { ...columnParts(column), amount }
  })
  return updateStruct(increment, columns)
}

/** An append as a struct. */
export function appendStruct(append: Append, cellBytesMax: number): UpdateStruct {
  const row = rowBytes(append.row)
  const columns = columnsOfAppend(append).map(({ column, amount }) => {
    checkTail(amount)
    const { family, qualifier } = columnParts(column)
    const value = toBytes(amount)
    const length = row.length + Buffer.byteLength(family) + qualifier.length + value.length
    checkCellBytes(length + cellOverheadBytes, cellBytesMax)
    return { family, qualifier, value }
  })
  return updateStruct(append, columns)
}

function updateStruct(
  operation: Increment | Append,
  columns: readonly { readonly family: string }[],
): UpdateStruct {
  const row = rowBytes(operation.row)
  const { returnResults, timestamp } = parseUpdate(operation, () => undefined)
  if (operation.timeRange !== undefined || timestamp !== undefined) throw notInThrift('updateTime')
  const durability = durabilityCode(operation.durability)
  const ttl = ttlMember(operation.ttlMilliseconds)
  const struct = { row, columns, durability, returnResults, ...ttl }
  return { struct, families: columns.map(({ family }) => family) }
}

/** The family and the qualifier of a column. */
export function columnParts(column: ColumnName): { family: string; qualifier: Buffer } {
  const { family, escapedQualifier } = parseSingleColumn(column)
  return { family, qualifier: unescape(escapedQualifier, 0, escapedQualifier.length) }
}
