/** Converts the options of tables and families between the public form and the engine's. */
import type { CodecName } from '../../storage/codec/codec.js'
import {
  decodeTableSettings,
  type TableSettings,
  type TableState,
} from '../../storage/engine/catalog/catalog.js'
import {
  decodeFamilySettings,
  encodeFamilySettings,
  type FamilySettings,
} from '../../storage/store/family-settings.js'
import type { TableDefinition } from '../../storage/version/catalog.js'
import type { JsonObject } from '../../storage/version/json-fields.js'
import { describeAlteration, describeFamilyOptions, describeNewTable } from '../../checks/schema.js'
import {
  alteredCoprocessors,
  checkFamilies,
  indexesOf,
  indexModule,
} from '../../comfort/indexes/catalog.js'
import { planIndex } from '../../comfort/indexes/declaration.js'
import { parseTableCoprocessors } from '../observers/coprocessor-options.js'
import type {
  FamilyDescription,
  FamilyOptions,
  TableAlteration,
  TableDescription,
  TableOptions,
} from '../../api/index.js'

/** Parses the settings of a new family. */
export function parseFamilyOptions(name: string, options: FamilyOptions): FamilySettings {
  return familySettings(describeFamilyOptions(name, options))
}

function familySettings(family: FamilyDescription): FamilySettings {
  const { ttlMilliseconds, keepDeletedCells, compression, ...same } = family
  return {
    ...same,
    ttlSeconds: ttlMilliseconds / 1000,
    keepDeletedCells: keepDeletedCells === 'TTL' ? 'TTL' : keepDeletedCells ? 'TRUE' : 'FALSE',
    codec: compression.toLowerCase() as CodecName,
  }
}

/**
 * The settings as JSON, without infinite numbers, which JSON lacks, and without empty coprocessors.
 */
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
  const described = describeNewTable(name, options, parseTableCoprocessors)
  const { settings, coprocessors = [] } = described
  return {
    tableId: allocateId(),
    name,
    families: described.families.map((family) => ({
      storeId: allocateId(),
      name: family.name,
      options: encodeFamilySettings(familySettings(family.options)),
    })),
    options: asJson({ ...settings, disabled: false, coprocessors }),
  }
}

/** The definition of a table after an alteration. */
export function alterDefinition(
  table: TableState,
  alteration: TableAlteration,
  allocateId: () => number,
): TableDefinition {
  const altered = describeAlteration(describeTable(table), alteration, parseTableCoprocessors)
  const { settings } = altered
  const { coprocessors: current } = table.settings
  const coprocessors = alteredCoprocessors(current, altered.coprocessors ?? current)
  const families = Object.fromEntries(altered.families.map(({ name, options }) => [name, options]))
  checkIndexes(table.name, families, coprocessors)
  return {
    tableId: table.tableId,
    name: table.name,
    families: altered.families.map(({ name, options }) => ({
      storeId: table.familyByName.get(name)?.store.storeId ?? allocateId(),
      name,
      options: encodeFamilySettings(familySettings(options)),
    })),
    options: asJson({ ...settings, disabled: table.settings.disabled, coprocessors }),
  }
}

/**
 * The definition of a snapshot for the table that gets its rows. The entries of indexes lie in
 * tables of their own, which the snapshot has not: the table keeps the indexes that it has now, and
 * a new one has none. Throws the errors of `checkFamilies`.
 */
export function restoredDefinition(
  definition: TableDefinition,
  table: TableState | undefined,
): TableDefinition {
  const { name } = definition
  const settings = decodeTableSettings(definition)
  const own = settings.coprocessors.filter(({ module }) => module !== indexModule)
  const coprocessors = alteredCoprocessors(table?.settings.coprocessors ?? [], own)
  const families = definition.families.map((family) => {
    return [family.name, describeFamily(decodeFamilySettings(family.options))]
  })
  checkIndexes(name, Object.fromEntries(families) as TableDescription['families'], coprocessors)
  return { ...definition, options: asJson({ ...settings, coprocessors }) }
}

function checkIndexes(
  name: string,
  families: TableDescription['families'],
  coprocessors: TableSettings['coprocessors'],
): void {
  for (const index of indexesOf({ name, coprocessors })) {
    checkFamilies(name, families, planIndex(index.declaration))
  }
}

/** The public description of a table. */
export function describeTable(table: TableState): TableDescription {
  const families = table.families.map(({ name, settings }) => [name, describeFamily(settings)])
  const { coprocessors, durability, readOnly, flushBytes, metadata } = table.settings
  const description = {
    name: table.name,
    // fromEntries, because an assignment would treat `__proto__` specially.
    families: Object.fromEntries(families) as TableDescription['families'],
    durability,
    readOnly,
    flushBytes,
    metadata: { ...metadata },
  }
  return coprocessors.length === 0 ? description : { ...description, coprocessors }
}

function describeFamily(settings: FamilySettings): FamilyDescription {
  const { ttlSeconds, keepDeletedCells, codec, ...same } = settings
  return {
    ...same,
    ttlMilliseconds: Math.round(ttlSeconds * 1000),
    keepDeletedCells: keepDeletedCells === 'TTL' ? 'TTL' : keepDeletedCells === 'TRUE',
    compression: codec.toUpperCase() as FamilyDescription['compression'],
    metadata: { ...settings.metadata },
  }
}
