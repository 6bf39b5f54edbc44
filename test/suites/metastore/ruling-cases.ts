/** The rulings of section 7 that concern stores and tables, as far as no case above is the same. */
import { cleanTable, Version } from '../../../src/systems/metastore/index.js'
import { outcome, thrown } from '../kit.js'
import { fields, fill, keysOf, range, shown, valueText, type MetastoreCase } from './case.js'

const illegal = 'ERR_METASTORE_ILLEGAL_OP'

/** The cases. */
export const rulingCases: readonly MetastoreCase[] = [
  {
    name: 'a range outside the rows is empty',
    needs: 'scannable',
    run: async (t, { table }) => {
      const opened = await table()
      await fill(opened, ['m\u0001a', 'm\u0001b'])
      for (const topic of ['a', 'm\u0000', 'z']) {
        const asked = range(`[${topic}\u0001`, `[${topic}\u0002`)
        t.equal((await keysOf(await opened.openRange(asked))).length, 0, JSON.stringify(topic))
      }
    },
  },
  {
    name: 'an inverted range and a missing order are refused in an empty table as well',
    needs: 'scannable',
    run: async (t, { table }) => {
      const opened = await table()
      t.equal(await outcome(opened.openRange(range('[b', '[a'))), illegal, 'ASC')
      t.equal(await outcome(opened.openRange(range('[a', '[b', 'DESC'))), illegal, 'DESC')
      t.equal(await outcome(opened.openRange(range('[a', '[b', null as never))), illegal, 'null')
    },
  },
  {
    name: 'a closed cursor has no more entries, and reading it gives IllegalOp',
    run: async (t, { table, capabilities }) => {
      const opened = await table()
      await fill(opened, ['a', 'b', 'c'])
      for (const read of [0, 1, 3]) {
        const cursor = await opened.openCursor()
        await cursor.asyncReadEntries(read)
        cursor.close()
        cursor.close()
        t.equal(cursor.hasMoreEntries(), false, `after ${read} rows`)
        t.equal(await outcome(cursor.asyncReadEntries(1)), illegal, 'with a promise')
        if (capabilities.synchronousReads) {
          t.equal(
            thrown(() => cursor.readEntries(1)),
            illegal,
            'at once',
          )
        }
      }
      const cursor = await opened.openCursor()
      for await (const item of cursor) if (item.key === 'b') break
      t.equal(cursor.hasMoreEntries(), false, 'leaving a loop closes the cursor')
    },
  },
  {
    name: 'versions of a row grow with every put, over removal too',
    run: async (t, { table }) => {
      const opened = await table()
      let last = await opened.put('test', fields(), Version.NEW)
      for (let i = 0; i < 30; i++) {
        if (i % 5 === 4) await opened.remove('test', last)
        const next = await opened.put('test', fields(), i % 5 === 4 ? Version.NEW : last)
        const order = `${next.compare(last)} ${last.compare(next)}`
        if (order !== 'AFTER BEFORE') t.equal(order, 'AFTER BEFORE', `put ${i}`)
        last = next
      }
      const stored = (await opened.get('test')).version.compare(last)
      t.equal(stored, 'CONCURRENTLY', 'the last one is stored')
    },
  },
  {
    name: 'a null field of a new row is dropped',
    run: async (t, { table }) => {
      const opened = await table()
      await opened.put('test', fields({ a: null, b: '1' }), Version.NEW)
      const { value } = await opened.get('test')
      t.equal([...value.getFields()].join(), 'b', 'names')
    },
  },
  {
    name: 'a field that is asked for and absent reads as null and is not listed',
    run: async (t, { table }) => {
      const opened = await table()
      await opened.put('test', fields({ a: '1' }), Version.NEW)
      const selection = new Set(['a', 'b'])
      const { value } = await opened.get('test', { fields: selection })
      t.equal(value.getField('b'), null, 'field')
      t.equal([...value.getFields()].join(), 'a', 'names')
      const [item] = await (await opened.openCursor(selection)).asyncReadEntries(1)
      t.equal([...item.value.value.getFields()].join(), 'a', 'names in a cursor')
      const only = await opened.get('test', { fields: new Set(['b']) })
      t.equal(only.value.size, 0, 'a row of which nothing was asked for is still there')
    },
  },
  {
    name: 'NEW never changes or removes a row that exists',
    run: async (t, { table }) => {
      const opened = await table()
      await opened.put('test', fields({ a: '1' }), Version.NEW)
      const put = opened.put('test', fields({ a: '2' }), Version.NEW)
      t.equal(await outcome(put), 'ERR_METASTORE_KEY_EXISTS', 'put')
      const removed = opened.remove('test', Version.NEW)
      t.equal(await outcome(removed), 'ERR_METASTORE_BAD_VERSION', 'remove')
      t.equal(await shown(opened, 'test'), 'a=1', 'row')
    },
  },
  {
    name: 'store objects of one place see the same tables, and the data outlives them',
    run: async (t, { table, space }) => {
      const opened = await table()
      const name = opened.getName()
      const first = await space.open()
      const second = await space.open()
      const one = await first.createTable(name)
      const two = await second.createTable(name)
      const version = await one.put('test', fields({ a: '1' }), Version.NEW)
      t.equal(await shown(two, 'test'), 'a=1', 'the other store object')
      await two.put('test', fields({ b: '2' }), version)
      t.equal(await shown(opened, 'test'), 'a=1 b=2', 'a handle from before')
      await first.close()
      await second.close()
      t.equal(await outcome(one.get('test')), illegal, 'a handle of a closed store')
      const third = await space.open()
      t.equal(await shown(await third.createTable(name), 'test'), 'a=1 b=2', 'opened again')
      const other = await third.createTable(`${name}other`)
      t.equal(await shown(other, 'test'), 'none', 'another table')
      await third.close()
    },
  },
  {
    name: 'cleanTable removes every row, and rows can be made again',
    source: 'MetastoreUtils#cleanTable',
    run: async (t, { table }) => {
      const opened = await table()
      const keys = Array.from({ length: 250 }, (_, i) => `key${i}`)
      await fill(opened, keys)
      await cleanTable(opened, 99)
      t.equal((await keysOf(await opened.openCursor())).length, 0, 'no rows')
      await fill(opened, keys)
      t.equal((await keysOf(await opened.openCursor(), 50)).length, keys.length, 'rows again')
      t.equal(valueText((await opened.get('key7')).value), 'name=key7', 'their fields')
    },
  },
]
