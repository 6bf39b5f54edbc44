/** Cases about single rows: get, put, remove, versions. */
import { ALL_FIELDS, NON_FIELDS, Version } from '../../../src/systems/metastore/index.js'
import type { MetastoreTable } from '../../../src/systems/metastore/index.js'
import { outcome } from '../kit.js'
import { fields, shown, valueText, type MetastoreCase } from './case.js'

const both = { name: 'name0', counter: '0' }
const shapes: readonly Record<string, string>[] = [
  { name: 'n', counter: 'c' },
  { name: 'n' },
  { counter: 'c' },
]

function create(table: MetastoreTable): Promise<Version> {
  return table.put('test', fields(both), Version.NEW)
}

/** The cases. */
export const tableCases: readonly MetastoreCase[] = [
  {
    name: 'get of an absent row gives NoKey',
    source: 'TestMetaStore#testNonExistent',
    run: async (t, { table }) => {
      t.equal(await outcome((await table()).get('test')), 'ERR_METASTORE_NO_KEY', 'all fields')
    },
  },
  {
    name: 'get of a field of an absent row gives NoKey',
    source: 'TestMetaStore#testNonExistent',
    run: async (t, { table }) => {
      const got = (await table()).get('test', { fields: new Set(['counter']) })
      t.equal(await outcome(got), 'ERR_METASTORE_NO_KEY', 'one field')
    },
  },
  {
    name: 'get of all fields returns them and the version of the put',
    source: 'TestMetaStore#testGet',
    run: async (t, { table }) => {
      const opened = await table()
      const version = await create(opened)
      const got = await opened.get('test', { fields: ALL_FIELDS })
      t.equal(valueText(got.value), 'counter=0 name=name0', 'fields')
      t.equal(got.version.compare(version), 'CONCURRENTLY', 'version')
    },
  },
  {
    name: 'get of one field returns it under the version of the row',
    source: 'TestMetaStore#testGet',
    run: async (t, { table }) => {
      const opened = await table()
      const version = await create(opened)
      const got = await opened.get('test', { fields: new Set(['name']) })
      t.equal(valueText(got.value), 'name=name0', 'fields')
      t.equal(got.value.getField('counter'), null, 'a field that was not asked for')
      t.equal(got.version.compare(version), 'CONCURRENTLY', 'version')
      const none = await opened.get('test', { fields: NON_FIELDS })
      t.equal(none.value.size, 0, 'no fields')
      t.equal(none.version.compare(version), 'CONCURRENTLY', 'version without fields')
    },
  },
  {
    name: 'get of the null key gives IllegalOp, whatever the fields',
    source: 'TestMetaStore#testGet',
    run: async (t, { table }) => {
      const opened = await table()
      for (const wanted of [NON_FIELDS, ALL_FIELDS, new Set(['name'])]) {
        const got = opened.get(null as unknown as string, { fields: wanted })
        t.equal(await outcome(got), 'ERR_METASTORE_ILLEGAL_OP', `${wanted?.size ?? 'all'} fields`)
      }
    },
  },
  {
    name: 'put of one field at the current version keeps the others',
    source: 'TestMetaStore#testPut',
    run: async (t, { table }) => {
      const opened = await table()
      const first = await create(opened)
      const second = await opened.put('test', fields({ name: 'name1' }), first)
      t.equal(second.compare(first), 'AFTER', 'the new version')
      t.equal(first.compare(second), 'BEFORE', 'the old version')
      t.equal(await shown(opened, 'test'), 'counter=0 name=name1', 'fields')
      t.equal((await opened.get('test')).version.compare(second), 'CONCURRENTLY', 'stored version')
    },
  },
  {
    name: 'put of both fields at the current version changes both',
    source: 'TestMetaStore#testPut',
    run: async (t, { table }) => {
      const opened = await table()
      await opened.put('test', fields({ name: 'name2', counter: '2' }), await create(opened))
      t.equal(await shown(opened, 'test'), 'counter=2 name=name2', 'fields')
    },
  },
  {
    name: 'put with ANY merges into the row',
    source: 'TestMetaStore#testPut',
    run: async (t, { table }) => {
      const opened = await table()
      let before = await create(opened)
      const wanted = ['counter=c name=n', 'counter=c2 name=n', 'counter=c2 name=n2']
      const puts: Record<string, string>[] = [
        { name: 'n', counter: 'c' },
        { counter: 'c2' },
        { name: 'n2' },
      ]
      for (const [index, put] of puts.entries()) {
        const version = await opened.put('test', fields(put), Version.ANY)
        t.equal(version.compare(Version.ANY), 'CONCURRENTLY', 'the new version matches ANY')
        t.equal(version.compare(before), 'AFTER', 'the new version is newer')
        t.equal(await shown(opened, 'test'), wanted[index], 'fields')
        before = version
      }
    },
  },
  {
    name: 'put at a version that was never given out gives BadVersion',
    source: 'TestMetaStore#testPut',
    run: async (t, { table, capabilities }) => {
      const opened = await table()
      const version = await create(opened)
      for (const shape of shapes) {
        const put = opened.put('test', fields(shape), capabilities.unissuedVersion)
        t.equal(await outcome(put), 'ERR_METASTORE_BAD_VERSION', Object.keys(shape).join(' and '))
      }
      t.equal(await shown(opened, 'test'), 'counter=0 name=name0', 'the row is as it was')
      t.equal(
        (await opened.get('test')).version.compare(version),
        'CONCURRENTLY',
        'its version too',
      )
    },
  },
  {
    name: 'put at a version gives NoKey if the row was removed',
    source: 'TestMetaStore#testPut',
    run: async (t, { table, capabilities }) => {
      const opened = await table()
      const version = await create(opened)
      await opened.remove('test', Version.ANY)
      for (const shape of shapes) {
        for (const expected of [capabilities.unissuedVersion, version, Version.ANY]) {
          const put = opened.put('test', fields(shape), expected)
          t.equal(await outcome(put), 'ERR_METASTORE_NO_KEY', `at ${expected.toString()}`)
        }
      }
      t.equal(await shown(opened, 'test'), 'none', 'the row is still absent')
    },
  },
  {
    name: 'put of null values or versions gives IllegalOp',
    source: 'TestMetaStore#testPut',
    run: async (t, { table }) => {
      const opened = await table()
      const missing = null as never
      const puts: [string, Promise<unknown>][] = [
        ['value', opened.put('test', missing, Version.NEW)],
        ['version', opened.put('test', fields(both), missing)],
        ['both', opened.put('test', missing, missing)],
        ['key', opened.put(missing, fields(both), Version.NEW)],
      ]
      const results = await Promise.all(puts.map(([, put]) => outcome(put)))
      for (const [index, result] of results.entries()) {
        t.equal(result, 'ERR_METASTORE_ILLEGAL_OP', `null ${puts[index][0]}`)
      }
      t.equal(await shown(opened, 'test'), 'none', 'nothing was written')
    },
  },
  {
    name: 'a removed row can be created again',
    source: 'TestMetaStore#testRemove',
    run: async (t, { table }) => {
      const opened = await table()
      await create(opened)
      t.equal(await outcome(opened.remove('test', Version.ANY)), 'OK', 'remove')
      t.equal(await outcome(opened.remove('test', Version.ANY)), 'ERR_METASTORE_NO_KEY', 'again')
      t.equal(await outcome(opened.put('test', fields({ name: 'x' }), Version.NEW)), 'OK', 'put')
      t.equal(await shown(opened, 'test'), 'name=x', 'nothing of the removed row came back')
    },
  },
  {
    name: 'remove at a version that does not match gives BadVersion',
    source: 'TestMetaStore#testRemove',
    run: async (t, { table, capabilities }) => {
      const opened = await table()
      const old = await create(opened)
      await opened.put('test', fields({ counter: '1' }), old)
      for (const version of [capabilities.unissuedVersion, old, Version.NEW]) {
        const removed = opened.remove('test', version)
        t.equal(await outcome(removed), 'ERR_METASTORE_BAD_VERSION', version.toString())
      }
      t.equal(await shown(opened, 'test'), 'counter=1 name=name0', 'the row is as it was')
      const absent = opened.remove('absent', Version.NEW)
      t.equal(await outcome(absent), 'ERR_METASTORE_NO_KEY', 'NEW on an absent row')
    },
  },
  {
    name: 'remove at the current version removes',
    source: 'TestMetaStore#testRemove',
    run: async (t, { table }) => {
      const opened = await table()
      const version = await create(opened)
      t.equal(await outcome(opened.remove('test', version)), 'OK', 'remove')
      t.equal(await shown(opened, 'test'), 'none', 'row')
      t.equal(await outcome(opened.remove('test', version)), 'ERR_METASTORE_NO_KEY', 'again')
    },
  },
  {
    name: 'a null field is deleted; a row without fields goes on to exist',
    run: async (t, { table }) => {
      const opened = await table()
      await opened.put('test', fields({ a: '1' }), Version.NEW)
      await opened.put('test', fields({ a: null, b: 'x' }), Version.ANY)
      t.equal(await shown(opened, 'test'), 'b=x', 'a is gone, b is set')
      await opened.put('test', fields({ b: null }), Version.ANY)
      const got = await opened.get('test')
      t.equal(got.value.size, 0, 'no fields')
      const cursor = await opened.openCursor()
      t.equal((await cursor.asyncReadEntries(2)).length, 1, 'cursors return the row')
    },
  },
  {
    name: 'a row can be created without fields',
    run: async (t, { table }) => {
      const opened = await table()
      const version = await opened.put('test', fields(), Version.NEW)
      const got = await opened.get('test')
      t.equal(got.value.size, 0, 'no fields')
      t.equal(got.version.compare(version), 'CONCURRENTLY', 'version')
      const again = opened.put('test', fields(), Version.NEW)
      t.equal(await outcome(again), 'ERR_METASTORE_KEY_EXISTS', 'created again')
      const next = await opened.put('test', fields(), version)
      t.equal(next.compare(version), 'AFTER', 'a put without fields advances the version')
    },
  },
  {
    name: 'an empty field is not an absent one',
    run: async (t, { table }) => {
      const opened = await table()
      await opened.put('test', fields({ empty: '' }), Version.NEW)
      const { value } = await opened.get('test')
      t.equal(value.getField('empty')?.length, 0, 'length')
      t.equal(value.getField('absent'), null, 'an absent field')
    },
  },
  {
    name: 'a version of another kind gives IllegalOp; the in-memory original never answers',
    run: async (t, { table, foreignVersion }) => {
      const opened = await table()
      await create(opened)
      for (const key of ['test', 'absent']) {
        const put = opened.put(key, fields(both), foreignVersion)
        t.equal(await outcome(put), 'ERR_METASTORE_ILLEGAL_OP', `put to ${key}`)
        const removed = opened.remove(key, foreignVersion)
        t.equal(await outcome(removed), 'ERR_METASTORE_ILLEGAL_OP', `remove of ${key}`)
      }
      t.equal(await shown(opened, 'test'), 'counter=0 name=name0', 'nothing was changed')
    },
  },
  {
    name: 'a version from before a removal does not match the row that came after',
    source: 'ABA',
    run: async (t, { table }) => {
      const opened = await table()
      const versions: Version[] = []
      for (let life = 0; life < 3; life++) {
        for (const old of versions) {
          const stale = opened.put('test', fields({ name: 'stale' }), old)
          t.equal(await outcome(stale), 'ERR_METASTORE_NO_KEY', 'while the row is absent')
        }
        versions.push(await create(opened))
        for (const old of versions.slice(0, -1)) {
          const stale = opened.put('test', fields({ name: 'stale' }), old)
          t.equal(await outcome(stale), 'ERR_METASTORE_BAD_VERSION', 'put')
          t.equal(await outcome(opened.remove('test', old)), 'ERR_METASTORE_BAD_VERSION', 'remove')
        }
        t.equal(await shown(opened, 'test'), 'counter=0 name=name0', 'the row is as it was')
        await opened.remove('test', versions[life])
      }
    },
  },
  {
    name: 'buffers that went in or came out are not the stored ones',
    run: async (t, { table }) => {
      const opened = await table()
      const bytes = Buffer.from('before')
      const value = fields({ name: bytes })
      const put = opened.put('test', value, Version.NEW)
      bytes.fill('x')
      value.setField('later', 'x')
      await put
      t.equal(await shown(opened, 'test'), 'name=before', 'changed after the call')
      const got = await opened.get('test')
      got.value.getField('name')!.fill('y')
      t.equal(await shown(opened, 'test'), 'name=before', 'changed after a get')
      const [item] = await (await opened.openCursor()).asyncReadEntries(1)
      item.value.value.getField('name')!.fill('z')
      t.equal(await shown(opened, 'test'), 'name=before', 'changed after a cursor')
    },
  },
]
