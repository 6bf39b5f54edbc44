/**
 * Descriptions of tables as structs of the Thrift2 service, and back.
 *
 * Options that callers leave out are HBase's: blocks of 64 KiB without compression. Options of a
 * family or table that only HBase has survive an alteration.
 */
import { isDeepStrictEqual } from 'node:util'
import { invalidArgument } from '../../base/errors.js'
import type {
  FamilyDescription,
  FamilyOptions,
  TableDescription,
  TableOptions,
} from '../../api/index.js'
import { familyOptions, tableOptions } from '../../api/schema.js'
import { checkForm } from '../../checks/forms.js'
import type { DescribedTable } from '../../checks/schema.js'
import { defaultNamespace, namespaceOf } from '../../storage/cell/limits.js'
import { defaultCompaction } from '../../storage/compaction/setting.js'
import { wrongAnswer } from './wire/errors.js'
import { refuse } from './capabilities.js'
import { notInThrift } from './refusals.js'
import type { Struct } from './wire/structs.js'

/** HBase's "forever" in seconds. */
const forever = 2_147_483_647
const kibibyte = 1024
const bloomFilters = ['NONE', 'ROW', 'ROWCOL', 'ROWPREFIX_FIXED_LENGTH'] as const
const compressions = { GZ: 1, NONE: 2, LZ4: 4, ZSTD: 6 } as const
const durabilities = ['USE_DEFAULT', 'SKIP_WAL', 'ASYNC_WAL', 'SYNC_WAL', 'FSYNC_WAL'] as const
const keepDeleted = [false, true, 'TTL'] as const

/** Names of options that have no field of their own. */
const names = {
  isMob: 'IS_MOB',
  mobThreshold: 'MOB_THRESHOLD',
  newVersionBehavior: 'NEW_VERSION_BEHAVIOR',
  purgeDeletes: 'hbase.hstore.time.to.purge.deletes',
  rowPrefixBytes: 'RowPrefixBloomFilter.prefix_length',
  readOnly: 'READONLY',
  flushBytes: 'MEMSTORE_FLUSHSIZE',
} as const

/** Names that HBase gives to options of its own, so that no metadata may have them. */
const reserved = /^([A-Z][A-Z0-9_]*|hbase\..*|coprocessor\$.*|RowPrefix.*)$/

/** Names and values as the codec reads them; names as latin1. */
type Attributes = ReadonlyMap<string, Buffer>

/** A family as the codec reads it. */
export interface FamilyStruct {
  readonly name?: Buffer
  readonly attributes?: Attributes
  readonly configuration?: Attributes
  readonly blockSize?: number
  readonly bloomFilterType?: number
  readonly compressionType?: number
  readonly keepDeletedCells?: number
  readonly maxVersions?: number
  readonly minVersions?: number
  readonly timeToLive?: number
  readonly blockCacheEnabled?: boolean
  readonly inMemory?: boolean
}

/** A table as the codec reads it. */
export interface TableStruct {
  readonly tableName?: { readonly ns?: Buffer; readonly qualifier?: Buffer }
  readonly columns?: readonly FamilyStruct[]
  readonly attributes?: Attributes
  readonly durability?: number
}

/** The name of a table as a struct. */
export function tableNameStruct(name: string): Struct {
  return { ns: namespaceOf(name), qualifier: name.slice(name.indexOf(':') + 1) }
}

/** The name in a struct. */
export function tableNameOf({ ns, qualifier }: NonNullable<TableStruct['tableName']>): string {
  const namespace = ns?.toString('utf8') ?? defaultNamespace
  if (qualifier === undefined) throw wrongAnswer('a table without name')
  const name = qualifier.toString('utf8')
  return namespace === defaultNamespace ? name : `${namespace}:${name}`
}

/** The options of a new table, with HBase's values for those of a family that are absent. */
export function withHBaseDefaults(options: TableOptions): TableOptions {
  const { families, ...rest } = tableOptions.check(checkForm(options, 'table options'))
  const entries = Object.entries(checkForm(families, 'families of a table'))
  return { ...rest, families: Object.fromEntries(entries.map(familyWithDefaults)) }
}

/** A family's options, with HBase's values for absent ones. */
export function familyWithDefaults([name, options]: [string, FamilyOptions]): [
  string,
  FamilyOptions,
] {
  const { compression = 'NONE', blockBytes = 64 * kibibyte, ...rest } = familyOptions.check(options)
  return [name, { ...rest, compression, blockBytes }]
}

/** Refuses coprocessors. For the checks of tables. */
export function refuseCoprocessors(list: unknown): void {
  if (!Array.isArray(list) || list.length > 0) refuse('coprocessors', 'a table with coprocessors')
}

/** The struct of a table; `before` is the stored one of an alteration. */
export function tableStruct(
  name: string,
  { families, settings }: DescribedTable<void>,
  before: TableStruct = {},
): Struct {
  const attributes = new Map<string, string | Buffer>(withoutMetadata(before.attributes))
  attributes.set(names.readOnly, String(settings.readOnly))
  if (settings.flushBytes !== Infinity) attributes.set(names.flushBytes, `${settings.flushBytes}`)
  addMetadata(attributes, settings.metadata)
  return {
    tableName: tableNameStruct(name),
    columns: families.map((family) => {
      const stored = before.columns?.find((each) => each.name?.toString('utf8') === family.name)
      return familyStruct(family.name, family.options, stored)
    }),
    attributes,
    durability: durabilities.indexOf(settings.durability),
  }
}

function familyStruct(name: string, family: FamilyDescription, before: FamilyStruct = {}): Struct {
  const { ttlMilliseconds, mob, newVersionBehavior } = family
  if (!isDeepStrictEqual(family.compaction, defaultCompaction)) throw notInThrift('compaction')
  if (ttlMilliseconds !== Infinity && ttlMilliseconds % 1000 !== 0) {
    throw invalidArgument(`the TTL of column family '${name}' must be whole seconds for HBase`)
  }
  const attributes = new Map<string, string | Buffer>(withoutMetadata(before.attributes))
  if (mob || attributes.has(names.isMob)) attributes.set(names.isMob, String(mob))
  if (mob) attributes.set(names.mobThreshold, String(family.mobThreshold))
  if (newVersionBehavior || attributes.has(names.newVersionBehavior)) {
    attributes.set(names.newVersionBehavior, String(newVersionBehavior))
  }
  addMetadata(attributes, family.metadata)
  const configuration = new Map<string, string | Buffer>(before.configuration)
  if (family.timeToPurgeDeletesMilliseconds > 0 || configuration.has(names.purgeDeletes)) {
    configuration.set(names.purgeDeletes, String(family.timeToPurgeDeletesMilliseconds))
  }
  if (family.rowPrefixBytes > 0) configuration.set(names.rowPrefixBytes, `${family.rowPrefixBytes}`)
  return {
    ...before,
    name,
    attributes,
    configuration,
    blockSize: family.blockBytes,
    bloomFilterType: bloomFilters.indexOf(family.bloomFilter),
    compressionType: compressions[family.compression],
    keepDeletedCells: keepDeleted.indexOf(family.keepDeletedCells),
    maxVersions: family.versions,
    minVersions: family.minVersions,
    timeToLive: ttlMilliseconds === Infinity ? forever : ttlMilliseconds / 1000,
    blockCacheEnabled: family.blockCache,
    inMemory: family.inMemory,
  }
}

/** The description in a struct. Throws `ERR_UNAVAILABLE` if parts are missing. */
export function descriptionOf(table: TableStruct): TableDescription {
  const { tableName, columns = [], attributes } = table
  if (tableName === undefined) throw wrongAnswer('a table without name')
  const flushBytes = textOf(attributes, names.flushBytes)
  const durability = durabilities[table.durability ?? 0] ?? 'USE_DEFAULT'
  return {
    name: tableNameOf(tableName),
    durability: durability === 'USE_DEFAULT' ? 'SYNC_WAL' : durability,
    readOnly: textOf(attributes, names.readOnly)?.toLowerCase() === 'true',
    flushBytes: flushBytes === undefined ? Infinity : Number.parseInt(flushBytes, 10),
    metadata: metadataOf(attributes),
    families: Object.fromEntries(
      columns.map((family) => [familyName(family), familyDescription(family)]),
    ),
  }
}

function familyName({ name }: FamilyStruct): string {
  if (name === undefined) throw wrongAnswer('a column family without name')
  return name.toString('utf8')
}

function familyDescription(family: FamilyStruct): FamilyDescription {
  const { attributes, configuration, timeToLive = forever } = family
  const isMob = textOf(attributes, names.isMob)?.toLowerCase() === 'true'
  const bloomFilter = bloomFilters[family.bloomFilterType ?? 1]
  const prefixBytes = Number(textOf(configuration, names.rowPrefixBytes) ?? 0)
  const isNew = textOf(attributes, names.newVersionBehavior)?.toLowerCase() === 'true'
  const given = {
    versions: family.maxVersions,
    minVersions: family.minVersions,
    ttlMilliseconds: timeToLive === forever ? Infinity : timeToLive * 1000,
    keepDeletedCells: keepDeleted[family.keepDeletedCells ?? 0],
    newVersionBehavior: isNew,
    timeToPurgeDeletesMilliseconds: Number(textOf(configuration, names.purgeDeletes) ?? 0),
    bloomFilter,
    rowPrefixBytes: bloomFilter === 'ROWPREFIX_FIXED_LENGTH' ? prefixBytes : 0,
    blockBytes: family.blockSize,
    blockCache: family.blockCacheEnabled,
    inMemory: family.inMemory,
    mob: isMob,
    mobThreshold: isMob ? Number(textOf(attributes, names.mobThreshold) ?? 102_400) : undefined,
    metadata: metadataOf(attributes),
  }
  return { ...familyOptions.read({}), ...defined(given), compression: compressionOf(family) }
}

/** A compression that the api does not know counts as none: it does not change any answer. */
function compressionOf({ compressionType }: FamilyStruct): FamilyDescription['compression'] {
  const known = Object.entries(compressions).find(([, code]) => code === compressionType)
  return (known?.[0] ?? 'NONE') as FamilyDescription['compression']
}

function defined<T extends object>(members: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> }
}

function textOf(attributes: Attributes | undefined, name: string): string | undefined {
  return attributes?.get(name)?.toString('utf8')
}

function metadataOf(attributes: Attributes | undefined): Record<string, string> {
  const metadata = Object.create(null) as Record<string, string>
  for (const [key, value] of attributes ?? []) {
    const name = Buffer.from(key, 'latin1').toString('utf8')
    if (!reserved.test(name)) metadata[name] = value.toString('utf8')
  }
  return { ...metadata }
}

function withoutMetadata(attributes: Attributes = new Map()): [string, Buffer][] {
  return [...attributes].filter(([key]) => reserved.test(Buffer.from(key, 'latin1').toString()))
}

function addMetadata(
  attributes: Map<string, string | Buffer>,
  metadata: Readonly<Record<string, string>>,
): void {
  for (const [name, value] of Object.entries(metadata)) {
    if (reserved.test(name)) {
      throw invalidArgument(
        `metadata '${name}' has the form of an option of HBase; choose another name`,
      )
    }
    attributes.set(Buffer.from(name, 'utf8').toString('latin1'), value)
  }
}
