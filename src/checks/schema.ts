/**
 * Checks the options of tables and families, as HBase's sanity checker does. Options keep their
 * public form: a description has every option, with defaults filled in.
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
} from '../base/arguments.js'
import { CellarError, ErrorCode, invalidArgument } from '../base/errors.js'
import { checkFamilyName, rowBytesMax } from '../storage/cell/limits.js'
import { checkPolicyFamily } from '../storage/compaction/choose-policy.js'
import { defaultCompaction, parseCompaction } from '../storage/compaction/setting.js'
import type {
  FamilyOptions,
  TableAlteration,
  TableDescription,
  TableOptions,
} from '../api/schema.js'
import { checkForm } from './forms.js'

/** All options of a family. */
export type FamilyDescription = Required<FamilyOptions>

const kibibyte = 1024
const blockBytesMin = kibibyte
const blockBytesMax = 16 * kibibyte * kibibyte
/** HBase's "forever" in seconds. */
const int32Max = 2_147_483_647

const codecNames = ['NONE', 'LZ4', 'GZ', 'ZSTD'] as const
const durabilities = ['SKIP_WAL', 'ASYNC_WAL', 'SYNC_WAL', 'FSYNC_WAL'] as const
/** The options of a column family. */
export const familyNames = new OptionNames<FamilyOptions>('a column family', {
  versions: true,
  minVersions: true,
  ttlMilliseconds: true,
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
/** The options of a table. */
export const tableNames = new OptionNames<TableOptions>('a table', {
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

/** HBase's defaults, except for smaller blocks and LZ4, which suit an embedded store. */
export const defaultFamily: FamilyDescription = {
  versions: 1,
  minVersions: 0,
  ttlMilliseconds: Infinity,
  keepDeletedCells: false,
  newVersionBehavior: false,
  timeToPurgeDeletesMilliseconds: 0,
  bloomFilter: 'ROW',
  blockBytes: 8 * kibibyte,
  compression: 'LZ4',
  blockCache: true,
  compaction: defaultCompaction,
  rowPrefixBytes: 0,
  inMemory: false,
  mob: false,
  mobThreshold: 100 * kibibyte,
  metadata: {},
}

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
  return integerOption(ttl, `${what} ttlMilliseconds`, 1, Number.MAX_SAFE_INTEGER)
}

function parseKeepDeleted(value: unknown, what: string): boolean | 'TTL' {
  if (value === 'TTL') return 'TTL'
  return booleanOption(value, `${what} keepDeletedCells`)
}

/** The check of each option; it gets the name of the family for its message. */
type Checks = {
  readonly [Name in keyof FamilyDescription]: (
    value: unknown,
    what: string,
  ) => FamilyDescription[Name]
}

const integers =
  (name: keyof FamilyDescription, min: number, max: number) =>
  (value: unknown, what: string): number =>
    integerOption(value, `${what} ${name}`, min, max)

const booleans =
  (name: keyof FamilyDescription) =>
  (value: unknown, what: string): boolean =>
    booleanOption(value, `${what} ${name}`)

const familyChecks: Checks = {
  versions: integers('versions', 1, int32Max),
  minVersions: integers('minVersions', 0, int32Max),
  ttlMilliseconds: parseTtl,
  keepDeletedCells: parseKeepDeleted,
  newVersionBehavior: booleans('newVersionBehavior'),
  timeToPurgeDeletesMilliseconds: integers(
    'timeToPurgeDeletesMilliseconds',
    0,
    Number.MAX_SAFE_INTEGER,
  ),
  bloomFilter: (value, what) => checkChoice(value, `${what} bloomFilter`, bloomFilters),
  blockBytes: integers('blockBytes', blockBytesMin, blockBytesMax),
  compression: (value, what) => checkChoice(value, `${what} compression`, codecNames),
  blockCache: booleans('blockCache'),
  compaction: (value) => parseCompaction(value),
  rowPrefixBytes: integers('rowPrefixBytes', 0, rowBytesMax),
  inMemory: booleans('inMemory'),
  mob: booleans('mob'),
  mobThreshold: integers('mobThreshold', 0, int32Max),
  metadata: parseMetadata,
}

/** The description of a family: `options`, and for missing ones the values of `base`. */
export function describeFamilyOptions(
  name: string,
  options: FamilyOptions,
  base: FamilyDescription = defaultFamily,
): FamilyDescription {
  const what = `column family '${name}':`
  checkFamilyName(name)
  options = familyNames.copy(
    checkObject(options, `options of column family '${name}'`, '{ versions: 3 }'),
  )
  const checked = Object.entries(familyChecks).map(([option, check]) => {
    const value = options[option as keyof FamilyOptions]
    return [option, value === undefined ? base[option as keyof FamilyOptions] : check(value, what)]
  })
  const description = Object.fromEntries(checked) as FamilyDescription
  checkTogether(description, what)
  return description
}

/** Checks options that depend on each other. */
function checkTogether(family: FamilyDescription, what: string): void {
  const { minVersions, versions, keepDeletedCells, bloomFilter, rowPrefixBytes } = family
  if (minVersions > versions) {
    throw invalidArgument(`${what} minVersions ${minVersions} is above versions ${versions}`)
  }
  // HBase accepts both. Then it counts deleted versions, so that compactions drop visible ones.
  if (family.newVersionBehavior && keepDeletedCells !== false) {
    throw invalidArgument(`${what} newVersionBehavior and keepDeletedCells exclude each other`)
  }
  if ((bloomFilter === 'ROWPREFIX_FIXED_LENGTH') !== rowPrefixBytes > 0) {
    throw invalidArgument(
      `${what} the bloom filter ROWPREFIX_FIXED_LENGTH, and no other, needs rowPrefixBytes`,
    )
  }
  const { policy } = parseCompaction(family.compaction)
  checkPolicyFamily(policy, { ttlMilliseconds: family.ttlMilliseconds, minVersions })
}

function parseMetadata(metadata: unknown, what: string): Readonly<Record<string, string>> {
  const entries = Object.entries(checkObject(metadata as object, `${what} metadata`))
  for (const [name, value] of entries) {
    if (typeof value !== 'string') throw invalidArgument(`${what} metadata '${name}' is no string`)
  }
  // An assignment to the name `__proto__` would not create a member.
  return Object.fromEntries(entries)
}

/** The options of a table, without its families and coprocessors. */
export type TableSettingsDescription = Omit<TableDescription, 'name' | 'families' | 'coprocessors'>

/** The defaults of a table, which are HBase's. */
export const defaultTable: TableSettingsDescription = {
  durability: 'SYNC_WAL',
  readOnly: false,
  flushBytes: Infinity,
  metadata: {},
}

function describeSettings(
  options: TableAlteration,
  base: TableSettingsDescription,
): TableSettingsDescription {
  const { flushBytes, metadata, durability, readOnly } = options
  return {
    flushBytes:
      flushBytes === undefined || flushBytes === Infinity
        ? (flushBytes ?? base.flushBytes)
        : integerOption(flushBytes, 'flushBytes', flushBytesMin, Number.MAX_SAFE_INTEGER),
    metadata: metadata === undefined ? base.metadata : parseMetadata(metadata, 'table'),
    durability:
      durability === undefined
        ? base.durability
        : checkChoice(durability, 'durability', durabilities),
    readOnly: readOnly === undefined ? base.readOnly : booleanOption(readOnly, 'readOnly'),
  }
}

/** A table with checked options and parsed coprocessors. */
export interface DescribedTable<C> {
  readonly families: readonly { readonly name: string; readonly options: FamilyDescription }[]
  readonly settings: TableSettingsDescription
  /** Undefined: the options do not mention coprocessors. */
  readonly coprocessors: C | undefined
}

/** Checks the options of a new table. `parseCoprocessors` checks its list of coprocessors. */
export function describeNewTable<C>(
  name: string,
  options: TableOptions,
  parseCoprocessors: (list: unknown) => C,
): DescribedTable<C> {
  return readArguments(() => {
    const given = tableNames.copy(checkForm(options, 'table options'))
    const entries = Object.entries(checkForm(given.families, 'families of a table'))
    if (entries.length === 0) throw invalidArgument(`table '${name}' needs at least one family`)
    const families = entries.map(([family, familyOptions]) => {
      return { name: family, options: describeFamilyOptions(family, familyOptions) }
    })
    const settings = describeSettings(given, defaultTable)
    return { families, settings, coprocessors: coprocessorsOf(given, parseCoprocessors) }
  })
}

/** Checks an alteration of a table. Families that stay come first, in their order. */
export function describeAlteration<C>(
  table: TableDescription,
  alteration: TableAlteration,
  parseCoprocessors: (list: unknown) => C,
): DescribedTable<C> {
  return readArguments(() => {
    const given = alterationNames.copy(alteration)
    const families = alteredFamilies(table, given)
    const settings = describeSettings(given, table)
    return { families, settings, coprocessors: coprocessorsOf(given, parseCoprocessors) }
  })
}

function coprocessorsOf<C>(
  { coprocessors }: TableAlteration,
  parse: (list: unknown) => C,
): C | undefined {
  return coprocessors === undefined ? undefined : parse(coprocessors)
}

function alteredFamilies(
  table: TableDescription,
  alteration: TableAlteration,
): { name: string; options: FamilyDescription }[] {
  const dropped = checkArray(alteration.dropFamilies ?? [], 'dropFamilies')
  for (const name of dropped) {
    checkText(name, 'a name of dropFamilies')
    if (Object.hasOwn(table.families, name)) continue
    const message = `table '${table.name}' has no column family '${name}' to drop`
    throw new CellarError(ErrorCode.noSuchColumnFamily, message)
  }
  const added = checkForm(alteration.families ?? {}, 'families of an alteration')
  const changes = new Map(Object.entries(added))
  const families: { name: string; options: FamilyDescription }[] = []
  for (const [name, before] of Object.entries(table.families)) {
    if (dropped.includes(name)) continue
    const change = changes.get(name)
    changes.delete(name)
    const options = change === undefined ? before : describeFamilyOptions(name, change, before)
    families.push({ name, options })
  }
  for (const [name, options] of changes) {
    if (dropped.includes(name)) throw invalidArgument(`family '${name}' is added and dropped`)
    families.push({ name, options: describeFamilyOptions(name, options) })
  }
  if (families.length === 0) {
    throw invalidArgument(`table '${table.name}' would be without families`)
  }
  return families
}
