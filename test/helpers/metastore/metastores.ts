/** MetaStores for tests: the backends that every numbered case runs on, and one that fails. */
import t from 'tap'
import type { Test } from 'tap'
import {
  CellarMetaStore,
  returnCodeOf,
  type CellarMetastoreConfiguration,
  type FieldSelection,
  type GetOptions,
  type KeyRange,
  type MetaStore,
  type MetastoreCursor,
  type MetastoreDatabase,
  type MetastoreGuardedTable,
  type MetastoreItem,
  type MetastoreScannableTable,
  type MetastoreTable,
  type MetastoreWatcher,
  type RowGuard,
  type Value,
  type Version,
  type Versioned,
} from '../../../src/systems/metastore/index.js'
import { ModelDatabase } from '../../model/reference/model-database.js'
import { backendsMax } from '../length.js'
import { TestDatabase } from '../test-database.js'

/** Several store objects over the same data. */
export interface StoreGroup {
  readonly store: MetaStore
  /** Another store object on the same data. */
  another(): Promise<MetaStore>
  close(): Promise<void>
}

/** A store over the model of a database: nothing of the engine. */
export async function modelStore(
  configuration: Omit<CellarMetastoreConfiguration, 'database' | 'openDatabase'> = {},
): Promise<CellarMetaStore> {
  const store = new CellarMetaStore()
  const database = await ModelDatabase.open()
  await store.init({ database, ...configuration }, store.getVersion())
  return store
}

async function groupOver(database: MetastoreDatabase): Promise<StoreGroup> {
  const another = async (): Promise<MetaStore> => {
    const store = new CellarMetaStore()
    await store.init({ database }, store.getVersion())
    return store
  }
  const store = await another()
  const close = async (): Promise<void> => {
    await store.close()
    await database.close()
  }
  return { store, another, close }
}

/** By name; without the model where the suites run on the engine alone. */
export const backends: Readonly<Record<string, () => Promise<StoreGroup>>> = {
  Cellar: async () => groupOver((await TestDatabase.open()).database),
  ...(backendsMax > 1 && { model: async () => groupOver(await ModelDatabase.open()) }),
}

const numbers = new Set<string>()

/**
 * A test on each backend. The name begins with the numbers of the cases of the specification that
 * it shows, if any: `74, 75: …`.
 */
export function onEachBackend(
  name: string,
  run: (t: Test, group: StoreGroup) => Promise<void>,
): void {
  for (const [backend, open] of Object.entries(backends)) {
    void t.test(`${name} [${backend}]`, async (t) => {
      const group = await open()
      t.teardown(() => group.close())
      await run(t, group)
    })
  }
  const before = /^([0-9]+(?:, [0-9]+)*): /.exec(name)
  for (const number of before?.[1].split(', ') ?? []) numbers.add(number)
}

/** Says at the end of a file how many numbered cases it has. */
export function countNumberedCases(absent: Readonly<Record<string, string>> = {}): void {
  t.comment(`${numbers.size} numbered cases, on ${Object.keys(backends).join(' and ')}`)
  for (const [number, reason] of Object.entries(absent)) {
    t.comment(`case ${number} is not here: ${reason}`)
  }
}

/** What a {@link FaultyStore} is about to do. */
export interface StoreCall {
  readonly operation: 'get' | 'put' | 'remove' | 'open' | 'read' | 'more'
  readonly table: string
  readonly key: string | undefined
}

/**
 * A store that asks before each call. What `before` throws, the call fails with; for `more` a
 * failure makes the cursor say that there is no more.
 */
export class FaultyStore implements MetaStore {
  readonly #store: MetaStore
  before: (call: StoreCall) => void = () => undefined
  /** Number of calls so far. */
  calls = 0

  constructor(store: MetaStore) {
    this.#store = store
  }

  getName(): string {
    return this.#store.getName()
  }

  getVersion(): number {
    return this.#store.getVersion()
  }

  init(): Promise<void> {
    return Promise.resolve()
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  createTable(name: string): Promise<MetastoreScannableTable> {
    return this.createScannableTable(name)
  }

  async createScannableTable(name: string): Promise<MetastoreScannableTable> {
    const table = await this.#store.createScannableTable(name)
    return new FaultyTable(table, (operation, key) => {
      this.calls++
      this.before({ operation, table: name, key })
    })
  }
}

type Ask = (operation: StoreCall['operation'], key?: string) => void

class FaultyTable implements MetastoreScannableTable, MetastoreGuardedTable {
  readonly #table: MetastoreScannableTable
  readonly #ask: Ask

  constructor(table: MetastoreScannableTable, ask: Ask) {
    this.#table = table
    this.#ask = ask
  }

  getName(): string {
    return this.#table.getName()
  }

  async get(key: string, options?: GetOptions): Promise<Versioned<Value>> {
    this.#ask('get', key)
    return this.#table.get(key, options)
  }

  async put(key: string, value: Value, version: Version): Promise<Version> {
    this.#ask('put', key)
    return this.#table.put(key, value, version)
  }

  async remove(key: string, version: Version): Promise<void> {
    this.#ask('remove', key)
    return this.#table.remove(key, version)
  }

  async putGuarded(key: string, value: Value, version: Version, guard: RowGuard): Promise<Version> {
    this.#ask('put', key)
    return guardedTable(this.#table).putGuarded(key, value, version, guard)
  }

  async removeGuarded(key: string, version: Version, guard: RowGuard): Promise<void> {
    this.#ask('remove', key)
    return guardedTable(this.#table).removeGuarded(key, version, guard)
  }

  unwatch(key: string, watcher: MetastoreWatcher): boolean {
    return this.#table.unwatch(key, watcher)
  }

  async openCursor(fields?: FieldSelection): Promise<MetastoreCursor> {
    this.#ask('open')
    return new FaultyCursor(await this.#table.openCursor(fields), this.#ask)
  }

  async openRange(range: KeyRange, fields?: FieldSelection): Promise<MetastoreCursor> {
    this.#ask('open')
    return new FaultyCursor(await this.#table.openRange(range, fields), this.#ask)
  }

  close(): void {
    this.#table.close()
  }
}

/** The tables of both backends have guarded writes. */
export function guardedTable(table: MetastoreTable): MetastoreGuardedTable {
  return table as MetastoreGuardedTable
}

class FaultyCursor implements MetastoreCursor {
  readonly #cursor: MetastoreCursor
  readonly #ask: Ask

  constructor(cursor: MetastoreCursor, ask: Ask) {
    this.#cursor = cursor
    this.#ask = ask
  }

  hasMoreEntries(): boolean {
    try {
      this.#ask('more')
    } catch {
      return false
    }
    return this.#cursor.hasMoreEntries()
  }

  async asyncReadEntries(count: number): Promise<MetastoreItem[]> {
    this.#ask('read')
    return this.#cursor.asyncReadEntries(count)
  }

  readEntries(count: number): MetastoreItem[] {
    this.#ask('read')
    return this.#cursor.readEntries(count)
  }

  close(): void {
    this.#cursor.close()
  }

  [Symbol.asyncIterator](): AsyncIterator<MetastoreItem> {
    return this.#cursor[Symbol.asyncIterator]()
  }
}

/** Checks that a promise rejects with an error that matches. */
export async function fails(
  t: Test,
  promise: Promise<unknown>,
  expected: object,
  sentence = 'rejects',
): Promise<void> {
  try {
    await promise
  } catch (error) {
    const { returnCode, ...others } = expected as { returnCode?: number }
    t.match(error, others, sentence)
    if (returnCode !== undefined) t.equal(returnCodeOf(error), returnCode)
    return
  }
  t.fail(`${sentence}: did not reject`)
}
