/** The parts of the cases: a backend, the fixture of a case, and the types of the suite. */
import assert from 'node:assert/strict'
import type { Clock, Database } from '../../../src/api/index.js'
import {
  RepositoryManager,
  type RecordInput,
  type RecordTable,
  type RepositoryOptions,
  type StoredRecord,
  type WriteResult,
} from '../../../src/systems/repository/index.js'
import type { SuiteCase, SuiteClock } from '../../suites/kit.js'

/** A database that a case may close and open again, on the same data. */
export interface SuiteDatabase {
  /** The open database; another one after {@link reopen}. */
  readonly database: Database
  /** Closes the database and opens it again; returns the new handle. */
  reopen(): Promise<Database>
  /** Closes the database for good; its data are no longer needed. */
  close(): Promise<void>
}

/** What the suite is run against. */
export interface RepositoryBackend {
  /** Name of the backend in the names of the tests. */
  readonly name: string
  /** Opens an empty database with this clock. It needs atomic batches over tables. */
  open(clock: Clock): Promise<SuiteDatabase>
  /** Time after which a case that has not ended fails. Default 60 seconds. */
  readonly caseMilliseconds?: number | undefined
}

/** The namespace of the types of the suite. */
export const ns = 'org.example'
/** A name in the namespace of the suite. */
export const q = (local: string): `{${string}}${string}` => `{${ns}}${local}`

/** What a case gets: a database of its own, and a clock. */
export class Fixture {
  readonly clock: SuiteClock
  readonly suite: SuiteDatabase
  database: Database
  #managers: RepositoryManager[] = []
  #others: { close(): Promise<void> }[] = []

  constructor(suite: SuiteDatabase, clock: SuiteClock) {
    this.suite = suite
    this.database = suite.database
    this.clock = clock
  }

  /** Opens a manager that is closed with the case. */
  async manager(options: RepositoryOptions = {}): Promise<RepositoryManager> {
    const manager = await RepositoryManager.open(this.database, { clock: this.clock, ...options })
    this.#managers.push(manager)
    return manager
  }

  /** A manager with the types of the suite. */
  async withTypes(options: RepositoryOptions = {}): Promise<RepositoryManager> {
    const manager = await this.manager(options)
    await createTypes(manager)
    return manager
  }

  /** The default table of a manager with the types of the suite. */
  async table(options: RepositoryOptions = {}): Promise<RecordTable> {
    return (await this.withTypes(options)).repository().table()
  }

  /** Closes the managers and the database, and opens the database again. */
  async reopen(): Promise<void> {
    await this.end()
    this.database = await this.suite.reopen()
  }

  /** Closes something with the case, before the managers. */
  closeLater(other: { close(): Promise<void> }): void {
    this.#others.push(other)
  }

  async end(): Promise<void> {
    for (const other of this.#others) await other.close()
    this.#others = []
    for (const manager of this.#managers) await manager.close()
    this.#managers = []
  }
}

/** One case. It fails by throwing. */
export interface RepositoryCase extends SuiteCase {
  readonly run: (fixture: Fixture) => Promise<void>
}

/**
 * The types of the suite. RT1: f1 STRING without versions, f2 INTEGER versioned, f3 BOOLEAN
 * mutable; version 2 adds f1B. RT2: f4 INTEGER, f5 BOOLEAN versioned, f6 STRING mutable. RT3: from
 * version 2 on f1 is mandatory, from 3 on f3, and 4 adds f6.
 */
async function createTypes({ types }: RepositoryManager): Promise<void> {
  const fields = [
    ['f1', 'STRING', 'NON_VERSIONED'],
    ['f1B', 'STRING', 'NON_VERSIONED'],
    ['f2', 'INTEGER', 'VERSIONED'],
    ['f3', 'BOOLEAN', 'VERSIONED_MUTABLE'],
    ['f4', 'INTEGER', 'NON_VERSIONED'],
    ['f5', 'BOOLEAN', 'VERSIONED'],
    ['f6', 'STRING', 'VERSIONED_MUTABLE'],
  ] as const
  for (const [local, valueType, scope] of fields) {
    await types.createFieldType({ name: q(local), valueType, scope })
  }
  const named = (...names: string[]): { name: string }[] => names.map((name) => ({ name: q(name) }))
  await types.createRecordType({ name: q('RT1'), fields: named('f1', 'f2', 'f3') })
  await types.updateRecordType({ name: q('RT1'), fields: named('f1', 'f2', 'f3', 'f1B') })
  await types.createRecordType({ name: q('RT2'), fields: named('f4', 'f5', 'f6') })
  const [f1, f2, f3, f6] = named('f1', 'f2', 'f3', 'f6')
  const must = (field: { name: string }): object => ({ ...field, mandatory: true })
  await types.createRecordType({ name: q('RT3'), fields: [f1, f2, f3] })
  await types.updateRecordType({ name: q('RT3'), fields: [must(f1), f2, f3] })
  await types.updateRecordType({ name: q('RT3'), fields: [must(f1), f2, must(f3)] })
  await types.updateRecordType({ name: q('RT3'), fields: [must(f1), f2, must(f3), f6] })
}

/** The default record of the suite: RT1 version 1 with f1, f2 and f3. */
export function createDefault(table: RecordTable, id?: string): Promise<WriteResult> {
  const input: RecordInput = {
    ...(id === undefined ? {} : { id }),
    type: { name: q('RT1'), version: 1 },
    fields: { [q('f1')]: 'value1', [q('f2')]: 123, [q('f3')]: true },
  }
  return table.create(input, { useLatestRecordType: false })
}

/** The fields of the suite that a record has, by local name. */
export function valuesOf({ fields }: StoredRecord): Record<string, unknown> {
  const prefix = `{${ns}}`
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name.replace(prefix, ''), value]),
  )
}

/** Fields by local name, with qualified names. */
export function fieldsOf(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [q(name), value]))
}

/** Local names and versions of the types of a record: of the record, versioned, mutable. */
export function typesOf(record: StoredRecord): (string | undefined)[] {
  return [record.type, record.versionedType, record.mutableType].map((type) => {
    return type === undefined ? undefined : `${type.name.replace(`{${ns}}`, '')} ${type.version}`
  })
}

/** The texts of ids. */
export async function idsOf(records: AsyncIterable<StoredRecord>): Promise<string[]> {
  const ids: string[] = []
  for await (const { id } of records) ids.push(id.text)
  return ids
}

/** Asserts the version of a record and its fields by local name. */
export function assertRecord(
  record: StoredRecord,
  version: number | undefined,
  values: Record<string, unknown>,
): void {
  assert.deepEqual({ version: record.version, ...valuesOf(record) }, { version, ...values })
}
