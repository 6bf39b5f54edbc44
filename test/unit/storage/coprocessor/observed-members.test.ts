/** Observers of the puts and deletes inside of other operations, and of version deletes. */
import t from 'tap'
import type { Observer } from '../../../../src/entries/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'

for (const cacheBytes of [1 << 20, 0]) {
  void t.test(`puts and deletes inside of others are observed, cache ${cacheBytes}`, async (t) => {
    const asked: string[] = []
    const told: string[] = []
    let batches = 0
    const observer: Observer = {
      prePut: (context, put) => {
        const row = String(put.row)
        asked.push(`put ${row}`)
        if (!('f:secret' in put.cells)) return { ...put, cells: { ...put.cells, 'f:seen': row } }
        context.bypass()
        return undefined
      },
      postPut: (_context, put) => void told.push(`put ${String(put.row)}`),
      preDelete: (_context, { row }) => void asked.push(`delete ${String(row)}`),
      postDelete: (_context, { row }) => void told.push(`delete ${String(row)}`),
      preBatchMutate: () => void batches++,
    }
    const test = await TestDatabase.open({ options: { blockCacheBytesMax: cacheBytes } })
    const table = await test.database.createTable('t', { families: { f: { versions: 3 } } })
    table.putSync({ row: 'r', cells: { 'f:a': '1', 'f:b': '1' } })
    await test.flush()
    await test.database.registerCoprocessor({ name: 'watch', observer })
    const cellsOf = (row: string): string => {
      const cells = [...table.getSync({ row }).familyMap('f')]
      return cells.map(([name, value]) => `${name}=${value.toString()}`).join(' ')
    }
    const secret = { put: { cells: { 'f:secret': 'x' } } }
    const mutations = [
      { put: { cells: { 'f:c': '2' } } },
      secret,
      { delete: { columnVersions: ['f:a'] } },
    ]
    const { exists } = await table.mutateRow({ row: 'r', mutations })
    t.equal(exists, true)
    t.equal(cellsOf('r'), 'b=1 c=2 seen=r')
    t.same(asked, ['put r', 'put r', 'delete r'])
    t.same(told, ['put r', 'delete r'])
    t.equal(batches, 1)

    await table.mutateRow({ row: 'r', mutations: [secret] })
    t.equal(batches, 1, 'nothing is left to be applied')
    const check = { row: 'r', column: 'f:b', equals: '1' }
    t.same(await table.checkAndMutate(check, secret), { success: true, result: undefined })
    t.equal(batches, 1, 'nor here')
    const changed = { put: { cells: { 'f:b': '2' } } }
    t.equal((await table.checkAndMutate(check, changed)).success, true)
    t.equal((await table.checkAndMutate(check, { mutations: [changed] })).success, false)
    t.equal(cellsOf('r'), 'b=2 c=2 seen=r')

    asked.length = 0
    const rows = [
      { row: 'r', mutations: [{ delete: {} }] },
      { row: 's', mutations: [{ put: { cells: { 'f:a': '3' } } }, secret] },
      { row: 'u', mutations: [secret] },
    ]
    t.equal(await table.mutateRows({ rows, checks: [{ ...check, equals: '2' }] }), true)
    t.same(asked, ['delete r', 'put s', 'put s', 'put u'])
    t.same(['r', 's', 'u'].map(cellsOf), ['', 'a=3 seen=s', ''])
    t.equal(table.mutateRowsSync({ rows: [rows[2]] }), true)
    t.equal(cellsOf('u'), '')
    const wrong = [{ row: 's', mutations: [{ put: { cells: {} }, delete: {} } as never] }]
    for (const given of [wrong, [{ row: 's', mutations: [] }]]) {
      t.throws(() => table.mutateRowsSync({ rows: given }), { code: 'ERR_INVALID_ARGUMENT' })
    }
    await test.close()
  })
}

void t.test(
  'a hook adds to mutations of several rows, and may not write behind checks',
  async (t) => {
    const test = await TestDatabase.open()
    const table = await test.database.createTable('t', { families: { f: {} } })
    let writes = false
    const seen: string[] = []
    const preBatchMutate: Observer['preBatchMutate'] = (context, batch) => {
      if (batch.mutations.some((each) => each.put !== undefined && each.put.row === 'z')) return
      for (const each of batch.mutations)
        if (each.put !== undefined) seen.push(String(each.put.row))
      if (writes) context.table.putSync({ row: 'z', cells: { 'f:a': '1' } })
      else batch.add({ put: { row: 'index', cells: { 'f:a': '1' } } })
    }
    await test.database.registerCoprocessor({ name: 'adds', observer: { preBatchMutate } })
    const rows = [{ row: 'a', mutations: [{ put: { cells: { 'f:a': '1' } } }] }]
    const before = test.database.statistics().lastSequence
    t.equal(table.mutateRowsSync({ rows }), true)
    t.equal(test.database.statistics().lastSequence, before + 1, 'one sequence for all')
    t.same(seen, ['a'])
    t.same(
      [...table.scanSync()].map(({ row }) => String(row)),
      ['a', 'index'],
    )
    writes = true
    const checks = [{ row: 'a', column: 'f:a', equals: '1' }]
    const changes = [{ row: 'a', mutations: [{ put: { cells: { 'f:a': '2' } } }] }]
    t.throws(() => table.mutateRowsSync({ rows: changes, checks }), { code: 'ERR_COPROCESSOR' })
    t.equal(String(table.getSync({ row: 'a' }).value('f:a')), '1')
    await test.close()
  },
)

for (const cacheBytes of [1 << 20, 0]) {
  void t.test(`an observer chooses the version of a delete, cache ${cacheBytes}`, async (t) => {
    let choice: unknown
    const asked: unknown[] = []
    const observer: Observer = {
      prePrepareTimeStampForDeleteVersion: (context, { row }, column) => {
        asked.push([String(row), column])
        if (choice !== undefined) context.bypass(choice as number)
      },
    }
    const test = await TestDatabase.open({ options: { blockCacheBytesMax: cacheBytes } })
    const table = await test.database.createTable('t', { families: { f: { versions: 9 } } })
    for (const timestamp of [1, 2, 3, 4, 5]) {
      table.putSync({ row: 'r', cells: { 'f:a': String(timestamp) }, timestamp })
    }
    await test.flush()
    await test.database.registerCoprocessor({ name: 'chooses', observer })
    const left = (): string => {
      const cells = table.getSync({ row: 'r', versions: 'all' }).cells()
      return cells.map(({ value }) => value.toString()).join('')
    }
    const newest = { row: 'r', columnVersions: ['f:a'] }
    await table.delete(newest)
    t.equal(left(), '4321')
    choice = 3
    await table.delete(newest)
    t.equal(left(), '421')
    choice = 1
    await table.mutateRow({ row: 'r', mutations: [{ delete: newest }] })
    t.equal(left(), '42')
    const column = { family: 'f', qualifier: 'a', timestamp: 2 }
    await table.delete({ row: 'r', columnVersions: [column] })
    t.equal(left(), '4', 'with a timestamp nobody is asked')
    t.same(asked, Array(3).fill(['r', 'f:a']))
    choice = 'x'
    await t.rejects(table.delete(newest), { code: 'ERR_COPROCESSOR' })
    choice = -1
    await t.rejects(table.delete(newest), { code: 'ERR_INVALID_ARGUMENT' })
    t.equal(left(), '4')
    await test.close()
  })
}
