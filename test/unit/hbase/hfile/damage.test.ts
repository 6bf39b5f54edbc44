/**
 * HFiles of Cellar and of HBase that are cut, flipped or mixed up: every one ends with a named
 * error that has the file and the offset, and nothing of it is loaded.
 *
 * @runs campaign
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CellarError } from '../../../../src/api/index.js'
import { seededRandom } from '../../../../src/base/random.js'
import { exportHFiles, loadHFiles } from '../../../../src/entries/hbase.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { delimited, encodeMessage, ProtoReader } from '../../../../src/hbase/hfile/bytes/proto.js'
import { trailerBytes } from '../../../../src/hbase/hfile/format.js'
import { HFileReader } from '../../../../src/hbase/hfile/hfile-reader.js'
import { decodeTrailer } from '../../../../src/hbase/hfile/trailer.js'
import { MemoryFileSystem } from '../../../../src/storage/fs/memory-fs.js'
import { readWholeFileSync } from '../../../../src/storage/fs/whole-file.js'
import { lengthOf } from '../../../helpers/length.js'
import { projectRoot } from '../../../helpers/project-root.js'
import { fillTable } from '../../../helpers/cells/hfile-cells.js'

const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
const path = '/damaged/f/0123456789abcdef0123456789abcdef'
/** The trailer's names of other formats, and what a file may be that Cellar does not read. */
const others = ['ERR_UNSUPPORTED', 'ERR_FORMAT_VERSION']

/** A file system with a file of these bytes at {@link path}. */
function holding(bytes: Buffer): MemoryFileSystem {
  const fileSystem = new MemoryFileSystem()
  fileSystem.makeDirectorySync('/damaged/f')
  const file = fileSystem.openSync(path, 'create')
  file.writeSync(bytes, 0, bytes.length, 0)
  file.closeSync()
  return fileSystem
}

/** The error of reading the whole file; undefined: it is sound. */
function errorOf(bytes: Buffer): unknown {
  const fileSystem = holding(bytes)
  try {
    const reader = HFileReader.open(fileSystem, path, 'f', undefined)
    try {
      while (reader.next());
    } finally {
      reader.close()
    }
    return undefined
  } catch (error) {
    return error
  }
}

/** Whether an error says what is damaged and where. */
function isNamed(error: unknown, bytes: number): boolean {
  if (!(error instanceof CellarError)) return false
  if (others.includes(error.code)) return error.message.includes(path)
  const { code, corruption } = error
  if (code !== 'ERR_CORRUPTION' || corruption?.file !== path) return false
  return corruption.offset >= 0 && corruption.offset <= bytes
}

/** Files of Cellar, and then those that HBase has written. */
async function smallFiles(): Promise<[what: string, file: Buffer][]> {
  const database = await openMemoryDatabase()
  await fillTable(database, 't', seededRandom(seed))
  const files: [string, Buffer][] = []
  for (const compression of ['NONE', 'GZ', 'LZ4'] as const) {
    const fileSystem = new MemoryFileSystem()
    const options = { compression, blockBytes: 1024, indexBlockBytes: 256, fileSystem }
    const exported = await exportHFiles(database, 't', '/out', options)
    const { file } = exported.files.find(({ family }) => family === 'f')!
    files.push([compression, readWholeFileSync(fileSystem, `/out/f/${file}`)])
  }
  await database.close()
  return [...files, ...hbaseFiles()]
}

function hbaseFiles(): [what: string, file: Buffer][] {
  return ['none', 'gz', 'lz4', 'empty', 'checksums'].map((name) => {
    const file = `hbase-2.6.4-${name}.hfile`
    return [file, readFileSync(join(projectRoot, 'test/data/hfile', file))]
  })
}

void t.test('every cut and every flip is found', async (t) => {
  t.comment(`seed ${seed}`)
  const step = lengthOf('CELLAR_HFILE_STEP', 23, 1)
  const random = seededRandom(seed)
  for (const [what, bytes] of await smallFiles()) {
    t.equal(errorOf(bytes), undefined, `${what}: ${bytes.length} bytes are sound`)
    const missed: string[] = []
    for (let length = 0; length < bytes.length; length += step) {
      if (!isNamed(errorOf(bytes.subarray(0, length)), length)) missed.push(`cut at ${length}`)
    }
    for (let at = Math.floor(random() * step); at < bytes.length; at += step) {
      const flipped = Buffer.from(bytes)
      flipped[at] ^= 1 << Math.floor(random() * 8)
      const error = errorOf(flipped)
      if (!isNamed(error, bytes.length)) missed.push(`flip at ${at}: ${String(error)}`)
    }
    t.strictSame(missed.slice(0, 5), [], what)
  }
})

void t.test('pieces of files in the place of others are found', async (t) => {
  const random = seededRandom(seed)
  const below = (count: number): number => Math.floor(random() * count)
  for (const [what, bytes] of await smallFiles()) {
    const missed: string[] = []
    for (let i = 0; i < 300; i++) {
      const changed = Buffer.from(bytes)
      const [from, to] = [below(bytes.length), below(bytes.length)]
      const length = 1 + below(64)
      if (below(2) === 0) bytes.copy(changed, to, from, from + length)
      else for (let k = to; k < to + length && k < bytes.length; k++) changed[k] = below(256)
      if (changed.equals(bytes)) continue
      const error = errorOf(changed)
      if (!isNamed(error, bytes.length)) missed.push(`${from} ${to} ${length}: ${String(error)}`)
    }
    t.strictSame(missed.slice(0, 5), [], what)
  }
})

void t.test('the compression -1 is damage', (t) => {
  const [, sound] = hbaseFiles()[0]
  const bytes = Buffer.from(sound.subarray(-trailerBytes))
  const damaged = (found: string): CellarError => new CellarError('ERR_CORRUPTION', found)
  const minusOne = Buffer.of(12 << 3, ...Array<number>(9).fill(0xff), 1)
  const fields = new ProtoReader(bytes, 8, bytes.length - 4, damaged).message()
  const parts = fields.map((field) => (field[0] === 12 ? minusOne : encodeMessage([field])))
  delimited(Buffer.concat(parts)).copy(bytes, 8)
  const found = 'number -1'
  t.throws(() => decodeTrailer(bytes, path, 0), { code: 'ERR_CORRUPTION', corruption: { found } })
  t.end()
})

void t.test('a damaged file among sound ones loads nothing', async (t) => {
  const [[, bytes]] = await smallFiles()
  const database = await openMemoryDatabase()
  t.teardown(() => database.close())
  await database.createTable('t', { families: { f: {} } })
  await database.table('t').put({ row: 'r', cells: { 'f:a': 'v' } })
  for (const at of [40, bytes.length >>> 1, bytes.length - 4090]) {
    const flipped = Buffer.from(bytes)
    flipped[at] ^= 4
    const fileSystem = holding(flipped)
    const sound = fileSystem.openSync(path.replace('0', 'f'), 'create')
    sound.writeSync(bytes, 0, bytes.length, 0)
    sound.closeSync()
    const loading = loadHFiles(database, 't', ['/damaged'], { fileSystem })
    await t.rejects(loading, { code: 'ERR_CORRUPTION', corruption: { file: path } })
    const rows = await database.table('t').scan({ raw: true, versions: 'all' }).toArray()
    t.equal(rows.length, 1, 'nothing was added')
    const other = loadHFiles(database, 'new', ['/damaged'], { fileSystem })
    await t.rejects(other, { code: 'ERR_CORRUPTION' })
    t.strictSame(database.admin.listTableNames(), ['t'], 'no table was made')
  }
})
