import t from 'tap'
import {
  Database,
  MemoryFileSystem,
  type Result,
  type SyncResultScanner,
} from '../../../../src/entries/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'

function firstOf(scanner: SyncResultScanner): Result {
  const step = scanner.next()
  if (step.done === true) throw new Error('the scan is empty')
  return step.value
}

void t.test('results stay as they are while other scans come and go', async (t) => {
  const database = await Database.open('/db', { fileSystem: new MemoryFileSystem() })
  const table = await database.createTable('t', { families: { f: {} } })
  const valueOf = (i: number): string => String(i).repeat(1 + (i % 300))
  const rowOf = (i: number): string => `row${String(i).padStart(4, '0')}`
  await table.putList(
    Array.from({ length: 500 }, (_, i) => ({ row: rowOf(i), cells: { 'f:v': valueOf(i) } })),
  )
  await database.flush()
  // Some end by their limit, some by a close in the middle, some take turns with others.
  const kept = Array.from({ length: 400 }, (_, i) => {
    const scanner = table.scanSync({ startRow: rowOf(i), limit: 1 + (i % 3) })
    const result = firstOf(scanner)
    if (i % 2 === 0) scanner.close()
    const other = table.scanSync({ startRow: rowOf(i + 1), limit: 1 })
    const second = firstOf(other)
    if (i % 2 === 1) for (const row of scanner) t.ok(row.row)
    return [result, second] as const
  })
  kept.forEach(([result, second], i) => {
    t.equal(String(result.value('f:v')), valueOf(i))
    t.equal(String(second.row), rowOf(i + 1))
    t.equal(String(second.value('f:v')), valueOf(i + 1))
  })
  await database.close()
})

void t.test('a result as maps, and what is empty in it', async (t) => {
  const test = await TestDatabase.open()
  const families = { f: { versions: 3 }, g: {} }
  const table = await test.database.createTable('maps', { families })
  const binary = Buffer.of(0xff, 0)
  for (const timestamp of [1, 2]) {
    table.putSync({
      row: 'r',
      timestamp,
      cells: [
        { column: 'f:b', value: `b${timestamp}` },
        { column: 'f:', value: timestamp === 1 ? 'old' : '' },
        { column: { family: 'g', qualifier: binary }, value: `g${timestamp}` },
      ],
    })
  }
  const result = table.getSync({ row: 'r', versions: 'all' })
  const shown = [...result.map('latin1')].map(([family, columns]) => {
    return [family, [...columns].map(([name, each]) => [name, [...each].map(String)])]
  })
  t.same(shown, [
    [
      'f',
      [
        ['', ['2,', '1,old']],
        ['b', ['2,b2', '1,b1']],
      ],
    ],
    ['g', [[binary.toString('latin1'), ['2,g2']]]],
  ])
  t.same(result.map().get('f')!.get('b')!.get(1n), Buffer.from('b1'))
  const newest = result.noVersionMap('hex')
  t.same([...newest.keys()], ['f', 'g'])
  t.same(newest.get('g')!.get('ff00'), Buffer.from('g2'))
  t.same([...result.familyMap('f')].map(String), [',', 'b,b2'])
  t.throws(() => result.familyMap('h'), { code: 'ERR_NO_SUCH_COLUMN_FAMILY' })
  t.same([result.hasEmpty('f:'), result.hasNonEmpty('f:')], [true, false])
  t.same([result.hasEmpty('f:b'), result.hasNonEmpty('f:b')], [false, true])
  t.same([result.hasEmpty('f:x'), result.hasNonEmpty('f:x')], [false, false])
  await test.close()
})

void t.test('timestamps and rows of cells come back exactly', async (t) => {
  const test = await TestDatabase.open()
  const table = await test.database.createTable('times', { families: { f: { versions: 20 } } })
  const exact = [0, 1, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1].map(BigInt)
  for (const more of [2n ** 53n, 2n ** 53n + 1n, 2n ** 54n + 3n, 2n ** 63n - 2n]) exact.push(more)
  for (const timestamp of exact) table.putSync({ row: 'a\0b', timestamp, cells: { 'f:v': 'x' } })
  const result = table.getSync({ row: 'a\0b', versions: 'all' })
  const cells = result.cells()
  t.same(
    cells.map(({ timestampExact }) => timestampExact),
    exact.reverse(),
  )
  t.same(
    cells.map(({ timestamp }) => timestamp),
    exact.map(Number),
  )
  t.ok(cells.every(({ row }) => row.toString('latin1') === 'a\0b'))
  t.same(cells[0].row, result.row)
  t.same(result.cell('f:v')?.row, Buffer.from('a\0b'))
  await test.close()
})
