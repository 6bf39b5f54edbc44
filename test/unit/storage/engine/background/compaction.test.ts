import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ManualClock } from '../../../../../src/base/clock.js'
import { Database, MemoryFileSystem, type EmbeddedTable } from '../../../../../src/entries/index.js'
import { hasPool } from '../../../../../src/storage/job/threads/worker-executor.js'

const withoutBackground = { compactionEnabled: false, executor: 'inline' as const }

/** Writes `files` flushed files that overlap, with deletes among them. */
async function writeFiles(database: Database, table: EmbeddedTable, files: number): Promise<void> {
  for (let file = 0; file < files; file++) {
    for (let i = 0; i < 50; i++) {
      const row = `row:${String((i * 7 + file * 13) % 100).padStart(3, '0')}`
      if (i % 11 === 10) await table.delete({ row, timestamp: 10 * file + 5 })
      else await table.put({ row, cells: { 'f:v': `${file}:${i}` }, timestamp: 10 * file + 7 })
    }
    await database.flush()
  }
}

function contents(table: EmbeddedTable): string[] {
  return [...table.scanSync({ versions: 'all' })].flatMap((row) =>
    row.cells().map((cell) => `${cell.row.toString()} ${cell.timestamp} ${cell.value.toString()}`),
  )
}

void t.test('a major compaction leaves one file with the same answers', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/db', { ...withoutBackground, fileSystem })
  const table = await database.createTable('t', { families: { f: { versions: 2 } } })
  await writeFiles(database, table, 5)
  const before = contents(table)
  t.equal(database.statistics().tableFiles, 5)
  const parts: number[] = []
  await database.compact('t', { onProgress: (part) => parts.push(part) })
  t.equal(database.statistics().tableFiles, 1)
  t.same(contents(table), before)
  t.equal(parts.at(-1), 1, 'progress ends at one')
  t.equal(fileSystem.listSync('/db').filter((name) => name.endsWith('.sst')).length, 1)
  await database.close()
  const again = await Database.open('/db', { ...withoutBackground, fileSystem })
  t.same(contents(again.table('t')), before, 'after a reopen')
  await again.close()
})

void t.test('a scan and a snapshot see the same across a compaction', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/db', { ...withoutBackground, fileSystem })
  const table = await database.createTable('t', { families: { f: {} } })
  await writeFiles(database, table, 4)
  const expected = contents(table)
  const snapshot = database.snapshot()
  const scanner = table.scan({ versions: 'all' })
  const rows = await scanner.nextBatch(3)
  await table.delete({ row: 'row:050' })
  await database.compact()
  const sst = (): number => fileSystem.listSync('/db').filter((n) => n.endsWith('.sst')).length
  t.ok(sst() > 1, 'the inputs stay while the scan needs them')
  for await (const row of scanner) rows.push(row)
  t.equal(
    rows.reduce((sum, row) => sum + row.size, 0),
    expected.length,
  )
  const seen = [...table.scanSync({ versions: 'all', snapshot })]
  t.equal(
    seen.reduce((sum, row) => sum + row.size, 0),
    expected.length,
  )
  snapshot.close()
  await database.compact()
  t.equal(sst(), 1, 'and go afterwards')
  await database.close()
})

void t.test('the background keeps the number of files in bounds', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/db', { executor: 'inline', fileSystem })
  const table = await database.createTable('t', { families: { f: {} } })
  let compactions = 0
  database.on('compaction', () => compactions++)
  await writeFiles(database, table, 30)
  while (database.statistics().compactionQueue > 0) {
    await new Promise((resolve) => setImmediate(resolve))
  }
  t.ok(compactions > 0)
  t.ok(database.statistics().tableFiles < 10, `${database.statistics().tableFiles} files`)
  await database.close()
})

void t.test('an aborted compaction leaves everything as it was', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/db', { ...withoutBackground, fileSystem })
  const table = await database.createTable('t', { families: { f: {} } })
  await writeFiles(database, table, 3)
  const before = contents(table)
  const names = fileSystem.listSync('/db').sort()
  const signal = AbortSignal.abort(new Error('enough'))
  const large = Array.from({ length: 5000 }, (_, i) => ({ row: `x${i}`, cells: { 'f:v': 'v' } }))
  t.same(contents(table), before)
  await t.rejects(database.compact('t', { signal }), { code: 'ERR_ABORTED' })
  t.same(contents(table), before)
  t.same(fileSystem.listSync('/db').sort(), names, 'no output is left')
  await table.putList(large)
  await database.compact()
  t.equal(contents(table).length, before.length + large.length, 'the next attempt works')
  await database.close()
})

void t.test('inline and worker jobs write the same files, byte for byte', async (t) => {
  if (!hasPool()) {
    t.comment('skipped: piscina is not installed')
    return
  }
  const bytes: Record<string, Buffer[]> = { inline: [], worker: [] }
  for (const executor of ['inline', 'worker'] as const) {
    const directory = join(t.testdir({ inline: {}, worker: {} }), executor)
    const options = {
      executor,
      compactionEnabled: false,
      clock: new ManualClock(5_000_000),
      // Files carry the identity of their database.
      randomBytes: (length: number) => new Uint8Array(length).fill(7),
    }
    const database = await Database.open(directory, options)
    t.equal(database.statistics().executor, executor)
    const table = await database.createTable('t', { families: { f: { versions: 2 } } })
    await writeFiles(database, table, 4)
    await database.compact('t', { major: false })
    await writeFiles(database, table, 2)
    await database.close()
    const names = readdirSync(directory)
      .filter((name) => name.endsWith('.sst'))
      .sort()
    bytes[executor] = names.map((name) => readFileSync(join(directory, name)))
  }
  t.ok(bytes['inline'].length > 0)
  t.same(bytes['worker'], bytes['inline'])
})
