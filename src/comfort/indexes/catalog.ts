/** The indexes of a table as its schema stores them: a coprocessor that the package itself has. */
import { invalidArgument } from '../../base/errors.js'
import type { TableCoprocessor } from '../../api/coprocessor.js'
import type { TableDescription } from '../../api/schema.js'
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
export function indexesOf({ name, coprocessors = [] }: TableDescription): StoredIndex[] {
  const found = coprocessors.find(({ module }) => module === indexModule)
  return found === undefined ? [] : indexesIn(name, found.options ?? {})
}

/** The coprocessors of a table with other indexes. */
export function withIndexes(
  { name, coprocessors = [] }: TableDescription,
  indexes: readonly StoredIndex[],
): TableCoprocessor[] {
  const others = coprocessors.filter(({ module }) => module !== indexModule)
  if (indexes.length === 0) return others
  const options: StoredIndexes = { table: name, indexes }
  // The schema takes plain JSON, without members that are undefined.
  const plain = JSON.parse(JSON.stringify(options)) as Record<string, unknown>
  return [...others, { module: indexModule, options: plain }]
}

/** Prepares a stored index for use. */
export function kept(stored: StoredIndex): KeptIndex {
  return { ...stored, plan: planIndex(stored.declaration) }
}
