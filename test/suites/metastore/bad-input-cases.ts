/**
 * Bad input: the right code, nothing changed, every callback called exactly once; and keys that
 * look bad but are good.
 */
import { ALL_FIELDS, ReturnCode, Version } from '../../../src/systems/metastore/index.js'
import type {
  FieldSelection,
  KeyRange,
  MetastoreCallback,
  MetastoreScannableTable,
} from '../../../src/systems/metastore/index.js'
import { outcome, thrown, turns, type SuiteTest } from '../kit.js'
import {
  called,
  fields,
  fill,
  keysOf,
  range,
  shown,
  withCallbacks,
  type Fixture,
  type MetastoreCase,
} from './case.js'

const illegal = 'ERR_METASTORE_ILLEGAL_OP'
const missing = null as never

/** All rows of a table with their versions, as text. */
async function contents(table: MetastoreScannableTable): Promise<string> {
  const lines: string[] = []
  for await (const { key, value } of await table.openCursor()) {
    lines.push(`${key}: ${value.value.toString()} ${value.version.toString()}`)
  }
  return lines.sort().join('\n')
}

type Start = (callback: MetastoreCallback<unknown>) => void

/** Every operation with every argument that can be wrong. */
function mistakes(table: MetastoreScannableTable, fixture: Fixture): Record<string, Start> {
  const api = withCallbacks(table)
  const { foreignVersion, capabilities } = fixture
  const value = fields({ a: 'changed' })
  const badKeys: Record<string, unknown> = {
    null: null,
    undefined,
    number: 7,
    bytes: Buffer.from('a'),
    'lone high surrogate': 'a\ud800',
    'lone low surrogate': '\udc00a',
    'key that is too long': 'k'.repeat(capabilities.keyBytesMax + 1),
    'key too long as UTF-8': 'é'.repeat((capabilities.keyBytesMax >> 1) + 1),
  }
  const badVersions: Record<string, unknown> = {
    null: null,
    undefined,
    foreign: foreignVersion,
    number: 1,
    text: 'NEW',
  }
  const badFields: Record<string, unknown> = { text: 'a', array: ['a'], name: new Set([7]) }
  const starts: Record<string, Start> = {}
  for (const [what, bad] of Object.entries(badKeys)) {
    const key = bad as string
    starts[`get, key ${what}`] = (done) => api.get(key, ALL_FIELDS, done, null)
    starts[`put, key ${what}`] = (done) => api.put(key, value, Version.NEW, done, null)
    starts[`remove, key ${what}`] = (done) => api.remove(key, Version.ANY, done, null)
    if (!capabilities.scannable || bad === null) continue
    const asked: KeyRange = { ...range('', ''), lastKey: key }
    starts[`range, key ${what}`] = (done) => api.openRange(asked, ALL_FIELDS, done, null)
  }
  for (const [what, bad] of Object.entries(badVersions)) {
    const version = bad as Version
    starts[`put, version ${what}`] = (done) => api.put('a', value, version, done, null)
    starts[`remove, version ${what}`] = (done) => api.remove('a', version, done, null)
  }
  for (const [what, bad] of Object.entries(badFields)) {
    const selection = bad as FieldSelection
    starts[`get, fields ${what}`] = (done) => api.get('a', selection, done, null)
    starts[`cursor, fields ${what}`] = (done) => api.openCursor(selection, done, null)
  }
  starts['put, value null'] = (done) => api.put('a', missing, Version.ANY, done, null)
  starts['put, value is no Value'] = (done) => {
    api.put('a', { a: '1' } as never, Version.ANY, done, null)
  }
  starts['put, field name without UTF-8 form'] = (done) => {
    api.put('a', fields({ '\ud800': '1' }), Version.ANY, done, null)
  }
  starts['get, watcher null'] = (done) => api.getWatched('a', missing, done, null)
  if (!capabilities.scannable) return starts
  const ranges: Record<string, unknown> = {
    null: null,
    'inverted ASC': range('[b', '[a'),
    'inverted DESC': range('[a', '[b', 'DESC'),
    'order null': range('[a', '[b', missing),
    'order unknown': range('[a', '[b', 'UP' as never),
    'flag missing': { firstKey: 'a', lastKey: 'b', order: 'ASC' },
  }
  for (const [what, bad] of Object.entries(ranges)) {
    starts[`range, ${what}`] = (done) => api.openRange(bad as KeyRange, ALL_FIELDS, done, null)
  }
  return starts
}

async function checkKeys(t: SuiteTest, table: MetastoreScannableTable, keys: readonly string[]) {
  for (const key of keys) {
    const what = key.length > 20 ? `${key.length} characters` : JSON.stringify(key)
    await table.put(key, fields({ name: 'first' }), Version.NEW)
    const again = table.put(key, fields({ name: 'again' }), Version.NEW)
    t.equal(await outcome(again), 'ERR_METASTORE_KEY_EXISTS', `${what} exists`)
    t.equal(await shown(table, key), 'name=first', `${what} is read`)
  }
  const found = await keysOf(await table.openCursor())
  t.equal(JSON.stringify(found.sort()), JSON.stringify([...keys].sort()), 'all are listed')
  for (const key of keys) await table.remove(key, Version.ANY)
  t.equal((await keysOf(await table.openCursor())).length, 0, 'all are removed')
}

/** The cases. */
export const badInputCases: readonly MetastoreCase[] = [
  {
    name: 'wrong arguments give IllegalOp, change nothing, and are answered once',
    run: async (t, fixture) => {
      const table = await fixture.table()
      await fill(table, ['a', 'b'])
      const before = await contents(table)
      for (const [what, start] of Object.entries(mistakes(table, fixture))) {
        const { code, value, calls } = await called(start)
        t.equal(`${code} ${String(value)} ${calls}`, `${ReturnCode.IllegalOp} null 1`, what)
      }
      t.equal(await contents(table), before, 'nothing was changed')
    },
  },
  {
    name: 'a callback that is no function is refused at the call, and nothing is done',
    run: async (t, { table, capabilities }) => {
      const opened = await table()
      await fill(opened, ['a', 'b'])
      const before = await contents(opened)
      const api = withCallbacks(opened)
      const none = null as never
      const calls: Record<string, () => void> = {
        get: () => api.get('a', ALL_FIELDS, none, null),
        watch: () => api.getWatched('a', () => undefined, none, null),
        put: () => api.put('a', fields({ a: '1' }), Version.ANY, none, null),
        remove: () => api.remove('a', Version.ANY, none, null),
        cursor: () => api.openCursor(ALL_FIELDS, none, null),
      }
      if (capabilities.scannable) {
        calls.range = () => api.openRange(range('', ''), ALL_FIELDS, none, null)
      }
      for (const [what, call] of Object.entries(calls)) t.equal(thrown(call), illegal, what)
      await turns(3)
      t.equal(await contents(opened), before, 'nothing was changed')
    },
  },
  {
    name: 'operations after close give IllegalOp and change nothing; those before it end',
    run: async (t, { table, store, capabilities }) => {
      const opened = await table()
      await fill(opened, ['a', 'b', 'c'])
      const other = await store.createTable(opened.getName())
      const cursor = await opened.openCursor()
      const events: unknown[] = []
      if (capabilities.watchers) await opened.get('a', { watcher: (event) => events.push(event) })
      const last = opened.put('a', fields({ name: 'last' }), Version.ANY)
      opened.close()
      opened.close()
      const calls = [
        opened.get('a'),
        opened.put('a', fields({ name: 'x' }), Version.ANY),
        opened.remove('a', Version.ANY),
        opened.openCursor(),
        cursor.asyncReadEntries(1),
      ]
      for (const result of await Promise.all(calls.map(outcome))) {
        t.equal(result, illegal, 'after close')
      }
      t.equal(cursor.hasMoreEntries(), false, 'its cursors have no more')
      t.equal(await outcome(last), 'OK', 'before close')
      t.equal(await shown(other, 'a'), 'name=last', 'another handle goes on')
      await turns(3)
      t.equal(events.length, 0, 'its watchers are not told')
      t.equal(opened.getName(), other.getName(), 'the name stays')
    },
  },
  {
    name: 'keys with NUL, separators and 32 KB are keys like others',
    run: async (t, { table, capabilities }) => {
      const opened = await table()
      const { keyBytesMax, emptyKey } = capabilities
      const keys = [
        '\0',
        '\0\0',
        'a\0',
        'a\0b',
        'a',
        'a\u0001b',
        'a\u0002',
        '\u0001',
        '/',
        ':',
        '=',
      ]
      keys.push('a:b', 'a=b', 'ÿ', '\u{1f600}', '\uffff', 'k'.repeat(keyBytesMax))
      keys.push('é'.repeat(keyBytesMax >> 1))
      if (emptyKey) keys.push('')
      await checkKeys(t, opened, keys)
    },
  },
  {
    name: 'fields of any name do not touch each other, nor what the store keeps of its own',
    run: async (t, { table }) => {
      const opened = await table()
      const names = [
        '',
        '=',
        '.META',
        'owner',
        'r:',
        'version',
        '\0',
        'a\0b',
        '\u0001',
        'é',
        '__proto__x',
      ]
      const value = fields()
      for (const name of names) value.setField(name, `of ${name}`)
      const version = await opened.put('test', value, Version.NEW)
      const got = await opened.get('test')
      t.equal(got.value.equals(value), true, 'all fields')
      t.equal(got.version.compare(version), 'CONCURRENTLY', 'version')
      for (const name of names) {
        const one = await opened.get('test', { fields: new Set([name]) })
        t.equal(one.value.size, 1, `only ${JSON.stringify(name)}`)
        t.equal(
          one.value.getField(name)?.toString(),
          `of ${name}`,
          `bytes of ${JSON.stringify(name)}`,
        )
      }
      const cleared = fields()
      for (const name of names) cleared.setField(name, null)
      await opened.put('test', cleared, version)
      t.equal((await opened.get('test')).value.size, 0, 'all are gone, the row is there')
    },
  },
  {
    name: 'a large field is stored whole or refused whole',
    run: async (t, { table }) => {
      const opened = await table()
      const large = Buffer.alloc(1_000_000, 'large')
      await opened.put('test', fields({ large }), Version.NEW)
      t.equal(
        (await opened.get('test')).value.getField('large')?.equals(large),
        true,
        'one megabyte',
      )
      const huge = Buffer.alloc(40_000_000)
      const result = await outcome(opened.put('test', fields({ huge, small: '1' }), Version.ANY))
      const { value } = await opened.get('test')
      const whole = result === 'OK' ? 'huge,large,small' : 'large'
      t.equal([...value.getFields()].sort().join(), whole, '40 megabytes')
      t.equal(result === 'OK' || result === illegal, true, `outcome ${result}`)
    },
  },
]
