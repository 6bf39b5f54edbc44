/**
 * Checks the options of tables and families as HBase's sanity checker does (spec 1.4) and converts
 * them between the public form and the engine's.
 */
import {
  OptionNames,
  checkArray,
  checkBoolean,
  checkChoice,
  checkObject,
  checkText,
  readArguments,
  shown,
} from '../../base/arguments.js'
import { CellarError, ErrorCode, invalidArgument } from '../../base/errors.js'
import { checkFamilyName, rowBytesMax } from '../../cell/limits.js'
import type { CodecName } from '../../codec/codec.js'
import { checkPolicyFamily } from '../../compaction/choose-policy.js'
import { parseCompaction } from '../../compaction/setting.js'
import type { TableSettings, TableState } from '../../engine/catalog.js'
import {
  defaultFamilySettings,
  encodeFamilySettings,
  type FamilySettings,
} from '../../store/family-settings.js'
import type { FamilyDefinition, TableDefinition } from '../../version/catalog.js'
import type { JsonObject } from '../../version/json-fields.js'
import { parseTableCoprocessors } from '../observers/coprocessor-options.js'
import type {
  FamilyOptions,
  TableAlteration,
  TableDescription,
  TableOptions,
} from '../../api/index.js'

const kibibyte = 1024
const blockBytesMin = kibibyte
const blockBytesMax = 16 * kibibyte * kibibyte
/** HBase's "forever" in seconds. */
const foreverSeconds = 2_147_483_647

const codecNames: Readonly<Record<string, CodecName>> = {
  NONE: 'none',
  LZ4: 'lz4',
  GZ: 'gz',
  ZSTD: 'zstd',
}
const durabilities = ['SKIP_WAL', 'ASYNC_WAL', 'SYNC_WAL', 'FSYNC_WAL']
const familyNames = new OptionNames<FamilyOptions>('a column family', {
  versions: true,
  minVersions: true,
  ttl: true,
  keepDeletedCells: true,
  bloomFilter: true,
  blockBytes: true,
  compression: true,
  blockCache: true,
  compaction: true,
  newVersionBehavior: true,
  timeToPurgeDeletesMilliseconds: true,
  rowPrefixBytes: true,
  inMemory: true,
  mob: true,
  mobThreshold: true,
  metadata: true,
})
const tableNames = new OptionNames<TableOptions>('a table', {
  name: true,
  families: true,
  durability: true,
  readOnly: true,
  flushBytes: true,
  metadata: true,
  coprocessors: true,
})
const alterationNames = new OptionNames<TableAlteration>('an alteration', {
  name: true,
  families: true,
  dropFamilies: true,
  durability: true,
  readOnly: true,
  flushBytes: true,
  metadata: true,
  coprocessors: true,
})
const bloomFilters = ['NONE', 'ROW', 'ROWCOL', 'ROWPREFIX_FIXED_LENGTH'] as const
const flushBytesMin = 64 * kibibyte

function integerOption(value: unknown, what: string, min: number, max: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) {
    return value
  }
  throw invalidArgument(`${what} must be an integer of ${min} to ${max}, got ${shown(value)}`)
}

function booleanOption(value: unknown, what: string): boolean {
  return checkBoolean(value, what, false)
}

function parseTtl(ttl: unknown, what: string): number {
  if (ttl === Infinity) return Infinity
  const seconds = integerOption(ttl, `${what} ttl (seconds)`, 1, foreverSeconds)
  return seconds === foreverSeconds ? Infinity : seconds
}

function parseKeepDeleted(value: unknown, what: string): FamilySettings['keepDeletedCells'] {
  if (value === 'TTL') return 'TTL'
  return booleanOption(value, `${what} keepDeletedCells`) ? 'TRUE' : 'FALSE'
}

/** Settings of a family: `options` on top of `base`. */
export function parseFamilyOptions(
  name: string,
  options: FamilyOptions,
  base: FamilySettings = defaultFamilySettings,
): FamilySettings {
  const what = `column family '${name}':`
  checkFamilyName(name)
  options = familyNames.copy(checkObject(options, `options of column family '${name}'`))
  const given = <K extends keyof FamilyOptions>(key: K): boolean => options[key] !== undefined
  const settings: FamilySettings = {
    versions: given('versions')
      ? integerOption(options.versions, `${what} versions`, 1, foreverSeconds)
      : base.versions,
    minVersions: given('minVersions')
      ? integerOption(options.minVersions, `${what} minVersions`, 0, foreverSeconds)
      : base.minVersions,
    ttlSeconds: given('ttl') ? parseTtl(options.ttl, what) : base.ttlSeconds,
    keepDeletedCells: given('keepDeletedCells')
      ? parseKeepDeleted(options.keepDeletedCells, what)
      : base.keepDeletedCells,
    newVersionBehavior: given('newVersionBehavior')
      ? booleanOption(options.newVersionBehavior, `${what} newVersionBehavior`)
      : base.newVersionBehavior,
    timeToPurgeDeletesMilliseconds: given('timeToPurgeDeletesMilliseconds')
      ? integerOption(
          options.timeToPurgeDeletesMilliseconds,
          `${what} timeToPurgeDeletesMilliseconds`,
          0,
          Number.MAX_SAFE_INTEGER,
        )
      : base.timeToPurgeDeletesMilliseconds,
    bloomFilter: given('bloomFilter')
      ? checkChoice(options.bloomFilter, `${what} bloomFilter`, bloomFilters)
      : base.bloomFilter,
    blockBytes: given('blockBytes')
      ? integerOption(options.blockBytes, `${what} blockBytes`, blockBytesMin, blockBytesMax)
      : base.blockBytes,
    codec: given('compression')
      ? codecNames[checkChoice(options.compression, `${what} compression`, Object.keys(codecNames))]
      : base.codec,
    blockCache: given('blockCache')
      ? booleanOption(options.blockCache, `${what} blockCache`)
      : base.blockCache,
    compaction: given('compaction') ? parseCompaction(options.compaction) : base.compaction,
    rowPrefixBytes: given('rowPrefixBytes')
      ? integerOption(options.rowPrefixBytes, `${what} rowPrefixBytes`, 0, rowBytesMax)
      : base.rowPrefixBytes,
    inMemory: given('inMemory')
      ? booleanOption(options.inMemory, `${what} inMemory`)
      : base.inMemory,
    mob: given('mob') ? booleanOption(options.mob, `${what} mob`) : base.mob,
    mobThreshold: given('mobThreshold')
      ? integerOption(options.mobThreshold, `${what} mobThreshold`, 0, foreverSeconds)
      : base.mobThreshold,
    metadata: given('metadata') ? parseMetadata(options.metadata, what) : base.metadata,
  }
  checkTogether(settings, what)
  return settings
}

/** What single options cannot say. */
function checkTogether(settings: FamilySettings, what: string): void {
  const { minVersions, versions, keepDeletedCells, bloomFilter, rowPrefixBytes } = settings
  if (minVersions > versions) {
    throw invalidArgument(`${what} minVersions ${minVersions} is above versions ${versions}`)
  }
  // HBase takes both and then counts deleted versions, so that compactions drop visible ones.
  if (settings.newVersionBehavior && keepDeletedCells !== 'FALSE') {
    throw invalidArgument(`${what} newVersionBehavior and keepDeletedCells exclude each other`)
  }
  if ((bloomFilter === 'ROWPREFIX_FIXED_LENGTH') !== rowPrefixBytes > 0) {
    throw invalidArgument(
      `${what} the bloom filter ROWPREFIX_FIXED_LENGTH, and no other, needs rowPrefixBytes`,
    )
  }
  const ttlMilliseconds = settings.ttlSeconds * 1000
  checkPolicyFamily(settings.compaction.policy, { ttlMilliseconds, minVersions })
}

function parseMetadata(metadata: unknown, what: string): Readonly<Record<string, string>> {
  const entries = Object.entries(checkObject(metadata as object, `${what} metadata`))
  for (const [name, value] of entries) {
    if (typeof value !== 'string') throw invalidArgument(`${what} metadata '${name}' is no string`)
  }
  // Not by assignment, to which `__proto__` is no name like others.
  return Object.fromEntries(entries)
}

function parseTableSettings(options: TableAlteration, base: TableSettings): TableSettings {
  const { flushBytes, metadata } = options
  return {
    flushBytes:
      flushBytes === undefined || flushBytes === Infinity
        ? (flushBytes ?? base.flushBytes)
        : integerOption(flushBytes, 'flushBytes', flushBytesMin, Number.MAX_SAFE_INTEGER),
    metadata: metadata === undefined ? base.metadata : parseMetadata(metadata, 'table'),
    durability:
      options.durability === undefined
        ? base.durability
        : (checkChoice(
            options.durability,
            'durability',
            durabilities,
          ) as TableSettings['durability']),
    readOnly:
      options.readOnly === undefined ? base.readOnly : booleanOption(options.readOnly, 'readOnly'),
    disabled: base.disabled,
    coprocessors:
      options.coprocessors === undefined
        ? base.coprocessors
        : parseTableCoprocessors(options.coprocessors),
  }
}

const defaultTableSettings: TableSettings = {
  durability: 'SYNC_WAL',
  readOnly: false,
  flushBytes: Infinity,
  metadata: {},
  disabled: false,
  coprocessors: [],
}

/** JSON has no Infinity: it is left out, and so are coprocessors if there are none. */
function asJson({ flushBytes, metadata, coprocessors, ...rest }: TableSettings): JsonObject {
  return {
    ...rest,
    metadata: { ...metadata },
    ...(flushBytes !== Infinity && { flushBytes }),
    ...(coprocessors.length > 0 && { coprocessors }),
  }
}

/** The definition of a new table. */
export function defineTable(
  name: string,
  options: TableOptions,
  allocateId: () => number,
): TableDefinition {
  const { parsed, settings } = readArguments(() => {
    const given = tableNames.copy(checkObject(options, 'table options'))
    const families = Object.entries(checkObject(given.families, 'families of a table'))
    if (families.length === 0) throw invalidArgument(`table '${name}' needs at least one family`)
    const parsed = families.map(([family, familyOptions]) => {
      return { family, settings: parseFamilyOptions(family, familyOptions) }
    })
    return { parsed, settings: parseTableSettings(given, defaultTableSettings) }
  })
  return {
    tableId: allocateId(),
    name,
    families: parsed.map((entry) => ({
      storeId: allocateId(),
      name: entry.family,
      options: encodeFamilySettings(entry.settings),
    })),
    options: asJson(settings),
  }
}

/** The definition of a table after an alteration. */
export function alterDefinition(
  table: TableState,
  alteration: TableAlteration,
  allocateId: () => number,
): TableDefinition {
  return readArguments(() => applyAlteration(table, alterationNames.copy(alteration), allocateId))
}

function applyAlteration(
  table: TableState,
  alteration: TableAlteration,
  allocateId: () => number,
): TableDefinition {
  const dropped = checkArray(alteration.dropFamilies ?? [], 'dropFamilies')
  for (const name of dropped) {
    checkText(name, 'a name of dropFamilies')
    if (table.familyByName.has(name)) continue
    const message = `table '${table.name}' has no column family '${name}' to drop`
    throw new CellarError(ErrorCode.noSuchColumnFamily, message)
  }
  const added = checkObject(alteration.families ?? {}, 'families of an alteration')
  const changes = new Map(Object.entries(added))
  const kept: FamilyDefinition[] = []
  for (const family of table.families) {
    if (dropped.includes(family.name)) continue
    const change = changes.get(family.name)
    changes.delete(family.name)
    const settings =
      change === undefined
        ? family.settings
        : parseFamilyOptions(family.name, change, family.settings)
    const options = encodeFamilySettings(settings)
    kept.push({ storeId: family.store.storeId, name: family.name, options })
  }
  for (const [name, options] of changes) {
    if (dropped.includes(name)) throw invalidArgument(`family '${name}' is added and dropped`)
    const settings = parseFamilyOptions(name, options)
    kept.push({ storeId: allocateId(), name, options: encodeFamilySettings(settings) })
  }
  if (kept.length === 0) throw invalidArgument(`table '${table.name}' would be without families`)
  const settings = parseTableSettings(alteration, table.settings)
  return { tableId: table.tableId, name: table.name, families: kept, options: asJson(settings) }
}

/** The public description of a table. */
export function describeTable(table: TableState): TableDescription {
  const families = table.families.map(({ name, settings }) => [name, describeFamily(settings)])
  const { coprocessors, durability, readOnly, flushBytes, metadata } = table.settings
  const description = {
    name: table.name,
    // Not by assignment, to which `__proto__` is no name like others.
    families: Object.fromEntries(families) as TableDescription['families'],
    durability,
    readOnly,
    flushBytes,
    metadata: { ...metadata },
  }
  return coprocessors.length === 0 ? description : { ...description, coprocessors }
}

function describeFamily(settings: FamilySettings): Required<FamilyOptions> {
  return {
    versions: settings.versions,
    minVersions: settings.minVersions,
    ttl: settings.ttlSeconds,
    keepDeletedCells:
      settings.keepDeletedCells === 'TTL' ? 'TTL' : settings.keepDeletedCells === 'TRUE',
    bloomFilter: settings.bloomFilter,
    blockBytes: settings.blockBytes,
    compression: settings.codec.toUpperCase() as Required<FamilyOptions>['compression'],
    blockCache: settings.blockCache,
    compaction: settings.compaction,
    newVersionBehavior: settings.newVersionBehavior,
    timeToPurgeDeletesMilliseconds: settings.timeToPurgeDeletesMilliseconds,
    rowPrefixBytes: settings.rowPrefixBytes,
    inMemory: settings.inMemory,
    mob: settings.mob,
    mobThreshold: settings.mobThreshold,
    metadata: { ...settings.metadata },
  }
}
