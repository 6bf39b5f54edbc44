/** The names of columns and families that a result is asked for. */
import t from 'tap'
import type { Database } from '../../../src/api/index.js'
import { ErrorCode, Result } from '../../../src/entries/index.js'
import { openMemoryDatabase } from '../../../src/entries/memory.js'
import { TestDatabase } from '../../helpers/test-database.js'

const backends: Record<string, () => Promise<Database>> = {
  'the engine': async () => (await TestDatabase.open()).database,
  memory: () => openMemoryDatabase(),
}

for (const [name, open] of Object.entries(backends)) {
  void t.test(`a result refuses names as the read does: ${name}`, async (t) => {
    const database = await open()
    t.teardown(() => database.close())
    const table = await database.createTable('t', { families: { f: {}, g: {} } })
    await table.put({ row: 'r', cells: { 'f:a': '1', 'f:b': '2' } })
    const results: Record<string, Result> = {
      got: await table.get({ row: 'r' }),
      'got empty': await table.get({ row: 'x' }),
      'only asked for existence': await table.get({ row: 'r', checkExistenceOnly: true }),
      scanned: (await table.scan().all())[0],
      incremented: await table.increment({ row: 'n', columns: { 'f:n': 1 } }),
      appended: await table.append({ row: 'n', columns: { 'f:x': 'x' } }),
    }
    for (const [how, result] of Object.entries(results)) {
      const unknown = { code: ErrorCode.noSuchColumnFamily, message: /'?zz'?.*it has: f, g/ }
      for (const column of ['zz:n', Buffer.from('zz:n'), { family: 'zz', qualifier: 'n' }, 'zz']) {
        t.throws(() => result.value(column), unknown, `${how}: value`)
        t.throws(() => result.cell(column), unknown, `${how}: cell`)
        t.throws(() => result.has(column), unknown, `${how}: has`)
        t.throws(() => result.columnCells(column), unknown, `${how}: columnCells`)
        t.throws(() => result.hasEmpty(column), unknown, `${how}: hasEmpty`)
        t.throws(() => result.hasNonEmpty(column), unknown, `${how}: hasNonEmpty`)
      }
      t.throws(() => result.familyMap('zz'), unknown, `${how}: familyMap`)
      const whole = { code: ErrorCode.invalidArgument, message: /such as 'f:f', or 'f:' for/ }
      t.throws(() => result.value('f'), whole, `${how}: value of a family`)
      t.throws(() => result.value('f', 'utf8'), whole, `${how}: decoded value of a family`)
      t.throws(() => result.cell('f'), whole, `${how}: cell of a family`)
      t.throws(() => result.hasEmpty('f'), whole, `${how}: hasEmpty of a family`)
      t.equal(result.value('g:n'), undefined, `${how}: a family without cells`)
      t.equal(result.has('g'), false, `${how}: has without cells`)
      t.equal(result.familyMap('g').size, 0, `${how}: no cells of a family`)
    }
    t.equal(results.got.has('f'), true)
    t.equal(results.got.columnCells('f').length, 2)
  })
}

void t.test('a result of cells alone knows no families and refuses none', (t) => {
  t.equal(Result.of([]).value('zz:n'), undefined)
  t.throws(() => Result.of([], { families: ['f'] }).value('zz:n'), {
    code: ErrorCode.noSuchColumnFamily,
  })
  t.end()
})
