/**
 * The structs of HBase's Thrift2 service, by field number. One table stands in place of generated
 * code: `codec.ts` reads and writes any struct by its description.
 */

/** The type of a field. */
export type FieldType =
  | 'bool'
  | 'byte'
  | 'i16'
  | 'i32'
  | 'i64'
  /** Bytes, or text as UTF-8 when written; a Buffer when read. */
  | 'binary'
  | StructType
  | { readonly list: FieldType }
  /** A Map whose keys are text of the bytes, as latin1. */
  | { readonly map: FieldType }

/** A struct: its fields by number, each with its name. */
export interface StructType {
  readonly fields: readonly Field[]
  readonly byId: readonly (Field | undefined)[]
}

/** A field of a struct. */
export interface Field {
  readonly id: number
  readonly name: string
  readonly type: FieldType
}

/** A struct as an object; absent members are not written. */
export type Struct = Readonly<Record<string, unknown>>

/** Describes a struct by `number: [name, type]`. */
export function struct(
  described: Readonly<Record<number, readonly [string, FieldType]>>,
): StructType {
  const fields = Object.entries(described).map(([id, [name, type]]): Field => {
    return { id: Number(id), name, type }
  })
  const byId: (Field | undefined)[] = []
  for (const field of fields) byId[field.id] = field
  return { fields, byId }
}

const attributes: FieldType = { map: 'binary' }

/** A column, or a family without `qualifier`. */
export const column = struct({
  1: ['family', 'binary'],
  2: ['qualifier', 'binary'],
  3: ['timestamp', 'i64'],
})

/** A cell. */
export const columnValue = struct({
  1: ['family', 'binary'],
  2: ['qualifier', 'binary'],
  3: ['value', 'binary'],
  4: ['timestamp', 'i64'],
  6: ['type', 'byte'],
})

/** A time range `[minStamp, maxStamp)`. */
export const timeRange = struct({ 1: ['minStamp', 'i64'], 2: ['maxStamp', 'i64'] })

/** The cells of a row, or of a part of it. */
export const result = struct({
  1: ['row', 'binary'],
  2: ['columnValues', { list: columnValue }],
  4: ['partial', 'bool'],
})

/** A get. */
export const get = struct({
  1: ['row', 'binary'],
  2: ['columns', { list: column }],
  4: ['timeRange', timeRange],
  5: ['maxVersions', 'i32'],
  6: ['filterString', 'binary'],
  11: ['cacheBlocks', 'bool'],
  12: ['storeLimit', 'i32'],
  13: ['storeOffset', 'i32'],
  14: ['existenceOnly', 'bool'],
  15: ['filterBytes', 'binary'],
})

/** A put. */
export const put = struct({
  1: ['row', 'binary'],
  2: ['columnValues', { list: columnValue }],
  5: ['attributes', attributes],
  6: ['durability', 'i32'],
})

/** A delete; one kind for all its columns. */
export const deletion = struct({
  1: ['row', 'binary'],
  2: ['columns', { list: column }],
  3: ['timestamp', 'i64'],
  4: ['deleteType', 'i32'],
  7: ['durability', 'i32'],
})

/** An increment. */
export const increment = struct({
  1: ['row', 'binary'],
  2: [
    'columns',
    { list: struct({ 1: ['family', 'binary'], 2: ['qualifier', 'binary'], 3: ['amount', 'i64'] }) },
  ],
  4: ['attributes', attributes],
  5: ['durability', 'i32'],
  7: ['returnResults', 'bool'],
})

/** An append. */
export const append = struct({
  1: ['row', 'binary'],
  2: ['columns', { list: columnValue }],
  3: ['attributes', attributes],
  4: ['durability', 'i32'],
  6: ['returnResults', 'bool'],
})

/** A scan. */
export const scan = struct({
  1: ['startRow', 'binary'],
  2: ['stopRow', 'binary'],
  3: ['columns', { list: column }],
  4: ['caching', 'i32'],
  5: ['maxVersions', 'i32'],
  6: ['timeRange', timeRange],
  7: ['filterString', 'binary'],
  8: ['batchSize', 'i32'],
  11: ['reversed', 'bool'],
  12: ['cacheBlocks', 'bool'],
  13: ['familyTimeRanges', { map: timeRange }],
  14: ['readType', 'i32'],
  15: ['limit', 'i32'],
  18: ['filterBytes', 'binary'],
})

/** A put or a delete, of which one member is set. */
export const mutation = struct({ 1: ['put', put], 2: ['deleteSingle', deletion] })

/** Mutations of one row. */
export const rowMutations = struct({ 1: ['row', 'binary'], 2: ['mutations', { list: mutation }] })

/** Namespace and name of a table. */
export const tableName = struct({ 1: ['ns', 'binary'], 2: ['qualifier', 'binary'] })

/** A column family. */
export const family = struct({
  1: ['name', 'binary'],
  2: ['attributes', attributes],
  3: ['configuration', { map: 'binary' }],
  4: ['blockSize', 'i32'],
  5: ['bloomFilterType', 'i32'],
  6: ['compressionType', 'i32'],
  7: ['dfsReplication', 'i16'],
  8: ['dataBlockEncoding', 'i32'],
  9: ['keepDeletedCells', 'i32'],
  10: ['maxVersions', 'i32'],
  11: ['minVersions', 'i32'],
  12: ['scope', 'i32'],
  13: ['timeToLive', 'i32'],
  14: ['blockCacheEnabled', 'bool'],
  15: ['cacheBloomsOnWrite', 'bool'],
  16: ['cacheDataOnWrite', 'bool'],
  17: ['cacheIndexesOnWrite', 'bool'],
  18: ['compressTags', 'bool'],
  19: ['evictBlocksOnClose', 'bool'],
  20: ['inMemory', 'bool'],
})

/** A table with its families. */
export const tableDescriptor = struct({
  1: ['tableName', tableName],
  2: ['columns', { list: family }],
  3: ['attributes', attributes],
  4: ['durability', 'i32'],
})

/** A namespace. */
export const namespace = struct({ 1: ['name', 'binary'], 2: ['configuration', { map: 'binary' }] })
