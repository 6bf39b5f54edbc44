/** Cases about the order of operations, concurrent writers, callbacks and watchers. */
import { ALL_FIELDS, Value, Version } from '../../../src/systems/metastore/index.js'
import type {
  CallbackCursor,
  MetastoreWatcher,
  Versioned,
  WatchedEvent,
} from '../../../src/systems/metastore/index.js'
import { outcome, turns } from '../kit.js'
import {
  called,
  fields,
  keysOf,
  shown,
  valueText,
  withCallbacks,
  type MetastoreCase,
} from './case.js'

const writers = 100

/** How often each outcome came, as text. */
async function tally(promises: readonly Promise<unknown>[]): Promise<string> {
  const counts = new Map<string, number>()
  for (const result of await Promise.all(promises.map(outcome))) {
    counts.set(result, (counts.get(result) ?? 0) + 1)
  }
  return [...counts]
    .map(([result, count]) => `${count} ${result}`)
    .sort()
    .join(', ')
}

/** The cases. */
export const orderCases: readonly MetastoreCase[] = [
  {
    name: 'operations that nobody awaits end in their order and see each other',
    source: 'one thread per table',
    run: async (t, { table }) => {
      const opened = await table()
      const ended: string[] = []
      const note = <T>(name: string, promise: Promise<T>): Promise<T> => {
        const noted = (): void => void ended.push(name)
        promise.then(noted, noted)
        return promise
      }
      const all = [
        note('create', opened.put('test', fields({ a: '1', b: '1' }), Version.NEW)),
        note('other', opened.put('other', fields(), Version.NEW)),
        note('merge', opened.put('test', fields({ a: '2' }), Version.ANY)),
        note('get', opened.get('test')),
        note('wrong', opened.put(null as never, fields(), Version.NEW)),
        note('cursor', opened.openCursor()),
        note('later', opened.put('later', fields(), Version.NEW)),
        note('absent', opened.get('absent')),
        note('remove', opened.remove('test', Version.ANY)),
        note('get again', opened.get('test')),
      ] as const
      await Promise.allSettled(all)
      const names = 'create other merge get wrong cursor later absent remove get again'
      t.equal(ended.join(' '), names, 'order of the answers')
      t.equal(valueText((await all[3]).value), 'a=2 b=1', 'the get sees both puts')
      t.equal(await outcome(all[9]), 'ERR_METASTORE_NO_KEY', 'the last get sees the remove')
      const keys = (await keysOf(await all[5])).sort().join(' ')
      t.equal(keys, 'other test', 'the cursor sees what was called before it and nothing else')
    },
  },
  {
    name: 'of concurrent puts that expect the same, one wins',
    run: async (t, { table, store }) => {
      const opened = await table()
      const second = await store.createTable(opened.getName())
      const tables = Array.from({ length: writers }, (_, i) => (i % 2 === 0 ? opened : second))
      const put = (version: Version): Promise<string> =>
        tally(tables.map((each, i) => each.put('test', fields({ by: `${i}` }), version)))
      const rest = writers - 1
      t.equal(await put(Version.NEW), `1 OK, ${rest} ERR_METASTORE_KEY_EXISTS`, 'NEW')
      const { version } = await opened.get('test')
      t.equal(await put(version), `1 OK, ${rest} ERR_METASTORE_BAD_VERSION`, 'a version')
      const current = (await opened.get('test')).version
      const removes = await tally(tables.map((each) => each.remove('test', current)))
      t.equal(removes, `1 OK, ${rest} ERR_METASTORE_NO_KEY`, 'remove')
    },
  },
  {
    name: 'every callback gets the very context of its call, once, and never at once',
    run: async (t, { table, capabilities }) => {
      const opened = await table()
      const api = withCallbacks(opened)
      const context = { very: 'this one' }
      const put = await called<Version>((done) => {
        api.put('test', fields({ a: '1' }), Version.NEW, done, context)
      })
      const get = await called<Versioned<Value>>((done) => {
        api.get('test', ALL_FIELDS, done, context)
      })
      const absent = await called<Versioned<Value>>((done) => {
        api.get('absent', ALL_FIELDS, done, context)
      })
      const cursor = await called<CallbackCursor>((done) => {
        api.openCursor(ALL_FIELDS, done, context)
      })
      const page = await called((done) => cursor.value!.asyncReadEntries(10, done, context))
      const removed = await called<void>((done) => {
        api.remove('test', Version.ANY, done, context)
      })
      const answers = { put, get, absent, cursor, page, removed }
      for (const [name, answer] of Object.entries(answers)) {
        t.equal(answer.context === context, true, `context of ${name}`)
        t.equal(answer.calls, 1, `calls for ${name}`)
        t.equal(answer.code, name === 'absent' ? -2 : 0, `return code of ${name}`)
      }
      t.equal(absent.value, null, 'no value with an error')
      if (!capabilities.watchers) return
      const watched = await called<Versioned<Value>>((done) => {
        api.getWatched('test', () => undefined, done, null)
      })
      t.equal(watched.context, null, 'a context may be null')
    },
  },
  {
    name: 'a callback that throws damages nothing',
    source: 'the executor swallows what callbacks throw',
    run: async (t, { table }) => {
      const opened = await table()
      const errors: unknown[] = []
      const api = withCallbacks(opened, errors)
      const failure = new Error('thrown by a callback')
      api.put(
        'test',
        fields({ a: '1' }),
        Version.NEW,
        () => {
          throw failure
        },
        null,
      )
      const next = await called<Version>((done) => {
        api.put('test', fields({ a: '2' }), Version.ANY, done, null)
      })
      t.equal(next.code, 0, 'the next operation')
      t.equal(errors.length === 1 && errors[0] === failure, true, 'the error was handed over')
      t.equal(await shown(opened, 'test'), 'a=2', 'row')
    },
  },
  {
    name: 'callbacks that start the next operation do not grow the stack',
    source: 'readSubscriptions calls itself from its own callback',
    run: async (t, { table }) => {
      const opened = await table()
      const api = withCallbacks(opened)
      await opened.put('test', fields(), Version.NEW)
      let left = 20_000
      await new Promise<void>((resolve) => {
        const again = (): void => {
          if (left-- === 0) resolve()
          else api.get('test', ALL_FIELDS, again, null)
        }
        again()
      })
      t.equal(left, -1, 'all calls were answered')
    },
  },
  {
    name: 'a watcher is told of one change, and of a creation',
    needs: 'watchers',
    run: async (t, { table }) => {
      const opened = await table()
      const events: string[] = []
      const watcher: MetastoreWatcher = ({ type, key }) => events.push(`${type} ${key}`)
      const told = async (): Promise<string> => {
        await turns(3)
        return events.splice(0).join(', ')
      }
      await opened.put('test', fields(), Version.NEW)
      await opened.get('test', { watcher })
      t.equal(await told(), '', 'the get tells nothing')
      await opened.put('test', fields({ a: '1' }), Version.ANY)
      t.equal(await told(), 'CHANGED test', 'the first put')
      await opened.put('test', fields({ a: '2' }), Version.ANY)
      t.equal(await told(), '', 'the second put')
      await opened.get('test', { watcher })
      await outcome(opened.put('test', fields(), Version.NEW))
      await outcome(opened.get('absent'))
      t.equal(await told(), '', 'a put that fails tells nothing')
      await opened.remove('test', Version.ANY)
      t.equal(await told(), 'REMOVED test', 'the remove')
      await outcome(opened.get('test', { watcher }))
      await opened.put('test', fields(), Version.NEW)
      t.equal(await told(), 'CHANGED test', 'the creation of a row that was absent')
      await opened.get('test', { watcher })
      t.equal(opened.unwatch('test', watcher), true, 'taken back')
      t.equal(opened.unwatch('test', watcher), false, 'taken back again')
      await opened.remove('test', Version.ANY)
      t.equal(await told(), '', 'nothing after that')
    },
  },
  {
    name: 'a watcher is told after the callback of the change and before that of the next call',
    source: 'one thread per table',
    needs: 'watchers',
    run: async (t, { table }) => {
      const opened = await table()
      const api = withCallbacks(opened)
      const seen: string[] = []
      await opened.put('test', fields(), Version.NEW)
      api.getWatched(
        'test',
        () => seen.push('event'),
        () => seen.push('get'),
        null,
      )
      api.put('test', fields(), Version.ANY, () => seen.push('put'), null)
      await called((done) => {
        api.get(
          'test',
          ALL_FIELDS,
          (...answer) => {
            seen.push('next')
            done(...answer)
          },
          null,
        )
      })
      t.equal(seen.join(' '), 'get put event next', 'order')
    },
  },
  {
    name: 'all watchers of a key are told, through whatever handle',
    source: 'the in-memory original has one place per key',
    needs: 'watchers',
    run: async (t, { table, space }) => {
      const opened = await table()
      const otherStore = await space.open()
      const other = await otherStore.createTable(opened.getName())
      await opened.put('test', fields(), Version.NEW)
      const told: WatchedEvent[] = []
      const watchers = Array.from(
        { length: 10 },
        (): MetastoreWatcher => (event) => told.push(event),
      )
      const failing: MetastoreWatcher = () => {
        throw new Error('thrown by a watcher')
      }
      const warnings: unknown[] = []
      const onWarning = (warning: unknown): void => void warnings.push(warning)
      process.on('warning', onWarning)
      await opened.get('test', { watcher: failing })
      for (const [i, watcher] of watchers.entries()) {
        await (i % 2 === 0 ? opened : other).get('test', { watcher })
      }
      await other.put('test', fields(), Version.ANY)
      await turns(3)
      process.off('warning', onWarning)
      t.equal(told.length, watchers.length, 'all were told, although one throws')
      t.equal(
        told.every(({ type, key }) => type === 'CHANGED' && key === 'test'),
        true,
        'events',
      )
      await otherStore.close()
    },
  },
]
