/**
 * Checks the options of tables and families, as HBase's sanity checker does. Options keep their
 * public form: a description has every option, with defaults filled in.
 */
import { checkObject, readArguments } from '../base/arguments.js'
import { CellarError, ErrorCode, invalidArgument } from '../base/errors.js'
import {
  alterationOptions,
  familyOptions,
  tableOptions,
  type FamilyDescription,
  type FamilyOptions,
  type TableAlteration,
  type TableDescription,
  type TableOptions,
  type TableSettingsDescription,
} from '../api/schema.js'
import { checkFamilyName } from '../storage/cell/limits.js'
import { checkPolicyFamily } from '../storage/compaction/choose-policy.js'
import { checkForm } from './forms.js'

/** The description of a family: `options`, and for missing ones the values of `base`. */
export function describeFamilyOptions(
  name: string,
  options: FamilyOptions,
  base?: FamilyDescription,
): FamilyDescription {
  const what = `column family '${name}':`
  checkFamilyName(name)
  familyOptions.check(checkObject(options, `options of column family '${name}'`, '{ versions: 3 }'))
  let description: FamilyDescription
  try {
    description = familyOptions.read(options, base)
  } catch (error) {
    if (!(error instanceof CellarError) || error.code !== ErrorCode.invalidArgument) throw error
    throw invalidArgument(`${what} ${error.message}`)
  }
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
  checkPolicyFamily(family.compaction.policy, {
    ttlMilliseconds: family.ttlMilliseconds,
    minVersions,
  })
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
    const given = tableOptions.read(checkForm(options, 'table options'))
    const entries = Object.entries(checkForm(given.families, 'families of a table'))
    if (entries.length === 0) throw invalidArgument(`table '${name}' needs at least one family`)
    const families = entries.map(([family, familyOptions]) => {
      return { name: family, options: describeFamilyOptions(family, familyOptions) }
    })
    return described(families, given, parseCoprocessors)
  })
}

/** Checks an alteration of a table. Families that stay come first, in their order. */
export function describeAlteration<C>(
  table: TableDescription,
  alteration: TableAlteration,
  parseCoprocessors: (list: unknown) => C,
): DescribedTable<C> {
  const { durability, readOnly, flushBytes, metadata } = table
  return readArguments(() => {
    const base = { durability, readOnly, flushBytes, metadata }
    const given = alterationOptions.read(alteration, base)
    const families = alteredFamilies(table, given.dropFamilies, given.families)
    return described(families, given, parseCoprocessors)
  })
}

function described<C>(
  families: DescribedTable<C>['families'],
  given: TableSettingsDescription & Pick<TableAlteration, 'coprocessors'>,
  parse: (list: unknown) => C,
): DescribedTable<C> {
  const { durability, readOnly, flushBytes, metadata, coprocessors } = given
  return {
    families,
    settings: { durability, readOnly, flushBytes, metadata },
    coprocessors: coprocessors === undefined ? undefined : parse(coprocessors),
  }
}

function alteredFamilies(
  table: TableDescription,
  dropped: readonly string[],
  added: TableAlteration['families'],
): { name: string; options: FamilyDescription }[] {
  for (const name of dropped) {
    if (Object.hasOwn(table.families, name)) continue
    const message = `table '${table.name}' has no column family '${name}' to drop`
    throw new CellarError(ErrorCode.noSuchColumnFamily, message)
  }
  const changes = new Map(Object.entries(checkForm(added ?? {}, 'families of an alteration')))
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
