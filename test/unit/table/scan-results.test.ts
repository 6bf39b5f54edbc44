import t from 'tap'
import {
  Database,
  MemoryFileSystem,
  type Result,
  type SyncResultScanner,
} from '../../../src/index.js'

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
