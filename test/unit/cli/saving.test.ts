/**
 * verify, salvage, repair, backup, restore and compact: results, exit codes, refusals.
 *
 * @runs long
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Database } from '../../../src/entries/index.js'
import { cellar, cellarJson, fingerprint, temporary } from './support.js'

const home = temporary(t)
const directory = join(home, 'db')
const damaged = join(home, 'damaged')

interface Lost {
  readonly table?: string
  readonly entriesLost?: number
  readonly rows?: { firstRow: string; lastRow: string }[]
}

interface Found {
  readonly sound?: boolean
  readonly problems: (Lost & { file: string; kind: string })[]
  readonly losses: Lost[]
  readonly filesFromBackup: string[]
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(path)
  bytes[at] ^= 0x10
  writeFileSync(path, bytes)
}

t.before(async () => {
  const database = await Database.open(directory)
  const users = await database.createTable('users', { families: { f: { blockBytes: 1024 } } })
  for (let i = 0; i < 300; i++) {
    await users.put({ row: `user-${String(i).padStart(3, '0')}`, cells: { 'f:n': `Name ${i}` } })
  }
  await database.flush()
  await users.put({ row: 'user-900', cells: { 'f:n': 'of the log' } })
  await database.close()
  cpSync(directory, damaged, { recursive: true })
  const table = readdirSync(damaged).find((name) => name.endsWith('.sst'))!
  flip(join(damaged, table), 1500)
})

void t.test('verify tells the damage, and writes nothing', async (t) => {
  const before = fingerprint(home)
  const sound = await cellarJson<Found>('verify', '-d', directory)
  t.match(sound, { sound: true, problems: [], entries: 300, mutations: 301 })
  t.equal((await cellar('verify', '-d', directory)).status, 0)
  const found = await cellarJson<Found>('verify', '-d', damaged)
  t.equal((await cellar('verify', '-d', damaged)).status, 1)
  t.match(found, { sound: false, problems: [{ kind: 'SSTable', table: 'users' }] })
  t.ok(found.problems[0].entriesLost! > 0)
  t.match(found.problems[0].rows![0].firstRow, /^user-\d+$/)
  t.equal(fingerprint(home), before)
})

void t.test('verify reads beside a process that has the database open', async (t) => {
  const live = join(home, 'live')
  const database = await Database.open(live)
  const table = await database.createTable('t', { families: { f: {} } })
  let writes = true
  const writing = (async () => {
    for (let i = 0; writes; i++) {
      await table.put({ row: `row-${i}`, cells: { 'f:q': 'x'.repeat(100) } })
      if (i % 500 === 499) await database.flush()
      if (i % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
  })()
  for (let i = 0; i < 3; i++) {
    const found = await cellarJson<Found>('verify', '-d', live)
    t.match(found, { sound: true, problems: [] })
  }
  writes = false
  await writing
  await database.close()
})

void t.test('verify is as slow as it is told', async (t) => {
  const start = performance.now()
  const rate = String(8 * 1024)
  t.equal((await cellar('verify', '--bytes-per-second', rate, '-d', directory)).status, 0)
  // The SSTable is read twice.
  const { size } = {
    size: fingerprint(directory)
      .match(/\.sst \S+ (\d+)/)!
      .at(1)!,
  }
  t.ok(performance.now() - start > (2 * Number(size) * 1000) / (8 * 1024) - 20)
})

void t.test('salvage saves the rest elsewhere, and repair in place if asked', async (t) => {
  const before = fingerprint(damaged)
  const target = join(home, 'saved')
  const done = await cellarJson<Found>('salvage', target, '-d', damaged)
  t.equal(fingerprint(damaged), before, 'the damaged directory is as it was')
  const lost = done.losses[0].entriesLost!
  t.equal((await cellarJson<{ rows: number }>('count', 'users', '-d', target)).rows, 301 - lost)
  t.equal((await cellar('verify', '-d', target)).status, 0)
  t.equal((await cellar('salvage', target, '-d', damaged)).status, 2, 'the target is not empty')

  const plan = await cellar('repair', '-d', damaged)
  t.equal(plan.status, 1)
  t.match(plan.out, 'nothing was written')
  t.equal(fingerprint(damaged), before)
  const repaired = await cellar('repair', '--apply', '-d', damaged)
  t.equal(repaired.status, 1, 'something was lost')
  t.equal((await cellar('verify', '-d', damaged)).status, 0)
  t.equal(
    (await cellar('repair', '--apply', '-d', damaged)).out.split('\n')[0],
    `${damaged} is sound`,
  )
})

void t.test('backups rotate, restore, and mend a damaged directory', async (t) => {
  const folder = join(home, 'nightly')
  mkdirSync(folder)
  writeFileSync(join(folder, 'notes.txt'), 'stays')
  for (let i = 0; i < 3; i++) {
    t.equal((await cellar('backup', folder, '--keep', '2', '--verify', '-d', directory)).status, 0)
  }
  const names = readdirSync(folder).sort()
  t.equal(names.length, 3)
  t.equal(names.at(-1), 'notes.txt')
  const newest = join(folder, names[1])
  t.equal((await cellar('verify', '--backup', newest, '-d', directory)).status, 0)

  const restored = join(home, 'restored')
  t.equal((await cellar('restore', folder, '-d', restored)).status, 0)
  t.equal((await cellarJson<{ rows: number }>('count', 'users', '-d', restored)).rows, 301)
  t.equal((await cellar('compact', 'users', '-d', restored)).status, 0)
  const again = join(home, 'again')
  await cellar('restore', folder, '-d', again)
  const table = readdirSync(again).find((name) => name.endsWith('.sst'))!
  // A hard link of a restore shares its bytes with the backup: a copy is harmed.
  cpSync(again, join(home, 'hurt'), { recursive: true })
  flip(join(home, 'hurt', table), 900)
  const mended = await cellarJson<Found>(
    ...['repair', '--apply', '--backup', newest, '-d', join(home, 'hurt')],
  )
  t.match(mended, { losses: [], filesFromBackup: [table] })
  t.equal(
    (await cellarJson<{ rows: number }>('count', 'users', '-d', join(home, 'hurt'))).rows,
    301,
  )
})

void t.test('refusals have their codes and write nothing', async (t) => {
  const held = join(temporary(t), 'held')
  const database = await Database.open(held)
  const newer = join(home, 'newer')
  cpSync(directory, newer, { recursive: true })
  const manifest = readdirSync(newer).find((name) => name.startsWith('MANIFEST'))!
  const empty = join(home, 'empty')
  mkdirSync(empty)
  const bare = join(home, 'bare')
  cpSync(directory, bare, { recursive: true })
  writeFileSync(join(bare, manifest), '')
  const before = fingerprint(home)
  const target = join(home, 'never')
  const cases: [status: number, words: string[]][] = [
    [3, ['verify', '-d', join(home, 'absent')]],
    [3, ['verify', '-d', empty]],
    [3, ['salvage', target, '-d', join(home, 'absent')]],
    [3, ['salvage', target, '-d', empty]],
    [3, ['salvage', target, '-d', bare]],
    [3, ['repair', '--apply', '-d', bare]],
    [4, ['backup', target, '-d', held]],
    [4, ['compact', '-d', held]],
    [3, ['restore', empty, '-d', target]],
    [2, ['verify', '--bytes-per-second', 'fast', '-d', directory]],
    [2, ['backup', target, '--keep', '0', '-d', directory]],
    [2, ['salvage', target, '--log', 'some', '-d', directory]],
  ]
  for (const [status, words] of cases) {
    const ran = await cellar(...words)
    t.equal(ran.status, status, `${words.join(' ')}: ${ran.complaint}`)
    t.match(ran.complaint, /\S/)
  }
  t.equal(fingerprint(home), before)
  await t.rejects(Database.repair(held, { apply: true }), { code: 'ERR_LOCKED' })
  await database.close()
})
