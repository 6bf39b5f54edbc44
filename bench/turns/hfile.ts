/**
 * Processor time of HFiles: cells in Cellar's form to a file, and a file to cells, both in memory,
 * and the whole export and load of a table. A megabyte is 10^6 bytes of the uncompressed file.
 *
 * Cells have rows of 16 bytes, values of 100 bytes that compress to about a half, and two columns.
 * Compressions take turns. Prints the median of the rates in megabytes a second:
 * `node build/bench/turns/hfile.js [--rounds 7] [--rows 100000]`.
 */
import { parseArgs } from 'node:util'
import { seededRandom } from '../../src/base/random.js'
import { openMemoryDatabase } from '../../src/entries/memory.js'
import { exportHFiles } from '../../src/hbase/hfile/export-hfiles.js'
import { HFileReader } from '../../src/hbase/hfile/hfile-reader.js'
import { HFileWriter } from '../../src/hbase/hfile/hfile-writer.js'
import { loadHFiles } from '../../src/hbase/hfile/load-hfiles.js'
import { CellView } from '../../src/storage/cell/cell-view.js'
import { loadCodecs } from '../../src/storage/codec/codec.js'
import { MemoryFileSystem } from '../../src/storage/fs/memory-fs.js'
import { exportedChunks } from '../../src/table/transfer/export-cells.js'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    rows: { type: 'string', default: '100000' },
  },
})
const rounds = Number(values.rounds)
const compressions = ['NONE', 'LZ4', 'GZ'] as const

const database = await openMemoryDatabase()
const table = await database.createTable('t', { families: { f: {} } })
const random = seededRandom(1)
const noise = Buffer.from(Array.from({ length: 65_536 }, () => Math.floor(random() * 256)))
for (let i = 0; i < Number(values.rows); i++) {
  const at = Math.floor(random() * 65_000)
  const value = Buffer.concat([noise.subarray(at, at + 50), Buffer.alloc(50, 'cellar')])
  const row = `row ${String(i).padStart(12, '0')}`
  await table.put({ row, cells: { 'f:name': value, 'f:place': value } })
}

/** The cells of the table side by side, as jobs and exports have them. */
const pieces: { readonly buffer: Buffer; readonly places: number[] }[] = []
const given = { raw: true, versions: 'all', compression: 'NONE' } as const
for await (const { visit } of exportedChunks(
  database.admin.exportTable('t', given),
  loadCodecs(),
)) {
  const parts: Buffer[] = []
  const places: number[] = []
  let length = 0
  visit((_family, { buffer, keyStart, keyEnd, valueEnd }) => {
    parts.push(Buffer.from(buffer.subarray(keyStart, valueEnd)))
    places.push(length, length + keyEnd - keyStart, (length += valueEnd - keyStart))
  })
  pieces.push({ buffer: Buffer.concat(parts), places })
}

const view = new CellView()
const fileSystem = new MemoryFileSystem()
fileSystem.makeDirectorySync('/out')
let files = 0

function write(compression: (typeof compressions)[number]): string {
  const path = `/out/${files++}`
  const format = { family: 'f', compression, blockBytes: 65_536, indexBytes: 131_072, created: 1 }
  const writer = new HFileWriter(fileSystem, path, format)
  for (const { buffer, places } of pieces) {
    for (let i = 0; i < places.length; i += 3) {
      view.setCell(buffer, places[i], places[i + 1], places[i + 2])
      writer.add(view)
    }
  }
  writer.finish()
  return path
}

function read(path: string): number {
  const reader = HFileReader.open(fileSystem, path, 'f', undefined)
  let cells = 0
  while (reader.next()) cells++
  reader.close()
  return cells
}

/** Seconds of processor time. */
async function costOf(run: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}

const plain = write('NONE')
const megabytes = fileSystem.statSync(plain)!.size / 1e6
console.log(`${megabytes.toFixed(1)} MB uncompressed, megabytes a second of processor time:`)
const rates = new Map<string, number[]>()
for (let round = 0; round <= rounds; round++) {
  for (const compression of compressions) {
    let path = ''
    const directory = `/whole/${round}${compression}`
    const costs = {
      write: await costOf(() => (path = write(compression))),
      read: await costOf(() => read(path)),
      export: await costOf(() =>
        exportHFiles(database, 't', directory, { compression, fileSystem }),
      ),
      load: await costOf(() => loadHFiles(database, 'copy', [directory], { fileSystem })),
    }
    fileSystem.unlinkSync(path)
    await database.admin.deleteTable('copy')
    // The first round only warms up.
    if (round === 0) continue
    for (const [what, seconds] of Object.entries(costs)) {
      const name = `${compression} ${what}`
      rates.set(name, [...(rates.get(name) ?? []), megabytes / seconds])
    }
  }
}
for (const [name, found] of rates) {
  const median = found.sort((a, b) => a - b)[Math.floor(found.length / 2)]
  console.log(`${name.padEnd(12)} ${median.toFixed(0).padStart(5)}`)
}
await database.close()
