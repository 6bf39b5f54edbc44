/** What the test of projections in killed processes and its child share. */
import {
  defineTable,
  type Database,
  type ProjectionOptions,
  type Transaction,
  type TypedRowChange,
} from '../../../src/entries/index.js'

/** What a child does. */
export interface ProjectionPlan {
  readonly directory: string
  readonly seed: number
  /** Where the projection begins. */
  readonly from: 'rows' | number
  /** The first number that is written; later ones are greater. */
  readonly first: number
}

/** Keeps all changes, so that the model can read them again. */
export const openOptions = { executor: 'inline', logRetentionBytes: 1024 ** 3 } as const

const users = defineTable({ name: 'users', columns: { city: 'utf8', number: 'integer' } })
const cities = defineTable({ name: 'cities', columns: { city: 'utf8' } })
const totals = defineTable({ name: 'totals', columns: { users: 'integer' } })
/** A row for each change that the projection was given. */
const told = defineTable({ name: 'told', columns: { city: 'utf8' } })

/** The tables of the scene in a database. */
export async function tablesOf(database: Database) {
  return {
    users: await users.open(database),
    cities: await cities.open(database),
    totals: await totals.open(database),
    told: await told.open(database),
  }
}

export type Tables = Awaited<ReturnType<typeof tablesOf>>

type UserChange = TypedRowChange<
  Readonly<Record<'id', 'utf8'>>,
  { readonly city: 'utf8'; readonly number: 'integer' }
>

/** The place of a change in `told`. */
export function placeOf(sequence: number, id: string): string {
  return `${String(sequence).padStart(9, '0')} ${id}`
}

/** Counts the users of each city. A change that comes twice is an error. */
export function projectionOf(
  tables: Tables,
  from: 'rows' | number,
): ProjectionOptions<Tables['users'], UserChange> {
  const count = async (tx: Transaction, id: string | undefined, step: number): Promise<void> => {
    if (id === undefined) return
    await tx.update(tables.totals, id, (row) => ({ id, users: (row?.users ?? 0) + step }))
  }
  const apply = async (tx: Transaction, change: UserChange): Promise<void> => {
    const { key, sequence, written, removed, isFirst } = change
    const { id } = key
    const place = placeOf(isFirst ? 0 : sequence, id)
    if ((await tx.get(tables.told, place)) !== undefined) throw new Error(`told twice: ${place}`)
    tx.put(tables.told, { id: place, city: written.city ?? '' })
    if (written.city === undefined && !removed.includes('city')) return
    await count(tx, (await tx.get(tables.cities, id))?.city, -1)
    await tx.update(tables.cities, id, () => ({ id, city: written.city }))
    await count(tx, written.city, 1)
  }
  return { name: 'by-city', table: tables.users, from, groupMax: 4, apply }
}
