/**
 * HFiles on a live HBase: its own tools read and load those of Cellar, and Cellar reads those that
 * HBase has flushed, cell for cell, in all compressions.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { seededRandom } from '../../../../src/base/random.js'
import type { Database, Delete, Put } from '../../../../src/api/index.js'
import {
  connectHBase,
  exportHFiles,
  loadHFiles,
  moveDatabase,
  type HBaseDatabase,
} from '../../../../src/entries/hbase.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import type { LiveHBase } from '../../../../bench/cluster/live-hbase.js'
import { fillTable, storedCells } from '../../../helpers/cells/hfile-cells.js'
import { cellsOf, MovingSource, newest } from '../../../helpers/moving-source.js'

const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
const compressions = ['NONE', 'GZ', 'LZ4'] as const
const printer = 'org.apache.hadoop.hbase.io.hfile.HFilePrettyPrinter'
const loader = 'org.apache.hadoop.hbase.tool.BulkLoadHFilesTool'

/** The cells that a scan shows, with all versions. */
async function shownCells(database: Database, name: string): Promise<string[]> {
  const lines: string[] = []
  for await (const result of database.table(name).scan({ versions: 'all' })) {
    for (const { row, family, qualifier, timestamp, value } of result.cells()) {
      const column = `${family}:${qualifier.toString('hex')}`
      lines.push(`${row.toString('hex')} ${column} ${timestamp} ${value.toString('hex')}`)
    }
  }
  return lines
}

/** Tests both directions. */
export async function testHFiles(t: Test, live: LiveHBase): Promise<void> {
  t.comment(`seed ${seed}`)
  const hbase = await connectHBase({ host: '127.0.0.1', port: live.port })
  t.teardown(() => hbase.close())
  const home = mkdtempSync(join(tmpdir(), 'cellar-hfiles-'))
  t.teardown(() => rmSync(home, { recursive: true }))
  for (const compression of compressions) {
    await t.test(`HBase reads and loads files of Cellar, ${compression}`, (t) => {
      return testExport(t, live, hbase, join(home, compression), compression)
    })
    await t.test(`Cellar reads files of HBase, ${compression}`, (t) => {
      return testLoad(t, live, hbase, compression)
    })
  }
  await t.test('a move by files', (t) => testMoveByFiles(t, live, hbase, join(home, 'move')))
}

type Compression = (typeof compressions)[number]

async function testExport(
  t: Test,
  live: LiveHBase,
  hbase: HBaseDatabase,
  directory: string,
  compression: Compression,
): Promise<void> {
  const database = await openMemoryDatabase()
  t.teardown(() => database.close())
  const name = `loaded${compression}`
  await fillTable(database, name, seededRandom(seed))
  // Enough blocks for three levels of the index.
  const rows = Array.from({ length: 2_000 }, (_, i) => `row ${String(i).padStart(5, '0')}`)
  const cells = { 'f:large': Buffer.alloc(500, 'abcdefgh') }
  await database.table(name).putList(rows.map((row) => ({ row, cells, timestamp: 9 })))
  const { files } = await exportHFiles(database, name, directory, {
    ...{ compression, blockBytes: 1024, indexBlockBytes: 512 },
    splitKeys: ['row 01000'],
  })
  for (const { family, file, cells: count } of files) {
    const path = join(directory, family, file)
    const told = await live.runTool(printer, ['-v', '-p', '-m', '-k', '-f', `file://${path}`])
    t.equal(told.match(/^K: /gm)?.length, count, `the printer shows all cells of ${family}`)
    t.match(told, new RegExp(`compressionCodec=${compression}`))
    t.notMatch(told, /WARNING, previous row is greater|Exception/)
  }
  const families = { f: { versions: 4 }, g: { versions: 1 } }
  await hbase.createTable(name, { families })
  await live.runTool(loader, [`file://${directory}`, name])
  const wanted = await shownCells(database, name)
  t.ok(wanted.length > 2_000)
  t.strictSame(await shownCells(hbase, name), wanted, 'every cell that shows')
}

async function testLoad(
  t: Test,
  live: LiveHBase,
  hbase: HBaseDatabase,
  compression: Compression,
): Promise<void> {
  const embedded = await openMemoryDatabase()
  t.teardown(() => embedded.close())
  const name = `flushed${compression}`
  const families = { f: { versions: 3, compression }, g: { versions: 1, compression } }
  await hbase.createTable(name, { families })
  await embedded.createTable('plain', { families: { f: { versions: 3 }, g: { versions: 1 } } })
  const random = seededRandom(seed)
  const below = (count: number): number => Math.floor(random() * count)
  for (let round = 0; round < 3; round++) {
    const { puts, deletes } = drawRound(below)
    for (const table of [hbase.table(name), embedded.table('plain')]) {
      await table.putList(puts)
      for (const each of deletes) await table.delete(each)
    }
    // HBase flushes what it closes.
    await hbase.admin.disableTable(name)
    if (round < 2) await hbase.admin.enableTable(name)
  }
  const loaded = await loadHFiles(embedded, 'loaded', live.regionsOf(name))
  t.ok(loaded.files >= 4, `${loaded.files} files`)
  const shown = await shownCells(embedded, 'plain')
  await embedded.admin.modifyColumnFamily('loaded', 'f', { versions: 3 })
  await embedded.admin.modifyColumnFamily('loaded', 'g', { versions: 1 })
  t.strictSame(await shownCells(embedded, 'loaded'), shown, 'what the same operations show here')
  await hbase.admin.enableTable(name)
  t.strictSame(await shownCells(hbase, name), shown, 'and in HBase')
  const ttls = (await storedCells(embedded, 'loaded')).filter((line) => / Put \d+ /.test(line))
  t.ok(ttls.length > 0, `${ttls.length} cells have a TTL`)
}

/** Puts of many rows, and deletes of all kinds. No two puts of a column have the same timestamp. */
function drawRound(below: (count: number) => number): { puts: Put[]; deletes: Delete[] } {
  const puts: Put[] = []
  const deletes: Delete[] = []
  for (let i = 0; i < 600; i++) {
    const row = `row ${below(400)}`
    const family = 'fg'[below(2)]
    const column = { family, qualifier: 'abc'[below(3)] }
    const timestamp = 1_000 + drawn++
    const value = Buffer.alloc(below(300), `${i} `)
    if (below(10) > 0) {
      const ttl = below(5) === 0 ? { ttlMilliseconds: 2 ** 43 } : {}
      puts.push({ row, cells: [{ column, value }], timestamp, ...ttl })
      continue
    }
    const kinds: Delete[] = [
      { row, timestamp },
      { row, columns: [column], timestamp },
      { row, columnVersions: [{ ...column, timestamp: timestamp - 7 }] },
      { row, familyVersions: [{ family, timestamp: timestamp - 7 }] },
    ]
    deletes.push(kinds[below(kinds.length)])
  }
  return { puts, deletes }
}

let drawn = 0

async function testMoveByFiles(
  t: Test,
  live: LiveHBase,
  hbase: HBaseDatabase,
  directory: string,
): Promise<void> {
  const source = await MovingSource.open(seed)
  t.teardown(() => source.database.close())
  for (let i = 0; i < 3_000; i++) source.write()
  const writer = setInterval(() => source.write(), 1)
  const options = {
    bulkLoad: {
      directory,
      load: async (files: readonly { table: string; directory: string }[]) => {
        for (const { table, directory: files_ } of files) {
          await live.runTool(loader, [`file://${files_}`, table])
        }
      },
    },
    stateTable: 'moved_by_files',
    stopWrites: () => {
      source.stopped = true
    },
  }
  try {
    const { repairedRows, writtenCells } = await moveDatabase(source.database, hbase, options)
    t.equal(repairedRows, 0, 'the files had all cells')
    t.ok(writtenCells > 1_000)
  } finally {
    clearInterval(writer)
  }
  t.strictSame(await newest(hbase), Object.fromEntries(source.model), 'the newest values')
  t.strictSame(await cellsOf(hbase), await cellsOf(source.database), 'all versions')
  for (const name of ['one', 'two']) await hbase.admin.deleteTable(name)
}
