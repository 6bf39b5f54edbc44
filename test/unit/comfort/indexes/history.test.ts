/**
 * Random histories of all kinds of writes, also concurrent ones, with power cuts and builds of
 * indexes in between, and power cuts within builds: after each step the indexes hold exactly the
 * keys that a plain scan of the rows gives.
 *
 * CELLAR_SEED: the first seed. CELLAR_INDEX_HISTORIES: how many.
 *
 * @runs campaign
 */
import t, { type Test } from 'tap'
import { ManualClock } from '../../../../src/base/clock.js'
import {
  CellarError,
  openIndexes,
  type Indexes,
  type Mutation,
  type RowMutations,
} from '../../../../src/entries/index.js'
import { CrashPolicy } from '../../../doubles/power-cut.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { lengthOf } from '../../../helpers/length.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const firstSeed = Number(process.env['CELLAR_SEED'] ?? Date.now() % 1_000_000)
const rounds = lengthOf('CELLAR_INDEX_HISTORIES', 3, 60)

type Random = (below: number) => number

function randomOf(seed: number): Random {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

async function declare(indexes: Indexes): Promise<void> {
  await indexes.create('people', { name: 'by_city', key: { city: 'f:city' }, stored: ['f:name'] })
  await indexes.create('people', {
    name: 'by_city_visits',
    key: { city: 'f:city', visits: { column: 'g:visits', encoding: 'int64', descending: true } },
  })
  await indexes.create('people', {
    name: 'by_tag',
    key: { tag: { column: 'f:tags', encoding: 'json', each: true } },
  })
  await indexes.create('people', { name: 'by_mark', key: { mark: { qualifiersOf: 'm' } } })
  await indexes.create('people', { name: 'by_mail', unique: true, key: { mail: 'f:mail' } })
}

const names = ['by_city', 'by_city_visits', 'by_tag', 'by_mark', 'by_mail']

/** The keys that the rows give, by index, from plain reads. */
async function expected(test: TestDatabase): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = Object.fromEntries(names.map((name) => [name, []]))
  for await (const result of test.database.table('people').scan()) {
    const row = result.row!.toString()
    const city = result.value('f:city', 'utf8')
    const visits = result.value('g:visits', 'int64')
    const mail = result.value('f:mail', 'utf8')
    const tags = result.value('f:tags', 'json') as string[] | undefined
    const name = result.value('f:name', 'utf8')
    if (city !== undefined) found['by_city'].push(JSON.stringify([row, city, name ?? null]))
    if (city !== undefined && visits !== undefined) {
      found['by_city_visits'].push(JSON.stringify([row, city, String(visits)]))
    }
    for (const tag of new Set(tags ?? [])) found['by_tag'].push(JSON.stringify([row, tag]))
    for (const { family, qualifier } of result.cells()) {
      if (family === 'm') found['by_mark'].push(JSON.stringify([row, qualifier.toString()]))
    }
    if (mail !== undefined) found['by_mail'].push(JSON.stringify([row, mail]))
  }
  for (const list of Object.values(found)) list.sort()
  return found
}

/** The keys in the indexes. */
async function stored(indexes: Indexes): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {}
  for (const name of names) {
    const { rows } = await indexes.index('people', name).entries()
    found[name] = rows
      .map(({ row, key, stored: columns }) => {
        const parts = Object.values(key).map((value) => String(value))
        const extra = name === 'by_city' ? [columns['f:name']?.toString() ?? null] : []
        return JSON.stringify([row.toString(), ...parts, ...extra])
      })
      .sort()
  }
  return found
}

/** Few rows meet each other often; many are built in several steps. */
let rowCount = 8

function rowOf(random: Random): string {
  return `row${random(rowCount)}`
}

function put(random: Random, now: number): Mutation {
  const cells: Record<string, string> = {}
  for (let i = random(3); i >= 0; i--) {
    const choice = random(6)
    if (choice === 0) cells['f:city'] = `city${random(3)}`
    if (choice === 1) cells['f:name'] = `name${random(3)}`
    if (choice === 2) cells['f:mail'] = `mail${random(6)}`
    if (choice === 3) cells['f:tags'] = JSON.stringify([`t${random(3)}`, `t${random(3)}`])
    if (choice === 4) cells[`m:${random(3)}`] = ''
    if (choice === 5) cells['g:other'] = 'x'
  }
  if (Object.keys(cells).length === 0) cells['f:none'] = ''
  const timestamp = random(4) === 0 ? now - 20 + random(24) : undefined
  return { put: { cells, timestamp } }
}

function deletion(random: Random, now: number): Mutation {
  const column = ['f:city', 'f:mail', 'f:tags', 'g:visits', 'm:1'][random(5)]
  const family = ['f', 'g', 'm'][random(3)]
  const timestamp = random(3) === 0 ? now - random(20) : undefined
  switch (random(5)) {
    case 0:
      return { delete: { timestamp } }
    case 1:
      return { delete: { families: [family], timestamp } }
    case 2:
      return { delete: { columns: [column], timestamp } }
    case 3:
      return { delete: { columnVersions: [column], timestamp } }
    default:
      return { delete: { familyVersions: [{ family, timestamp: now - random(20) }] } }
  }
}

function mutation(random: Random, now: number): Mutation {
  const choice = random(10)
  if (choice < 5) return put(random, now)
  if (choice < 8) return deletion(random, now)
  if (choice === 8) return { increment: { columns: { 'g:visits': 1 + random(3) } } }
  return { append: { columns: { 'f:city': `${random(3)}` } } }
}

function rowMutations(random: Random, now: number, without: readonly string[] = []): RowMutations {
  const mutations: Mutation[] = []
  for (let i = random(3); i >= 0; i--) {
    const next = mutation(random, now)
    if (!without.some((kind) => kind in next)) mutations.push(next)
  }
  return { row: rowOf(random), mutations: mutations.length > 0 ? mutations : [put(random, now)] }
}

/** One call; it may fail because a mail address is taken. */
async function write(test: TestDatabase, random: Random): Promise<void> {
  const table = test.database.table('people')
  const now = test.clock.now()
  const counters = ['increment', 'append']
  switch (random(7)) {
    case 0:
      await table.put({ row: rowOf(random), ...put(random, now).put! })
      return
    case 1:
      await table.mutateRow(rowMutations(random, now))
      return
    case 2: {
      const check = { row: rowOf(random), column: 'f:city', equals: `city${random(3)}` } as const
      await table.checkAndMutate(check, { mutations: rowMutations(random, now).mutations })
      return
    }
    case 3:
      await table.mutateRows({ rows: [1, 2].map(() => rowMutations(random, now, counters)) })
      return
    case 4:
      await table.batch([
        { mutateRow: rowMutations(random, now) },
        { put: { row: rowOf(random), ...put(random, now).put! } },
        { increment: { row: rowOf(random), columns: { 'g:visits': 1 } } },
      ])
      return
    case 5:
      await table.putList([1, 2, 3].map(() => ({ row: rowOf(random), ...put(random, now).put! })))
      return
    default:
      await test.database.atomic({
        mutations: [
          { table: 'people', ...rowMutations(random, now, counters) },
          { table: 'other', row: 'x', mutations: [{ put: { cells: { 'f:x': 'y' } } }] },
          { table: 'people', ...rowMutations(random, now, counters) },
        ],
      })
  }
}

async function compare(t: Test, test: TestDatabase, indexes: Indexes, what: string): Promise<void> {
  const wanted = await expected(test)
  const found = await stored(indexes)
  t.same(found, wanted, what)
  const mails = wanted['by_mail'].map((text) => (JSON.parse(text) as string[])[1])
  t.equal(new Set(mails).size, mails.length, `${what}: no mail address twice`)
}

async function history(t: Test, seed: number): Promise<void> {
  const random = randomOf(seed)
  let disk = new SimulatedDisk()
  const clock = new ManualClock()
  let test = await TestDatabase.open({ fileSystem: disk, clock })
  const families = { f: { versions: 3 }, g: { versions: 1 }, m: { versions: 2 } }
  await test.database.createTable('people', { families })
  await test.database.createTable('other', { families: { f: {} } })
  const beforehand = random(2) === 0
  rowCount = seed % 3 === 0 ? 150 : 8
  if (beforehand) for (let i = 0; i < 2 * rowCount; i++) await write(test, random)
  let indexes = await openIndexes(test.database)
  try {
    await declare(indexes)
    for (const name of names) await indexes.index('people', name).ready()
  } catch (error) {
    // Written before there was an index, so two rows may have one address.
    if (!(error instanceof CellarError) || error.code !== 'ERR_UNIQUE_VIOLATION') throw error
    t.ok(beforehand, `seed ${seed}: only rows from before the index can be refused`)
    const people = test.database.table('people')
    // Behind the puts whose timestamps are ahead of the clock.
    clock.milliseconds += 4
    for (const { row } of await people.scan().toArray()) {
      await people.delete({ row: row!, columns: ['f:mail'] })
    }
    await indexes.rebuild('people', 'by_mail')
    await indexes.index('people', 'by_mail').ready()
  }
  let refused = 0
  for (let step = 0; step < 60; step++) {
    clock.milliseconds += random(4)
    const calls = Array.from({ length: 1 + random(4) }, () => write(test, random))
    for (const outcome of await Promise.allSettled(calls)) {
      if (outcome.status === 'fulfilled') continue
      const { code } = outcome.reason as CellarError
      if (code !== 'ERR_UNIQUE_VIOLATION' && code !== 'ERR_BATCH_FAILED') throw outcome.reason
      refused++
    }
    const event = random(12)
    if (event === 0) await test.flush()
    if (event === 1) await test.database.compact(undefined, { major: random(2) === 0 })
    const rebuild = (): Promise<void> => indexes.rebuild('people', names[random(names.length)])
    if (event === 3) await rebuild()
    if (event === 2) {
      if (random(2) === 0) void rebuild().catch(() => undefined)
      for (let i = random(6); i > 0; i--) await new Promise((resolve) => setImmediate(resolve))
      const policies = Object.values(CrashPolicy)
      void write(test, random).catch(() => undefined)
      const after = disk.crash(policies[random(policies.length)], () => random(1000) / 1000)
      await indexes.close()
      await test.close().catch(() => undefined)
      disk = after
      test = await TestDatabase.open({ fileSystem: disk, clock })
      indexes = await openIndexes(test.database)
    }
    for (const name of names) await indexes.index('people', name).ready()
    await compare(t, test, indexes, `seed ${seed}, step ${step}`)
  }
  t.ok(refused >= 0, `seed ${seed}: ${refused} calls refused`)
  for (const name of names) {
    const findings = await indexes.index('people', name).verify()
    t.same(findings, { rowsWithoutEntry: [], entriesWithoutRow: [] }, `seed ${seed}: ${name}`)
  }
  await indexes.close()
  await test.close()
}

void t.test(`histories from seed ${firstSeed} on`, async (t) => {
  for (let seed = firstSeed; seed < firstSeed + rounds; seed++) await history(t, seed)
  t.comment(`${rounds} histories`)
})
