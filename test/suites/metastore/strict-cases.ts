/** Cases about what a store must not do to save work: fold keys, cut walks, merge, forget. */
import { Version } from '../../../src/systems/metastore/index.js'
import type {
  MetastoreGuardedTable,
  MetastoreScannableTable,
  MetastoreWatcher,
  WatchedEvent,
} from '../../../src/systems/metastore/index.js'
import { outcome, turns } from '../kit.js'
import { fields, fill, keysOf, shown, type MetastoreCase } from './case.js'

const badVersion = 'ERR_METASTORE_BAD_VERSION'

/** Texts that are equal to another one once case, space, form or width is ignored. */
const lookalikes = [
  ...['a', 'A', ' a', 'a ', 'a\t', '\na', '\ufeffa', 'a\u200d', '\u00a0a', 'ａ', 'aa'],
  ...['\u00e9', 'e\u0301', '\u00c9', '\u212b', '\u00c5', 'A\u030a'],
  ...['ß', 'ss', 'SS', 'ẞ', 'i', 'I', 'ı', 'İ', '1', '01', '１', '1.0', 'ﬁ', 'fi'],
]

/** A version that the store gave out later than any of row `test`. */
async function newerVersion(table: MetastoreScannableTable): Promise<Version> {
  let version = await table.put('other', fields(), Version.NEW)
  for (let i = 0; i < 5; i++) version = await table.put('other', fields(), version)
  return version
}

/** The cases. */
export const strictCases: readonly MetastoreCase[] = [
  {
    name: 'a put or remove at a newer version gives BadVersion and changes nothing',
    source: 'the version matches or it does not',
    run: async (t, { table }) => {
      const opened = await table()
      const first = await opened.put('test', fields({ a: '1' }), Version.NEW)
      const newer = await newerVersion(opened)
      t.equal(newer.compare(first), 'AFTER', 'the version is newer')
      t.equal(await outcome(opened.put('test', fields({ a: '2' }), newer)), badVersion, 'put')
      t.equal(await outcome(opened.put('test', fields(), newer)), badVersion, 'put of no fields')
      t.equal(await outcome(opened.remove('test', newer)), badVersion, 'remove')
      t.equal(await shown(opened, 'test'), 'a=1', 'the row is as it was')
      const { version } = await opened.get('test')
      t.equal(version.compare(first), 'CONCURRENTLY', 'its version too')
    },
  },
  {
    name: 'versions go on over closing and opening again',
    source: 'a version that comes back lets a stale holder write',
    run: async (t, { backend }) => {
      const space = await backend.create()
      try {
        let last: Version | undefined
        for (let life = 0; life < 3; life++) {
          const store = await space.open()
          const table = await store.createTable('reopened')
          for (const key of ['kept', 'removed']) {
            const isNew = last === undefined || key === 'removed'
            const before: Version = isNew ? Version.NEW : (await table.get(key)).version
            const next = await table.put(key, fields({ life: `${life}` }), before)
            if (last !== undefined) {
              t.equal(next.compare(last), 'AFTER', `${key} in life ${life}`)
              const stale = table.put(key, fields({ life: 'stale' }), last)
              t.equal(await outcome(stale), badVersion, `${key} at a version of before`)
            }
            if (key === 'removed') last = next
          }
          await table.remove('removed', last!)
          t.equal(await shown(table, 'kept'), `life=${life}`, 'the row')
          await store.close()
        }
      } finally {
        await space.dispose()
      }
    },
  },
  {
    name: 'a cursor returns all of thousands of rows, whatever the size of the page',
    source: 'a short listing deletes what is alive',
    run: async (t, { table }) => {
      const opened = await table()
      const keys = Array.from({ length: 4321 }, (_, i) => `row ${String(i).padStart(5, '0')}`)
      await fill(opened, keys)
      for (const page of [7, 999, 1000, 1001, 5000]) {
        const found = await keysOf(await opened.openCursor(), page)
        t.equal(found.length, keys.length, `${page} at a time`)
        t.equal(found.sort().join() === keys.join(), true, 'every row once')
      }
      let iterated = 0
      for await (const { key } of await opened.openCursor()) if (key !== '') iterated++
      t.equal(iterated, keys.length, 'as an iteration')
    },
  },
  {
    name: 'keys that look alike are different keys',
    source: 'keys are strings, compared as they are',
    run: async (t, { table }) => {
      const opened = await table()
      for (const key of lookalikes) {
        const created = await outcome(opened.put(key, fields({ of: key }), Version.NEW))
        t.equal(created, 'OK', `${JSON.stringify(key)} is new`)
      }
      const found = await keysOf(await opened.openCursor())
      t.equal(JSON.stringify(found.sort()), JSON.stringify([...lookalikes].sort()), 'as they were')
      for (const key of lookalikes) {
        t.equal(await shown(opened, key), `of=${key}`, `${JSON.stringify(key)} is its own row`)
        await opened.remove(key, Version.ANY)
      }
      t.equal((await keysOf(await opened.openCursor())).length, 0, 'each was removed by itself')
    },
  },
  {
    name: 'names of fields that look alike are different fields',
    source: 'names are strings, compared as they are',
    run: async (t, { table }) => {
      const opened = await table()
      const value = fields()
      for (const name of lookalikes) value.setField(name, `of ${name}`)
      await opened.put('test', value, Version.NEW)
      const got = await opened.get('test')
      t.equal(got.value.size, lookalikes.length, 'number of fields')
      t.equal(got.value.equals(value), true, 'all as they were')
    },
  },
  {
    name: 'every change is an event of its own, in order, with its type and key',
    source: 'one event for each watcher that was armed',
    needs: 'watchers',
    run: async (t, { table }) => {
      const opened = await table()
      await opened.put('a', fields(), Version.NEW)
      await opened.put('b', fields(), Version.NEW)
      const told: string[] = []
      const watcher = (name: string): MetastoreWatcher => {
        return ({ type, key }: WatchedEvent) => told.push(`${name} ${type} ${key}`)
      }
      // Nobody waits in between: all of it happens as fast as the store can.
      const all: Promise<unknown>[] = [
        opened.get('a', { watcher: watcher('first') }),
        opened.get('b', { watcher: watcher('other') }),
        opened.put('a', fields({ n: '1' }), Version.ANY),
        opened.get('a', { watcher: watcher('second') }),
        opened.put('a', fields({ n: '2' }), Version.ANY),
        opened.get('a', { watcher: watcher('third') }),
        opened.remove('a', Version.ANY),
        opened.put('b', fields({ n: '1' }), Version.ANY),
      ]
      await Promise.all(all)
      await turns(3)
      const wanted = 'first CHANGED a, second CHANGED a, third REMOVED a, other CHANGED b'
      t.equal(told.join(', '), wanted, 'events')
    },
  },
  {
    name: 'none of a hundred fields is lost',
    run: async (t, { table }) => {
      const opened = await table()
      const names = Array.from({ length: 100 }, (_, i) => `field ${i}`)
      const value = fields(Object.fromEntries(names.map((name) => [name, `value of ${name}`])))
      await opened.put('test', value, Version.NEW)
      t.equal((await opened.get('test')).value.equals(value), true, 'after a put')
      const [item] = await (await opened.openCursor()).asyncReadEntries(1)
      t.equal(item.value.value.equals(value), true, 'in a cursor')
      const selected = await opened.get('test', { fields: new Set(names) })
      t.equal(selected.value.equals(value), true, 'by name')
      await opened.put('test', fields({ 'field 50': 'changed' }), Version.ANY)
      value.setField('field 50', 'changed')
      t.equal((await opened.get('test')).value.equals(value), true, 'after a change of one')
      for (const name of names) await opened.put('test', fields({ [name]: null }), Version.ANY)
      t.equal((await opened.get('test')).value.size, 0, 'after each was deleted')
    },
  },
  {
    name: 'a guarded write is done only while the guarding row has the version',
    source: 'fences',
    needs: 'guards',
    run: async (t, { table }) => {
      const opened = (await table()) as MetastoreScannableTable & MetastoreGuardedTable
      const failed = 'ERR_METASTORE_GUARD_FAILED'
      const old = await opened.put('guard', fields(), Version.NEW)
      const guard = { key: 'guard', version: old }
      const first = await opened.putGuarded('test', fields({ a: '1' }), Version.NEW, guard)
      const second = await opened.putGuarded('test', fields({ a: '2' }), first, guard)
      t.equal(second.compare(first), 'AFTER', 'versions grow')
      const stale = opened.putGuarded('test', fields({ a: '3' }), first, guard)
      t.equal(await outcome(stale), badVersion, 'the row has another version')
      const exists = opened.putGuarded('test', fields(), Version.NEW, guard)
      t.equal(await outcome(exists), 'ERR_METASTORE_KEY_EXISTS', 'the row exists')
      const absent = opened.putGuarded('absent', fields(), Version.ANY, guard)
      t.equal(await outcome(absent), 'ERR_METASTORE_NO_KEY', 'the row does not exist')
      const next = await opened.put('guard', fields(), old)
      const late = [
        opened.putGuarded('test', fields({ a: '9' }), second, guard),
        opened.putGuarded('test', fields({ a: '9' }), Version.ANY, guard),
        opened.putGuarded('new', fields(), Version.NEW, guard),
        opened.removeGuarded('test', Version.ANY, guard),
        opened.putGuarded('new', fields(), Version.NEW, { key: 'nothing', version: old }),
      ]
      for (const result of await Promise.all(late.map(outcome))) t.equal(result, failed, 'late')
      t.equal(await shown(opened, 'test'), 'a=2', 'the row is as it was')
      t.equal(await shown(opened, 'new'), 'none', 'nothing was created')
      for (const version of [Version.NEW, Version.ANY, null as never]) {
        const wrong = opened.putGuarded('test', fields(), second, { key: 'guard', version })
        t.equal(await outcome(wrong), 'ERR_METASTORE_ILLEGAL_OP', 'no version of a row')
      }
      await opened.removeGuarded('test', second, { key: 'guard', version: next })
      t.equal(await shown(opened, 'test'), 'none', 'removed')
    },
  },
]
