/** The indexes of a table as its schema stores them: a coprocessor that the package itself has. */
import { isDeepStrictEqual } from 'node:util'
import { CellarError, ErrorCode, invalidArgument } from '../../base/errors.js'
import type { TableCoprocessor } from '../../api/coprocessor.js'
import type { FamilyDescription, TableDescription } from '../../api/schema.js'
import { planIndex, type IndexDeclaration, type IndexPlan } from './declaration.js'

/** The module that stands in schemas; it is part of the package and is not loaded. */
export const indexModule = 'cellardb:indexes'

/** What an index can do: only a ready one answers queries. */
export type IndexState = 'building' | 'ready' | 'failed'

/** An index in the schema of its table. */
export interface StoredIndex {
  readonly declaration: IndexDeclaration
  /** The table with the entries; another one after each rebuild. */
  readonly entries: string
  readonly state: IndexState
  /** Of a failed build: why. */
  readonly reason?: string
}

/** The options of the coprocessor. */
interface StoredIndexes {
  /** The table that was indexed. A clone of it has other rows, so that its indexes are not kept. */
  readonly table: string
  readonly indexes: readonly StoredIndex[]
}

/** An index that is kept up to date. */
export interface KeptIndex extends StoredIndex {
  readonly plan: IndexPlan
}

/** The indexes in the options of the coprocessor, of the table with that name. */
export function indexesIn(
  table: string,
  options: Readonly<Record<string, unknown>>,
): StoredIndex[] {
  const stored = options as Partial<StoredIndexes>
  if (typeof stored.table !== 'string' || !Array.isArray(stored.indexes)) {
    throw invalidArgument(`'${indexModule}' in a schema is written by Indexes.create`)
  }
  return stored.table === table ? [...(stored.indexes as readonly StoredIndex[])] : []
}

/** The indexes of a table. */
export function indexesOf({
  name,
  coprocessors = [],
}: Pick<TableDescription, 'name' | 'coprocessors'>): StoredIndex[] {
  const found = coprocessors.find(({ module }) => module === indexModule)
  return found === undefined ? [] : indexesIn(name, found.options ?? {})
}

/** The coprocessors for an alteration that gives a table other indexes; an empty list = none. */
export function withIndexes(
  { name, coprocessors = [] }: TableDescription,
  indexes: readonly StoredIndex[],
): TableCoprocessor[] {
  const others = coprocessors.filter(({ module }) => module !== indexModule)
  const options: StoredIndexes = { table: name, indexes }
  // The schema takes plain JSON, without members that are undefined.
  const plain = JSON.parse(JSON.stringify(options)) as Record<string, unknown>
  return [...others, { module: indexModule, options: plain }]
}

/**
 * The coprocessors of a table after an alteration with a list of them. A list without the indexes
 * is one of the caller's own coprocessors, so the table keeps its indexes.
 */
export function alteredCoprocessors<C extends TableCoprocessor>(
  current: readonly C[],
  given: readonly C[],
): C[] {
  const isOwn = given.every(({ module }) => module !== indexModule)
  const kept = isOwn ? current.filter(({ module }) => module === indexModule) : []
  return [...given, ...kept].filter(({ module, options }) => {
    return module !== indexModule || !isDeepStrictEqual(options?.['indexes'], [])
  })
}

/** Checks the families that an index needs. `ERR_NO_SUCH_COLUMN_FAMILY`, `ERR_INVALID_ARGUMENT`. */
export function checkFamilies(
  table: string,
  families: Readonly<Record<string, FamilyDescription>>,
  { name, families: needed }: IndexPlan,
): void {
  const what = `the index '${name}' of table '${table}'`
  for (const family of needed) {
    if (!Object.hasOwn(families, family)) {
      const advice = 'have it, or drop the index with Indexes.drop'
      const message = `${what} needs the family '${family}'; ${advice}`
      throw new CellarError(ErrorCode.noSuchColumnFamily, message)
    }
    if (families[family].newVersionBehavior) {
      throw invalidArgument(`${what}: family '${family}' cannot have newVersionBehavior`)
    }
  }
}

/** Prepares a stored index for use. */
export function kept(stored: StoredIndex): KeptIndex {
  return { ...stored, plan: planIndex(stored.declaration) }
}
