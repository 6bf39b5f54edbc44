/**
 * The scrub: finds a flipped bit while load runs, keeps its rate, and stops at a close.
 *
 * @runs long
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import t from 'tap'
import { Database, NodeFileSystem, type DamageEvent } from '../../../../../src/entries/index.js'
import { FaultyFileSystem } from '../../../../doubles/faulty-fs.js'

const home = mkdtempSync(join(tmpdir(), 'cellar-scrub-'))
t.teardown(() => rmSync(home, { recursive: true, force: true }))

async function fill(directory: string): Promise<void> {
  const database = await Database.open(directory)
  const f = { compression: 'NONE', mob: true, mobThreshold: 1000 } as const
  const table = await database.createTable('t', { families: { f } })
  for (let i = 0; i < 500; i++) {
    const bytes = i % 50 === 0 ? 2000 : 200
    await table.put({ row: `row-${i}`, cells: { 'f:q': String(i).padEnd(bytes, 'x') } })
  }
  await database.flush()
  await database.close()
}

async function until(condition: () => boolean): Promise<void> {
  for (const end = performance.now() + 30_000; performance.now() < end && !condition();) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

for (const kind of ['sst', 'val']) {
  void t.test(`a flipped bit in a file .${kind} is found while load runs`, async (t) => {
    const directory = join(home, kind)
    await fill(directory)
    const database = await Database.open(directory, { scrubBytesPerSecond: 16 * 1024 * 1024 })
    const found: DamageEvent[] = []
    database.on('damage', (damage) => found.push(damage))
    const table = database.table('t')
    let runs = true
    const load = (async () => {
      for (let i = 0; runs; i++) {
        await table.put({ row: `new-${i % 1000}`, cells: { 'f:q': 'y'.repeat(100) } })
        if (i % 20 === 0) await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    await until(() => database.statistics().scrub.passes > 0)
    t.strictSame(database.statistics().scrub.damagedFiles, [], 'sound so far')
    t.ok(database.statistics().scrub.bytesRead > 100_000)
    const name = readdirSync(directory).find((each) => each.endsWith(`.${kind}`))!
    const bytes = readFileSync(join(directory, name))
    bytes[Math.floor(bytes.length / 2)] ^= 4
    writeFileSync(join(directory, name), bytes)
    await until(() => found.length > 0)
    t.match(found, [{ file: name, error: { code: 'ERR_CORRUPTION' } }])
    const { passes } = database.statistics().scrub
    await until(() => database.statistics().scrub.passes > passes)
    t.equal(found.length, 1, 'once for each file')
    t.strictSame(database.statistics().scrub.damagedFiles, [name])
    runs = false
    await load
    await database.close()
  })
}

void t.test(
  'files that only a snapshot has are read, whatever a lack of descriptors',
  async (t) => {
    const directory = join(home, 'snapshot')
    await fill(directory)
    const before = await Database.open(directory)
    await before.admin.snapshot('s', 't')
    await before.truncateTable('t')
    await before.close()
    const names = readdirSync(directory).filter((each) => /\.(sst|val)$/.test(each))
    t.equal(names.length, 2)
    for (const name of names) {
      const bytes = readFileSync(join(directory, name))
      bytes[Math.floor(bytes.length / 2)] ^= 4
      writeFileSync(join(directory, name), bytes)
    }
    const fileSystem = new FaultyFileSystem(new NodeFileSystem())
    const database = await Database.open(directory, {
      fileSystem,
      scrubBytesPerSecond: 1024 * 1024,
    })
    fileSystem.arm({
      failAt: 1,
      errno: 'EMFILE',
      only: ({ path }) => names.includes(basename(path)),
    })
    const warnings: unknown[] = []
    database.on('warning', (warning) => warnings.push(warning))
    await until(() => database.statistics().scrub.damagedFiles.length === 2)
    t.strictSame(database.statistics().scrub.damagedFiles, names.sort())
    t.match(warnings, [{ code: 'ERR_IO', message: /EMFILE/ }])
    t.ok(await database.admin.cloneSnapshot('s', 'c'), 'the files are not in use')
    await database.close()
  },
)

void t.test('the rate is kept, a close does not wait, and 0 reads nothing', async (t) => {
  const directory = join(home, 'rate')
  await fill(directory)
  const rate = 32 * 1024
  const start = performance.now()
  const database = await Database.open(directory, { scrubBytesPerSecond: rate })
  await new Promise((resolve) => setTimeout(resolve, 500))
  const seconds = (performance.now() - start) / 1000
  t.ok(database.statistics().scrub.bytesRead <= rate * seconds)
  const closing = performance.now()
  await database.close()
  t.ok(performance.now() - closing < 1000, 'a close ends the scrub at once')
  const still = await Database.open(directory)
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.strictSame(still.statistics().scrub, {
    ...{ passes: 0, filesRead: 0, bytesRead: 0, damagedFiles: [] },
  })
  await still.close()
})
