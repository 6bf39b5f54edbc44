/**
 * Mutations that are not in the log and span families: after a crash at any step of a flush each
 * of them is there whole or not at all.
 *
 * @runs alone, campaign
 */
import t from 'tap'
import { cutEverywhere, failEverywhere, type Interrupted } from '../helpers/crash-steps.js'
import { SimulatedDisk } from '../doubles/simulated-disk.js'
import { Database, type FileSystem } from '../../src/entries/index.js'

const families = { f: {}, g: {}, h: {} } as const
const unlogged = { durability: 'SKIP_WAL' } as const

/** What is wrong with rows that have a cell in each of the named families or none at all. */
function torn(database: Database): string | undefined {
  for (const row of database.table('t').scanSync()) {
    const name = row.row!.toString()
    // The first letters of a row name its families.
    const wanted = [...name.split(' ')[0]]
    const missing = wanted.filter((family) => row.value(`${family}:v`) === undefined)
    if (missing.length > 0) return `row '${name}' lacks ${missing.join(', ')}`
  }
  return undefined
}

async function put(database: Database, row: string): Promise<void> {
  const cells = Object.fromEntries([...row.split(' ')[0]].map((family) => [`${family}:v`, row]))
  await database.table('t').put({ row, cells, ...unlogged })
}

const prepare = async (database: Database): Promise<void> => {
  await database.createTable('t', { families })
}

const tests: Readonly<Record<string, Omit<Interrupted, 'prepare' | 'judge'>>> = {
  'a flush of one of two families': {
    act: async (database) => {
      await put(database, 'fg 1')
      await database.admin.flush('t', 'f')
    },
  },
  'families that are tied by way of a third one': {
    act: async (database) => {
      await put(database, 'fg 1')
      await put(database, 'gh 2')
      await put(database, 'h 3')
      await database.admin.flush('t', 'h')
    },
  },
  'a flush of one family, writes, and a flush of another': {
    act: async (database) => {
      await put(database, 'fg 1')
      const first = database.admin.flush('t', 'f')
      first.catch(() => undefined)
      await put(database, 'gh 2')
      await put(database, 'fg 3')
      await database.admin.flush('t', 'h')
      await first
    },
  },
  'logged and unlogged mutations in turn': {
    act: async (database) => {
      const logged = (row: string) =>
        database.table('t').put({ row, cells: { 'f:v': row, 'g:v': row } })
      await logged('fg 0')
      await put(database, 'fg 1')
      await logged('fg 2')
      await database.admin.flush('t', 'g')
      await logged('fg 3')
      await put(database, 'fgh 4')
      await database.admin.flush('t', 'f')
    },
  },
  'a synchronous writer that makes room': {
    options: { memtableBytesMax: 256 * 1024, flushBytes: 64 * 1024 },
    act: async (database) => {
      const value = 'x'.repeat(20_000)
      for (let i = 0; i < 20; i++) {
        const cells = { 'f:v': value, 'g:v': 'small' }
        database.table('t').putSync({ row: `fg ${i}`, cells, ...unlogged })
        if (i % 8 === 7) await Promise.resolve()
      }
    },
  },
  'a close': {
    act: async (database) => {
      await put(database, 'fgh 1')
      await put(database, 'fg 2')
      await database.close()
    },
  },
}

for (const [name, test] of Object.entries(tests)) {
  const whole: Interrupted = { ...test, prepare, judge: (database) => torn(database) }
  void t.test(`${name}: whole or not at all after a cut at every step`, async (t) => {
    t.same((await cutEverywhere(whole)).complaints, [])
  })
  // Each such test runs the history some hundred times; a closed database cannot be judged.
  if (!/^(a flush of one of two|a synchronous writer)/.test(name)) continue
  void t.test(`${name}: whole or not at all if any call fails`, async (t) => {
    t.same((await failEverywhere(whole)).complaints, [])
  })
}

void t.test('a flush that succeeded has brought the tied families to disk', async (t) => {
  const fileSystem = new SimulatedDisk()
  const options = { executor: 'inline', compactionEnabled: false } as const
  const database = await Database.open('/db', { ...options, fileSystem })
  const table = await database.createTable('t', { families })
  await put(database, 'fg 1')
  await table.put({ row: 'h 1', cells: { 'h:v': 'h 1' }, ...unlogged })
  await database.admin.flush('t', 'f')
  t.equal(database.statistics().flushes, 2, 'both, and not the third')
  const killed: FileSystem = fileSystem.crash('keepAll', () => 0)
  await database.close()
  const again = await Database.open('/db', { ...options, fileSystem: killed })
  t.same(
    [...again.table('t').scanSync()].map((row) => row.row!.toString()),
    ['fg 1'],
  )
  t.equal(torn(again), undefined)
  await again.close()
})
