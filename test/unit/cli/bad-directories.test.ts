/**
 * Every verb of the command on every bad directory: missing, empty, of other files, a file, of a
 * newer format, damaged, in use. Each run ends with its exit code and says why on one line or more;
 * nothing is written, to the directory or beside it.
 *
 * @runs alone
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { Database } from '../../../src/entries/index.js'
import { loadChecksums, placeSeed, xxh64 } from '../../../src/storage/codec/checksum.js'
import { cellar, contentsOf, temporary } from './support.js'

const home = temporary(t)
const at = (name: string): string => join(home, name)

/** What a verb needs of the directory. */
type Need = 'look' | 'check' | 'write'

/**
 * The words of each verb. A `look` reads rows or figures, a `check` reads damaged directories too,
 * and a `write` needs the directory alone.
 */
const verbs: Readonly<Record<string, readonly [need: Need, ...words: string[]]>> = {
  tables: ['look'],
  describe: ['look', 'orders'],
  stats: ['look'],
  get: ['look', 'orders', 'row-0'],
  scan: ['look', 'orders'],
  count: ['look', 'orders'],
  metrics: ['look'],
  dump: ['look', 'orders'],
  'export-hfiles': ['look', 'orders', at('never')],
  messaging: ['look', 'topics'],
  inspect: ['check'],
  verify: ['check'],
  salvage: ['check', at('never')],
  repair: ['check'],
  load: ['write', at('orders.jsonl')],
  'load-hfiles': ['write', 'orders', at('hfiles')],
  backup: ['write', at('never')],
  compact: ['write'],
}

/** Verbs that create a directory, need none, or take two (`move.test.ts`). */
const others = new Set(['serve', 'restore', 'repository', 'move', 'completion', 'help'])

/** Exit codes by need. */
const directories: Readonly<Record<string, Readonly<Record<Need, readonly number[]>>>> = {
  missing: { look: [3], check: [3], write: [3] },
  empty: { look: [3], check: [3], write: [3] },
  foreign: { look: [3], check: [3], write: [3] },
  file: { look: [3], check: [3], write: [3] },
  newer: { look: [3], check: [3], write: [3] },
  // The first edit is damaged: nothing of the manifest can be read.
  manifest: { look: [3], check: [1, 3], write: [3] },
  used: { look: [0], check: [0, 1], write: [4] },
}

function fileOf(directory: string, ending: RegExp): string {
  return join(
    directory,
    readdirSync(directory).find((name) => ending.test(name))!,
  )
}

let inUse: Database

t.before(async () => {
  await loadChecksums()
  const good = at('good')
  const database = await Database.open(good)
  const orders = await database.createTable('orders', { families: { f: {} } })
  for (let i = 0; i < 50; i++) await orders.put({ row: `row-${i}`, cells: { 'f:n': `${i}` } })
  await database.flush()
  await database.close()
  const { out } = await cellar('dump', 'orders', '-d', good)
  writeFileSync(at('orders.jsonl'), out)
  mkdirSync(at('empty'))
  mkdirSync(at('foreign'))
  writeFileSync(join(at('foreign'), 'notes.txt'), 'not ours')
  writeFileSync(at('file'), 'not a directory')
  for (const name of ['newer', 'manifest', 'used']) cpSync(good, at(name), { recursive: true })
  const newer = fileOf(at('newer'), /^MANIFEST-/)
  const header = readFileSync(newer)
  header.writeUInt32LE(3, 8)
  const seed = placeSeed(Number(/\d+$/.exec(basename(newer))![0]), 0)
  header.writeBigUInt64LE(xxh64(header.subarray(0, 104), seed), 104)
  writeFileSync(newer, header)
  const manifest = fileOf(at('manifest'), /^MANIFEST-/)
  const bytes = readFileSync(manifest)
  bytes[200] ^= 0x10
  writeFileSync(manifest, bytes)
  // A family at rest would be compacted after some seconds, and that writes.
  inUse = await Database.open(at('used'), { compactionEnabled: false })
})

t.teardown(() => inUse.close())

void t.test('the list has all verbs', async (t) => {
  const { out } = await cellar('--help')
  const commands = out.slice(out.indexOf('Commands:'))
  const names = [...commands.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => name)
  t.same(names.sort(), [...Object.keys(verbs), ...others].sort())
})

for (const [name, codes] of Object.entries(directories)) {
  void t.test(`a directory that is: ${name}`, async (t) => {
    const before = contentsOf(at(name))
    for (const [verb, [need, ...words]] of Object.entries(verbs)) {
      const { status, out, complaint } = await cellar(verb, ...words, '-d', at(name))
      const all = `exit ${status}: ${complaint}${out}`
      t.ok(codes[need].includes(status ?? -1), `${verb} ends with ${String(codes[need])}; ${all}`)
      if (status !== 0) {
        t.match(complaint + out, name === 'used' ? /use|lock|open/ : name, `${verb} names it`)
      }
      t.notMatch(complaint, /\n\s+at |TypeError|undefined/, `${verb} shows no stack`)
      t.equal(contentsOf(at(name)), before, `${verb} writes nothing`)
      const made = existsSync(at('never'))
      t.notOk(made && status !== 0 && status !== 1, `${verb} makes nothing`)
      if (made) rmSync(at('never'), { recursive: true })
    }
  })
}

void t.test('a damaged SSTable: reads of it fail, all else answers', async (t) => {
  cpSync(at('good'), at('damaged'), { recursive: true })
  const table = fileOf(at('damaged'), /\.sst$/)
  const bytes = readFileSync(table)
  bytes[50] ^= 0x10
  writeFileSync(table, bytes)
  const before = contentsOf(at('damaged'))
  const expected: Readonly<Record<string, number>> = {
    ...{ tables: 0, describe: 0, stats: 0, metrics: 0, messaging: 0 },
    ...{ get: 3, scan: 3, count: 3, dump: 3, inspect: 0, verify: 1 },
  }
  for (const [verb, status] of Object.entries(expected)) {
    const [, ...words] = verbs[verb]
    const ran = await cellar(verb, ...words, '-d', at('damaged'))
    t.equal(ran.status, status, `${verb}: ${ran.complaint}`)
    if (status === 3) t.match(ran.complaint, basename(table), `${verb} names the file`)
    t.equal(contentsOf(at('damaged')), before, `${verb} writes nothing`)
  }
})

void t.test('restore refuses what is no backup, and writes nothing', async (t) => {
  for (const name of ['missing', 'empty', 'foreign', 'file', 'good']) {
    const before = contentsOf(at(name))
    const { status, complaint } = await cellar('restore', at(name), '-d', at('never'))
    t.equal(status, 3, `${name}: ${complaint}`)
    t.equal(contentsOf(at(name)), before)
    t.notOk(existsSync(at('never')))
  }
})
