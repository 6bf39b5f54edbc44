/** Cases about cursors: isolation, counts, ends, leaks. */
import { Version } from '../../../src/systems/metastore/index.js'
import type { MetastoreScannableTable } from '../../../src/systems/metastore/index.js'
import { outcome, thrown, turns } from '../kit.js'
import { checkPage, fields, fill, keysOf, pageOf, valueText, type MetastoreCase } from './case.js'

const five = ['a', 'b', 'c', 'd', 'e']

const illegal = 'ERR_METASTORE_ILLEGAL_OP'

/** Opens cursors and forgets them, unread. */
async function openAndForget(table: MetastoreScannableTable, count: number): Promise<void> {
  const atOnce = 100
  for (let opened = 0; opened < count; opened += atOnce) {
    await Promise.all(Array.from({ length: atOnce }, () => table.openCursor()))
  }
}

/** Megabytes in use after collecting garbage, some turns apart, so that finalizers run. */
async function megabytesInUse(collectGarbage: () => void): Promise<number> {
  for (let i = 0; i < 4; i++) {
    collectGarbage()
    await turns(4)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const { heapUsed, external } = process.memoryUsage()
  return Math.round((heapUsed + external) / 1_048_576)
}

/** The cases. */
export const cursorCases: readonly MetastoreCase[] = [
  {
    name: 'writes after the opening change neither the keys of a cursor nor its versions',
    run: async (t, { table, capabilities }) => {
      const opened = await table()
      await fill(opened, five)
      const at = new Map(
        await Promise.all(five.map(async (key) => [key, (await opened.get(key)).version] as const)),
      )
      const cursor = await opened.openCursor()
      const newVersion = await opened.put('d', fields({ name: 'changed' }), Version.ANY)
      await opened.put('bb', fields({ name: 'created' }), Version.NEW)
      await opened.remove('e', Version.ANY)
      await opened.remove('c', Version.ANY)
      await opened.put('c', fields({ name: 'created again' }), Version.NEW)
      const items = []
      while (cursor.hasMoreEntries()) items.push(...(await pageOf(cursor, 2)))
      const keys = items.map(({ key }) => key).sort()
      t.equal(keys.join(''), five.join(''), 'keys')
      for (const { key, value } of items) {
        const text = valueText(value.value)
        const isOld = at.get(key)!.compare(value.version) === 'CONCURRENTLY'
        if (capabilities.snapshotCursors) {
          t.equal(`${text} ${isOld}`, `name=${key} true`, `row ${key} as it was`)
        } else if (key === 'd') {
          const isNew = newVersion.compare(value.version) === 'CONCURRENTLY'
          const wanted = isNew ? 'name=changed' : 'name=d'
          t.equal(
            `${text} ${isOld || isNew}`,
            `${wanted} true`,
            'value and version belong together',
          )
        }
      }
    },
  },
  {
    name: 'a read returns no more than asked for; a negative count gives IllegalOp',
    run: async (t, { table, capabilities }) => {
      const opened = await table()
      await fill(opened, five)
      const cursor = await opened.openCursor()
      t.equal((await cursor.asyncReadEntries(2)).length, 2, 'two')
      t.equal((await cursor.asyncReadEntries(0)).length, 0, 'none')
      t.equal(cursor.hasMoreEntries(), true, 'more')
      for (const count of [-1, 0.5, Number.NaN, null as never]) {
        const read = cursor.asyncReadEntries(count)
        t.equal(await outcome(read), illegal, `count ${String(count)}`)
      }
      if (capabilities.synchronousReads) {
        t.equal(cursor.readEntries(0).length, 0, 'none at once')
        t.equal(
          thrown(() => cursor.readEntries(-1)),
          illegal,
          'count -1 at once',
        )
        const [third] = cursor.readEntries(1)
        t.equal(third.key, 'c', 'one at once, behind those that were read')
        t.equal(cursor.hasMoreEntries(), true, 'more')
      }
      t.equal((await keysOf(cursor)).at(-1), 'e', 'the rest')
    },
  },
  {
    name: 'reads with and without promise go on where the other stopped',
    needs: 'synchronousReads',
    run: async (t, { table }) => {
      const opened = await table()
      const keys = Array.from({ length: 500 }, (_, i) => `key${String(i).padStart(4, '0')}`)
      await fill(opened, keys)
      const cursor = await opened.openCursor()
      const found: string[] = []
      for (let i = 0; cursor.hasMoreEntries(); i++) {
        const count = (i % 7) + 1
        const items = i % 3 === 0 ? await cursor.asyncReadEntries(count) : cursor.readEntries(count)
        checkPage(items, count)
        found.push(...items.map(({ key }) => key))
      }
      t.equal(found.sort().join(), keys.join(), 'every key once')
    },
  },
  {
    name: 'reading at the end returns nothing, also in an empty table',
    run: async (t, { table, capabilities }) => {
      const opened = await table()
      for (const rows of [[], five]) {
        await fill(opened, rows)
        const cursor = await opened.openCursor()
        t.equal(cursor.hasMoreEntries(), rows.length > 0, `${rows.length} rows`)
        t.equal((await cursor.asyncReadEntries(10)).length, rows.length, 'all')
        for (let i = 0; i < 2; i++) {
          t.equal(cursor.hasMoreEntries(), false, 'no more')
          t.equal((await cursor.asyncReadEntries(1)).length, 0, 'behind the end')
          if (capabilities.synchronousReads) {
            t.equal(cursor.readEntries(1).length, 0, 'behind the end, at once')
          }
        }
      }
    },
  },
  {
    name: 'after every page hasMoreEntries tells the truth',
    source: 'an empty ledger range is an error',
    run: async (t, { table }) => {
      const opened = await table()
      for (let rows = 1; rows <= 7; rows++) {
        await fill(opened, [`row${rows}`])
        for (let page = 1; page <= rows + 1; page++) {
          const cursor = await opened.openCursor()
          let read = 0
          while (cursor.hasMoreEntries()) {
            read += (await pageOf(cursor, page)).length
          }
          if (read !== rows) t.equal(read, rows, `${rows} rows, ${page} at a time`)
        }
      }
      t.equal(await outcome(opened.get('row7')), 'OK', 'all pages were right')
    },
  },
  {
    name: 'cursors that are forgotten unread leave nothing behind',
    source: 'no caller upstream closes a cursor',
    needs: 'collectGarbage',
    run: async (t, { table, backend }) => {
      const opened = await table()
      await fill(opened, five)
      await openAndForget(opened, 1000)
      const before = await megabytesInUse(backend.collectGarbage!)
      const count = backend.droppedCursors ?? 100_000
      await openAndForget(opened, count)
      const after = await megabytesInUse(backend.collectGarbage!)
      t.comment(`${count} cursors: ${before} MB before, ${after} MB after`)
      t.equal(after - before <= 24, true, 'memory in use is about what it was')
      t.equal((await keysOf(await opened.openCursor())).length, five.length, 'the table is in use')
    },
  },
  {
    name: 'a table that is declared to be unordered cannot be opened for scans',
    needs: 'unorderedTable',
    run: async (t, { store, capabilities }) => {
      const name = capabilities.unorderedTable!
      const plain = await store.createTable(name)
      t.equal(await outcome(plain.put('a', fields(), Version.NEW)), 'OK', 'as a plain table')
      t.equal(await outcome(store.createScannableTable(name)), 'ERR_METASTORE_SETUP', 'refused')
      await plain.remove('a', Version.ANY)
    },
  },
]
