/**
 * The suite finds what it is for: the defects of BookKeeper's in-memory store, and some more, are
 * planted one at a time into a store in memory, and the cases that fail are those that should.
 *
 * @runs alone, campaign
 */
import { CellarError } from '../../../src/api/index.js'
import t from 'tap'
import { runMetastoreSuite, type SuiteTest } from '../../suites/metastore/suite.js'
import {
  CellarMetaStore,
  LongVersion,
  MetastoreErrorCode,
  Value,
  Version,
  type MetaStore,
  type MetastoreCursor,
  type MetastoreScannableTable,
} from '../../../src/systems/metastore/index.js'
import { openMemoryDatabase } from '../../../src/entries/memory.js'
import { withMembers } from '../../helpers/planted.js'

/** Methods of a table to replace; `table` is the one in memory. */
type Defect = (table: MetastoreScannableTable) => Partial<MetastoreScannableTable>

class PlantedStore extends CellarMetaStore implements MetaStore {
  readonly #defect: Defect

  constructor(defect: Defect) {
    super()
    this.#defect = defect
  }

  override async createTable(name: string): Promise<MetastoreScannableTable> {
    const table = (await super.createTable(name)) as MetastoreScannableTable
    return withMembers(table, this.#defect(table))
  }

  override async createScannableTable(name: string): Promise<MetastoreScannableTable> {
    return this.createTable(name)
  }
}

/** Runs the suite and returns the names of the cases that failed. */
async function failures(defect: Defect): Promise<string[]> {
  const failed = new Set<string>()
  const recorder = (caseName: string): SuiteTest => ({
    test: async (name, { skip }, body) => {
      if (skip !== undefined) return
      const [, tried] = /^MetaStore \[planted\]: (.*)/.exec(name)!
      try {
        await body(recorder(tried))
      } catch {
        failed.add(tried)
      }
    },
    equal: (found, wanted) => found === wanted || failed.add(caseName),
    comment: () => undefined,
  })
  await runMetastoreSuite(recorder(''), {
    name: 'planted',
    caseMilliseconds: 4_000,
    droppedCursors: 1_000,
    create: async () => {
      const database = await openMemoryDatabase()
      return {
        open: async () => {
          const store = new PlantedStore(defect)
          await store.init({ database }, store.getVersion())
          return store
        },
        dispose: () => database.close(),
      }
    },
  })
  return [...failed]
}

/** Changes the cursors that a table opens. */
function cursors(change: (cursor: MetastoreCursor) => Partial<MetastoreCursor>): Defect {
  return (table) => ({
    openCursor: async (fields) => {
      const cursor = await table.openCursor(fields)
      return withMembers(cursor, change(cursor))
    },
    openRange: async (range, fields) => {
      const cursor = await table.openRange(range, fields)
      return withMembers(cursor, change(cursor))
    },
  })
}

/** Changes keys on their way into the store. */
function keys(change: (key: string) => string): Defect {
  const changed = (key: string): string => (typeof key === 'string' ? change(key) : key)
  return (table) => ({
    get: (key, options) => table.get(changed(key), options),
    put: (key, value, version) => table.put(changed(key), value, version),
    remove: (key, version) => table.remove(changed(key), version),
  })
}

/** The version to give to the store instead: `ANY` for one that is newer than the row's. */
async function acceptNewer(
  table: MetastoreScannableTable,
  key: string,
  version: Version,
): Promise<Version> {
  if (!(version instanceof LongVersion)) return version
  const row = await table.get(key).catch(() => undefined)
  return row?.version.compare(version) === 'BEFORE' ? Version.ANY : version
}

const strictDefects: Readonly<Record<string, { defect: Defect; found: readonly string[] }>> = {
  'a put at a newer version is accepted': {
    defect: (table) => ({
      put: async (key, value, version) =>
        table.put(key, value, await acceptNewer(table, key, version)),
    }),
    found: ['a put or remove at a newer version gives BadVersion and changes nothing'],
  },
  'a remove at a newer version is accepted': {
    defect: (table) => ({
      remove: async (key, version) => table.remove(key, await acceptNewer(table, key, version)),
    }),
    found: ['a put or remove at a newer version gives BadVersion and changes nothing'],
  },
  'versions restart on reopen': {
    defect: (table) => {
      const shown = new Map<bigint, LongVersion>()
      const shownOf = (version: Version): Version => {
        const { value } = version as LongVersion
        if (!shown.has(value)) shown.set(value, new LongVersion(shown.size + 1))
        return shown.get(value)!
      }
      const storedOf = (version: Version): Version => {
        if (!(version instanceof LongVersion)) return version
        const found = [...shown].find(([, each]) => each.value === version.value)
        return found === undefined ? version : new LongVersion(found[0])
      }
      return {
        get: async (key, options) => {
          const { value, version } = await table.get(key, options)
          return { value, version: shownOf(version) }
        },
        put: async (key, value, version) => shownOf(await table.put(key, value, storedOf(version))),
        remove: (key, version) => table.remove(key, storedOf(version)),
      }
    },
    found: ['versions go on over closing and opening again'],
  },
  'a cursor ends after 1,000 rows': {
    defect: cursors((cursor) => {
      let read = 0
      return {
        hasMoreEntries: () => read < 1000 && cursor.hasMoreEntries(),
        asyncReadEntries: async (count) => {
          const items = await cursor.asyncReadEntries(Math.min(count, 1000 - read))
          read += items.length
          return items
        },
      }
    }),
    found: ['a cursor returns all of thousands of rows, whatever the size of the page'],
  },
  'keys are folded in case': {
    defect: keys((key) => key.toLowerCase()),
    found: ['keys that look alike are different keys'],
  },
  'keys are trimmed': {
    defect: keys((key) => key.trim()),
    found: ['keys that look alike are different keys'],
  },
  'keys are normalised': {
    defect: keys((key) => key.normalize('NFC')),
    found: ['keys that look alike are different keys'],
  },
  'keys are normalised for compatibility': {
    defect: keys((key) => (key.length > 99 ? key : key.normalize('NFKC'))),
    found: ['keys that look alike are different keys'],
  },
  'events of one turn are merged': {
    defect: (table) => {
      let pending: (() => void) | undefined
      return {
        get: (key, options) => {
          const watcher = options?.watcher
          if (watcher === undefined) return table.get(key, options)
          const merged = (event: Parameters<typeof watcher>[0]): void => {
            if (pending === undefined) setImmediate(() => (pending?.(), (pending = undefined)))
            pending = () => watcher(event)
          }
          return table.get(key, { ...options, watcher: merged })
        },
      }
    },
    found: ['every change is an event of its own, in order, with its type and key'],
  },
  'a field of 100 is lost on its way in': {
    defect: (table) => ({
      put: (key, value, version) => {
        if (!(value instanceof Value) || value.size < 100) return table.put(key, value, version)
        const fewer = new Set([...value.getFields()].slice(1))
        return table.put(key, value.project(fewer), version)
      },
    }),
    found: ['none of a hundred fields is lost'],
  },
  'a field of 100 is lost on its way out': {
    defect: (table) => ({
      get: async (key, options) => {
        const { value, version } = await table.get(key, options)
        if (value.size < 100) return { value, version }
        return { value: value.project(new Set([...value.getFields()].slice(1))), version }
      },
    }),
    found: ['none of a hundred fields is lost'],
  },
}

const defects: Readonly<Record<string, { defect: Defect; found: readonly string[] }>> = {
  'no defect': { defect: () => ({}), found: [] },
  'a foreign version is never answered': {
    defect: (table) => ({
      put: (key, value, version) => {
        const known = version instanceof LongVersion || typeof version?.compare !== 'function'
        const singleton = version === Version.NEW || version === Version.ANY
        return known || singleton ? table.put(key, value, version) : new Promise(() => undefined)
      },
    }),
    found: [
      'a version of another kind gives IllegalOp; the in-memory original never answers',
      'wrong arguments give IllegalOp, change nothing, and are answered once',
    ],
  },
  'ANY creates rows': {
    defect: (table) => ({
      put: (key, value, version) =>
        version !== Version.ANY
          ? table.put(key, value, version)
          : table.put(key, value, version).catch(() => table.put(key, value, Version.NEW)),
    }),
    found: ['put at a version gives NoKey if the row was removed'],
  },
  'a version from before a removal matches': {
    defect: (table) => ({
      put: (key, value, version) =>
        version instanceof LongVersion && version.value > 0n
          ? table.put(key, value, Version.ANY)
          : table.put(key, value, version),
    }),
    found: [
      'a version from before a removal does not match the row that came after',
      'of concurrent puts that expect the same, one wins',
    ],
  },
  'a put replaces the row': {
    defect: (table) => ({
      put: async (key, value, version) => {
        const whole = new Value(value)
        const before = await table.get(key).catch(() => undefined)
        for (const name of before?.value.getFields() ?? []) {
          if (!whole.getFields().has(name)) whole.setField(name, null)
        }
        return table.put(key, whole, version)
      },
    }),
    found: [
      'put of one field at the current version keeps the others',
      'put with ANY merges into the row',
    ],
  },
  'empty fields are absent': {
    defect: (table) => ({
      get: async (key, options) => {
        const { value, version } = await table.get(key, options)
        const kept = new Value()
        for (const [name, data] of value.getFieldsMap()) {
          if (data !== null && data.length > 0) kept.setField(name, data)
        }
        return { value: kept, version }
      },
    }),
    found: ['an empty field is not an absent one'],
  },
  'ranges outside the rows are refused': {
    defect: (table) => ({
      openRange: async (range, fields) => {
        const cursor = await table.openRange(range, fields)
        const bounded = range.firstKey !== null && range.firstKey !== range.lastKey
        if (cursor.hasMoreEntries() || !bounded) return cursor
        throw new CellarError(MetastoreErrorCode.illegalOp, 'outside')
      },
    }),
    found: ['ASC [y, z], above all rows, returns nothing', 'a range outside the rows is empty'],
  },
  'hasMoreEntries guesses': {
    defect: cursors(() => ({ hasMoreEntries: () => true })),
    found: [
      'reading at the end returns nothing, also in an empty table',
      'after every page hasMoreEntries tells the truth',
      'a closed cursor has no more entries, and reading it gives IllegalOp',
    ],
  },
  'a read returns one entry too many': {
    defect: cursors((cursor) => ({
      asyncReadEntries: (count) => cursor.asyncReadEntries(count === 2 ? 3 : count),
    })),
    found: [
      'a read returns no more than asked for; a negative count gives IllegalOp',
      'reads with and without promise go on where the other stopped',
    ],
  },
  'cursors are live': {
    defect: (table) =>
      cursors((cursor) => ({
        asyncReadEntries: async (count) => {
          const items = await cursor.asyncReadEntries(count)
          return Promise.all(
            items.map(async ({ key, value }) => {
              return { key, value: await table.get(key).catch(() => value) }
            }),
          )
        },
      }))(table),
    found: ['writes after the opening change neither the keys of a cursor nor its versions'],
  },
  'one watcher per key': {
    defect: (table) => {
      const only = new Map<string, () => void>()
      return {
        get: (key, options) => {
          const watcher = options?.watcher
          if (watcher === undefined) return table.get(key, options)
          only.get(key)?.()
          only.set(key, () => table.unwatch(key, watcher))
          return table.get(key, options)
        },
      }
    },
    found: ['all watchers of a key are told, through whatever handle'],
  },
  'buffers are shared': {
    defect: (table) => {
      const shared = new Map<string, Promise<Awaited<ReturnType<typeof table.get>>>>()
      return {
        get: (key, options) => {
          if (options !== undefined) return table.get(key, options)
          if (!shared.has(key)) shared.set(key, table.get(key))
          return shared.get(key)!
        },
        put: (key, value, version) => {
          shared.delete(key)
          return table.put(key, value, version)
        },
        remove: (key, version) => {
          shared.delete(key)
          return table.remove(key, version)
        },
      }
    },
    found: ['buffers that went in or came out are not the stored ones'],
  },
  'answers overtake each other': {
    defect: (table) => ({
      get: async (key, options) => {
        await new Promise((resolve) => setImmediate(resolve))
        return table.get(key, options)
      },
    }),
    found: ['operations that nobody awaits end in their order and see each other'],
  },
}

for (const [what, { defect, found }] of Object.entries({ ...defects, ...strictDefects })) {
  void t.test(`planted: ${what}`, async (t) => {
    const failed = await failures(defect)
    t.comment(`failed: ${failed.join(', ') || 'none'}`)
    if (found.length === 0) t.strictSame(failed, [])
    for (const name of found) t.ok(failed.includes(name), name)
  })
}
