/** The parts of the cases: a backend with its capabilities, and readings of tables and cursors. */
import {
  CallbackTable,
  Value,
  Version,
  type FieldData,
  type KeyRange,
  type MetaStore,
  type MetastoreCallback,
  type MetastoreCursor,
  type MetastoreItem,
  type MetastoreScannableTable,
  type MetastoreTable,
  type Order,
  type ReturnCode,
} from '../../../src/systems/metastore/index.js'
import { outcome, turns, type SuiteCase, type SuiteTest } from '../kit.js'

/** What a backend says of itself. A case that needs something else is skipped with the reason. */
export interface MetastoreCapabilities {
  /** Ordered tables: `createScannableTable` and `openRange`. Default true. */
  readonly scannable?: boolean | undefined
  /** Watchers. Default true. */
  readonly watchers?: boolean | undefined
  /** Tables are `MetastoreGuardedTable`s. Default false: it is an extension. */
  readonly guards?: boolean | undefined
  /** `readEntries` of cursors, without a promise. Default true. */
  readonly synchronousReads?: boolean | undefined
  /**
   * Cursors return rows as of their opening. Without it, values may be newer, but never with a
   * version that is not theirs. Default true.
   */
  readonly snapshotCursors?: boolean | undefined
  /** The empty string is a key. Default true. */
  readonly emptyKey?: boolean | undefined
  /** Bytes of the longest key, as UTF-8. Default 32,767. */
  readonly keyBytesMax?: number | undefined
  /** A table name that is declared to be unordered. Default: none. */
  readonly unorderedTable?: string | undefined
  /** A version that the store never gives out. Default: `LongVersion(-1)`. */
  readonly unissuedVersion?: Version | undefined
}

/** One place with data that several store objects can open. */
export interface MetastoreSpace {
  /** A store object after `init`; all of a space see the same data. The suite closes it. */
  open(): Promise<MetaStore>
  /** Removes the data. Called once, after all store objects were closed. */
  dispose(): Promise<void>
}

/** A backend under test. */
export interface MetastoreBackend {
  /** For the names of the tests. */
  readonly name: string
  /** What the backend can and cannot do; each has a default of its own. */
  readonly capabilities?: MetastoreCapabilities | undefined
  /** A place without data. */
  create(): Promise<MetastoreSpace>
  /** Collects garbage at once; cases about leaks need it. */
  readonly collectGarbage?: (() => void) | undefined
  /** Cursors that the case about leaks opens. Default 100,000. */
  readonly droppedCursors?: number | undefined
  /** Time after which a case that has not ended fails. Default 60 seconds. */
  readonly caseMilliseconds?: number | undefined
}

/** What a case works with. */
export interface Fixture {
  readonly backend: MetastoreBackend
  readonly capabilities: Required<Omit<MetastoreCapabilities, 'unorderedTable'>> &
    Pick<MetastoreCapabilities, 'unorderedTable'>
  readonly store: MetaStore
  readonly space: MetastoreSpace
  /** An empty table of this case's own; ordered if the backend can. */
  readonly table: (name?: string) => Promise<MetastoreScannableTable>
  /** A version that is none of the package's. */
  readonly foreignVersion: Version
}

/** One case. */
export interface MetastoreCase extends SuiteCase {
  /** The test of BookKeeper that asserts the same, or the reason for the case. */
  readonly source?: string | undefined
  /** The capability that the case needs. */
  readonly needs?: keyof MetastoreCapabilities | 'collectGarbage' | undefined
  run(t: SuiteTest, fixture: Fixture): Promise<void>
}

/** Short for `new Value`. */
export function fields(record: Readonly<Record<string, FieldData>> = {}): Value {
  return new Value(record)
}

/** A row as text, `name=text` by name; `none` if it does not exist. */
export async function shown(table: MetastoreTable, key: string): Promise<string> {
  const result = await outcome(table.get(key))
  if (result !== 'OK') return result === 'ERR_METASTORE_NO_KEY' ? 'none' : result
  return valueText((await table.get(key)).value)
}

/** The fields of a value as text, `name=text` by name. */
export function valueText(value: Value): string {
  return [...value.getFieldsMap()]
    .map(([name, data]) => `${name}=${data === null ? 'NULL' : data.toString()}`)
    .sort()
    .join(' ')
}

/** A page of a cursor that says it has more; throws if that was wrong, or if it is too long. */
export async function pageOf(cursor: MetastoreCursor, count: number): Promise<MetastoreItem[]> {
  const items = await cursor.asyncReadEntries(count)
  checkPage(items, count)
  return items
}

/** Throws if a page of a cursor that said it has more is empty or too long. */
export function checkPage(items: readonly MetastoreItem[], count: number): void {
  if (items.length === 0) throw new Error('hasMoreEntries was true, but nothing was read')
  if (items.length > count) throw new Error(`${items.length} entries, not ${count}, were read`)
}

/** All keys that a cursor returns, in its order; checks `hasMoreEntries` before every page. */
export async function keysOf(cursor: MetastoreCursor, count = 3): Promise<string[]> {
  const keys: string[] = []
  while (cursor.hasMoreEntries()) {
    keys.push(...(await pageOf(cursor, count)).map(({ key }) => key))
  }
  return keys
}

/** A range in a few words: `[a` includes its bound, `(a` does not, '' is the end of the table. */
export function range(first: string, last: string, order: Order = 'ASC'): KeyRange {
  const isOpen = (bound: string): boolean => bound === '' || bound === '('
  return {
    firstKey: isOpen(first) ? null : first.slice(1),
    firstInclusive: !first.startsWith('('),
    lastKey: isOpen(last) ? null : last.slice(1),
    lastInclusive: !last.startsWith('('),
    order,
  }
}

/** Creates rows whose only field `name` is the key. */
export async function fill(table: MetastoreTable, keys: readonly string[]): Promise<void> {
  await Promise.all(keys.map((key) => table.put(key, fields({ name: key }), Version.NEW)))
}

/** What a callback was called with. */
export interface Answer<T> {
  readonly code: ReturnCode
  readonly value: T | null
  readonly context: unknown
  /** Calls so far. */
  calls: number
}

/** Starts an operation with a callback; resolves a few turns after its first call. */
export async function called<T>(
  start: (callback: MetastoreCallback<T>) => void,
): Promise<Answer<T>> {
  let answer: Answer<T> | undefined
  let returned = false
  await new Promise<void>((resolve, reject) => {
    start((code, value, context) => {
      if (!returned) reject(new Error('the callback ran on the stack of the caller'))
      if (answer === undefined) answer = { code, value, context, calls: 1 }
      else answer.calls++
      resolve()
    })
    returned = true
  })
  await turns(3)
  return answer!
}

/** The callback form of a table; what callbacks throw goes to `errors`. */
export function withCallbacks(
  table: MetastoreScannableTable,
  errors: unknown[] = [],
): CallbackTable {
  return new CallbackTable(table, (error) => errors.push(error))
}
