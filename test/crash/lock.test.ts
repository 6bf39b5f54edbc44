/**
 * One opener at a time; foreign and damaged directories are told plainly and left alone.
 *
 * @runs campaign
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { loadChecksums, placeSeed, xxh64 } from '../../src/storage/codec/checksum.js'
import { FaultyFileSystem } from '../doubles/faulty-fs.js'
import { NodeFileSystem } from '../../src/storage/fs/node-fs.js'
import { CellarError, Database } from '../../src/entries/index.js'
import { fileHeaderBytes } from '../../src/storage/record/file-header.js'
import { newFileSystem } from './power-cut/power-cut-runner.js'
import { childEnvironment } from '../helpers/child-environment.js'

const indexUrl = new URL('../../src/entries/index.js', import.meta.url).href

function newDirectory(t: Test): string {
  const home = mkdtempSync(join(tmpdir(), 'cellar-lock-'))
  t.teardown(() => rmSync(home, { recursive: true, force: true }))
  return join(home, 'database')
}

const options = { executor: 'inline' as const }

/** Everything in a directory, to see that nothing was changed. */
function contentOf(directory: string): Record<string, string> {
  const names = readdirSync(directory).sort()
  return Object.fromEntries(
    names.map((name) => [name, readFileSync(join(directory, name)).toString('base64')]),
  )
}

async function rejectionOf(promise: Promise<unknown>): Promise<CellarError> {
  try {
    await promise
  } catch (error) {
    if (error instanceof CellarError) return error
    throw error
  }
  throw new Error('it did not fail')
}

/** A process that opens the database and holds it. */
async function startOwner(directory: string) {
  const script = `
    const { Database } = await import(${JSON.stringify(indexUrl)})
    const database = await Database.open(${JSON.stringify(directory)}, { executor: 'inline' })
    if (!database.hasTable('t')) await database.createTable('t', { families: { f: {} } })
    database.table('t').putSync({ row: 'r', cells: { 'f:v': 'owner' } })
    console.log('open')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: childEnvironment,
  })
  await once(child.stdout, 'data')
  return child
}

void t.test(
  'another process is refused at once, and may open when the owner was killed',
  async (t) => {
    const directory = newDirectory(t)
    const owner = await startOwner(directory)
    const error = await rejectionOf(Database.open(directory, options))
    t.equal(error.code, 'ERR_LOCKED')
    t.match(error.message, String(owner.pid), 'the message names the owner')
    owner.kill('SIGKILL')
    await once(owner, 'exit')
    const database = await Database.open(directory, options)
    t.equal(database.table('t').getSync({ row: 'r' }).value('f:v')?.toString(), 'owner')
    await database.close()
  },
)

void t.test('the same process is refused by every path, until it closes', async (t) => {
  const directory = newDirectory(t)
  const database = await Database.open(directory, options)
  const link = `${directory}-link`
  symlinkSync(directory, link)
  for (const path of [directory, link, relative(process.cwd(), directory), join(directory, '.')]) {
    t.equal((await rejectionOf(Database.open(path, options))).code, 'ERR_LOCKED', path)
  }
  await database.close()
  const again = await Database.open(link, options)
  await again.close()
})

void t.test('a worker thread is refused', async (t) => {
  const directory = newDirectory(t)
  const database = await Database.open(directory, options)
  const source = `
    const { workerData, parentPort } = require('node:worker_threads')
    import(workerData.index).then(({ Database }) => Database.open(workerData.directory))
      .then(() => parentPort.postMessage('opened'), (error) => parentPort.postMessage(error.code))`
  const worker = new Worker(source, { eval: true, workerData: { index: indexUrl, directory } })
  const [answer] = (await once(worker, 'message')) as [string]
  t.equal(answer, 'ERR_LOCKED')
  await worker.terminate()
  await database.close()
})

void t.test('two opens at once: one gets the database', async (t) => {
  const directory = newDirectory(t)
  const outcomes = await Promise.allSettled([
    Database.open(directory, options),
    Database.open(directory, options),
  ])
  const opened = outcomes.filter((outcome) => outcome.status === 'fulfilled')
  t.equal(opened.length, 1)
  const refused = outcomes.find((outcome) => outcome.status === 'rejected')
  t.equal((refused?.reason as CellarError).code, 'ERR_LOCKED')
  await opened[0].value.close()
})

void t.test('a directory that cannot be written is refused with a typed error', async (t) => {
  const inner = newFileSystem()
  const first = await Database.open('/db', { ...options, fileSystem: inner })
  await first.close()
  const fileSystem = new FaultyFileSystem(inner, {
    failAt: 1,
    errno: 'EACCES',
    persistent: true,
    only: ({ kind }) => !['stat', 'list', 'read', 'size', 'close', 'open', 'lock'].includes(kind),
  })
  const error = await rejectionOf(Database.open('/db', { ...options, fileSystem }))
  t.equal(error.code, 'ERR_READ_ONLY')
  const again = await Database.open('/db', { ...options, fileSystem: inner })
  await again.close()
})

void t.test('a directory of somebody else is refused and left alone', async (t) => {
  const directory = newDirectory(t)
  mkdirSync(directory)
  writeFileSync(join(directory, 'letter.txt'), 'dear reader')
  writeFileSync(join(directory, 'CURRENT'), 'MANIFEST-000001\n')
  const before = contentOf(directory)
  const error = await rejectionOf(Database.open(directory, options))
  t.equal(error.code, 'ERR_NOT_A_DATABASE')
  t.match(error.message, directory)
  t.strictSame(contentOf(directory), before)
})

void t.test('foreign files in the directory of a database survive everything', async (t) => {
  const directory = newDirectory(t)
  await (await Database.open(directory, options)).close()
  const foreign = ['notes.txt', '1.sst', '000001.sst.bak', 'MANIFEST-1', '000009.log.old', 'x.tmp']
  for (const name of foreign) writeFileSync(join(directory, name), name)
  for (let i = 0; i < 3; i++) {
    const database = await Database.open(directory, options)
    if (i === 0) await database.createTable('t', { families: { f: {} } })
    database.table('t').putSync({ row: `r${i}`, cells: { 'f:v': '1' } })
    await database.flush()
    if (i === 2) await database.dropTable('t')
    await database.close()
  }
  const kept = contentOf(directory)
  for (const name of foreign) {
    t.equal(Buffer.from(kept[name] ?? '', 'base64').toString(), name)
  }
})

/** A closed database with a table file and a log. */
async function makeDatabase(t: Test): Promise<string> {
  const directory = newDirectory(t)
  const database = await Database.open(directory, options)
  const table = await database.createTable('t', { families: { f: {} } })
  for (let i = 0; i < 200; i++) table.putSync({ row: `r${i}`, cells: { 'f:v': `value ${i}` } })
  await database.flush()
  for (let i = 0; i < 50; i++) table.putSync({ row: `s${i}`, cells: { 'f:v': `value ${i}` } })
  await database.close()
  return directory
}

function fileOf(directory: string, pattern: RegExp): string {
  return readdirSync(directory)
    .filter((name) => pattern.test(name))
    .sort()
    .at(-1)!
}

void t.test('files of a newer format are refused and left alone', async (t) => {
  await loadChecksums()
  for (const [pattern, kind] of [
    [/^MANIFEST-/, 'manifest'],
    [/\.log$/, 'log'],
  ] as const) {
    const directory = await makeDatabase(t)
    const name = fileOf(directory, pattern)
    const path = join(directory, name)
    const good = readFileSync(path)
    const fileNumber = Number(/\d+/.exec(name)![0])
    const newer = Buffer.from(good)
    makeNewer(newer, fileNumber)
    writeFileSync(path, newer)
    const before = contentOf(directory)
    const error = await rejectionOf(Database.open(directory, options))
    t.equal(error.code, 'ERR_FORMAT_VERSION', kind)
    t.match(error.message, name)
    t.strictSame(contentOf(directory), before, 'nothing is changed')
    writeFileSync(path, good)
    const database = await Database.open(directory, options)
    t.ok(database.table('t').existsSync({ row: 's49' }), 'the right file opens again')
    await database.close()
  }
})

/** Puts version 3 into a header, with a right checksum. */
function makeNewer(file: Buffer, fileNumber: number): void {
  file.writeUInt32LE(3, 8)
  file.writeBigUInt64LE(xxh64(file.subarray(0, 104), placeSeed(fileNumber, 0)), 104)
}

interface Damage {
  readonly name: string
  readonly pattern: RegExp
  readonly harm: (path: string) => void
  /** Whether opening must already find it. */
  readonly atOpen: boolean
}

const damages: readonly Damage[] = [
  { name: 'a missing table', pattern: /\.sst$/, harm: (path) => rmSync(path), atOpen: true },
  {
    name: 'a table that was cut',
    pattern: /\.sst$/,
    harm: (path) => truncateSync(path, statSync(path).size - 10),
    atOpen: true,
  },
  {
    name: 'a flipped bit in the footer of a table',
    pattern: /\.sst$/,
    harm: (path) => flip(path, statSync(path).size - 12),
    atOpen: true,
  },
  {
    name: 'a flipped bit in the data of a table',
    pattern: /\.sst$/,
    harm: (path) => flip(path, 40),
    atOpen: false,
  },
  {
    name: 'a flipped bit in the manifest',
    pattern: /^MANIFEST-/,
    harm: (path) => flip(path, fileHeaderBytes + 50),
    atOpen: true,
  },
  {
    name: 'a flipped bit in the log, before what had been synced',
    pattern: /\.log$/,
    harm: (path) => flip(path, fileHeaderBytes + 50),
    atOpen: true,
  },
]

function flip(path: string, offset: number): void {
  const bytes = readFileSync(path)
  bytes[offset] ^= 4
  writeFileSync(path, bytes)
}

for (const { name, pattern, harm, atOpen } of damages) {
  void t.test(`${name} is reported with file and offset, and can be repaired`, async (t) => {
    const directory = await makeDatabase(t)
    const file = fileOf(directory, pattern)
    const path = join(directory, file)
    const good = readFileSync(path)
    harm(path)
    const opening = Database.open(directory, options)
    let error: CellarError
    if (atOpen) {
      error = await rejectionOf(opening)
    } else {
      const database = await opening
      error = await rejectionOf((async () => [...database.table('t').scanSync()])())
      const get = await rejectionOf(database.table('t').get({ row: 'r0' }))
      t.equal(get.code, 'ERR_CORRUPTION', 'a get does not find nothing')
      await database.close()
    }
    t.equal(error.code, 'ERR_CORRUPTION')
    t.match(error.corruption?.file, file)
    t.type(error.corruption?.offset, 'number')
    t.match(error.message, file)
    writeFileSync(path, good)
    const database = await Database.open(directory, options)
    t.equal([...database.table('t').scanSync()].length, 250, 'everything is there again')
    await database.close()
  })
}

void t.test('an empty directory becomes a database only if that is wanted', async (t) => {
  const directory = newDirectory(t)
  const closed = { ...options, createIfMissing: false }
  t.equal((await rejectionOf(Database.open(directory, closed))).code, 'ERR_NOT_A_DATABASE')
  t.equal(new NodeFileSystem().statSync(directory), undefined, 'nothing was made')
  mkdirSync(directory)
  t.equal((await rejectionOf(Database.open(directory, closed))).code, 'ERR_NOT_A_DATABASE')
  t.strictSame(readdirSync(directory), [], 'nothing was left')
})
