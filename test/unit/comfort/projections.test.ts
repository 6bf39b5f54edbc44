/**
 * Projections: each change exactly once. Random histories with power cuts, on a disk that loses
 * what was not synced: a projection equals what its rows give, and no change comes twice.
 *
 * CELLAR_SEED: the first seed. CELLAR_PROJECTION_HISTORIES: how many.
 *
 * @runs campaign
 */
import t, { type Test } from 'tap'
import { ManualClock } from '../../../src/base/clock.js'
import { seededRandom } from '../../../src/base/random.js'
import {
  CellarError,
  defineTable,
  forgetProjection,
  project,
  projectionPosition,
  type Database,
  type ProjectionOptions,
  type RowChange,
  type Transaction,
  type TypedRowChange,
} from '../../../src/entries/index.js'
import { CrashPolicy } from '../../doubles/power-cut.js'
import { SimulatedDisk } from '../../doubles/simulated-disk.js'
import { lengthOf } from '../../helpers/length.js'
import { reduceToRows } from '../../helpers/row-atomic.js'
import { TestDatabase } from '../../helpers/test-database.js'

const invalid = 'ERR_INVALID_ARGUMENT'
const as = <T>(value: unknown): T => value as T

const users = defineTable({
  name: 'users',
  columns: { city: 'utf8', note: { column: 'g:note' } },
  families: { f: {}, g: {} },
})
/** Of the projection: the city of each user, the users of each city, and the changes so far. */
const cities = defineTable({ name: 'cities', columns: { city: 'utf8' } })
const totals = defineTable({ name: 'totals', columns: { users: 'integer' } })
const told = defineTable({ name: 'told', columns: { by: 'utf8' } })

type UserChange = TypedRowChange<
  Readonly<Record<'id', 'utf8'>>,
  { readonly city: 'utf8'; readonly note: { readonly column: 'g:note' } }
>

async function tablesOf(database: Database) {
  return {
    users: await users.open(database),
    cities: await cities.open(database),
    totals: await totals.open(database),
    told: await told.open(database),
  }
}
type Tables = Awaited<ReturnType<typeof tablesOf>>

/** Moves a user from one city to another. Counts, so that a change that comes twice is seen. */
function applyTo(tables: Tables, run: string) {
  return async (
    tx: Transaction,
    { key: { id }, sequence, written, removed, isFirst }: UserChange,
  ): Promise<void> => {
    const place = isFirst ? `first ${id}` : `${sequence} ${id}`
    const before = await tx.get(tables.told, place)
    if (before !== undefined) throw new Error(`told twice: ${place}, first by ${before.by}`)
    tx.put(tables.told, { id: place, by: run })
    const isGone = removed.includes('city')
    if (written.city === undefined && !isGone) return
    const old = (await tx.get(tables.cities, id))?.city
    if (old !== undefined) {
      await tx.update(tables.totals, old, (total) => ({ id: old, users: total!.users! - 1 }))
    }
    const city = written.city
    await tx.update(tables.cities, id, () => ({ id, city }))
    if (city === undefined) return
    await tx.update(tables.totals, city, (total) => ({ id: city, users: (total?.users ?? 0) + 1 }))
  }
}

function optionsOf(tables: Tables, run: string): ProjectionOptions<Tables['users'], UserChange> {
  return {
    name: 'by-city',
    table: tables.users,
    apply: applyTo(tables, run),
    toSequence: 'now',
    groupMax: 3,
  }
}

/** What the rows give, by a plain scan. */
async function expected(tables: Tables): Promise<Record<string, number>> {
  const found: Record<string, number> = {}
  for await (const { city } of tables.users.scan()) {
    if (city !== undefined) found[city] = (found[city] ?? 0) + 1
  }
  return found
}

async function projected(tables: Tables): Promise<Record<string, number>> {
  const found: Record<string, number> = {}
  for await (const { id, users: count } of tables.totals.scan()) if (count! > 0) found[id] = count!
  return found
}

const sorted = (record: Record<string, number>): unknown => Object.entries(record).sort()

/** Fails in a random transaction of a run, as a process that ends there. */
class Interrupted extends Error {}

async function history(t: Test, seed: number): Promise<void> {
  const random = seededRandom(seed)
  const below = (count: number): number => Math.floor(random() * count)
  let disk = new SimulatedDisk()
  const clock = new ManualClock()
  const options = { logRetentionBytes: 1024 * 1024 }
  let test = await TestDatabase.open({ fileSystem: disk, clock, options })
  let tables = await tablesOf(test.database)
  const write = async (): Promise<void> => {
    const id = `u${below(10)}`
    const city = `c${below(3)}`
    const kind = below(8)
    if (kind === 0) await tables.users.delete(id)
    else if (kind === 1) await tables.users.delete(id, 'city')
    else if (kind === 2) await tables.users.put({ id, note: 'n' })
    else if (kind === 3) await tables.users.update(id, () => ({ id, city }))
    else if (kind === 4) {
      const other = `u${below(10)}`
      await test.database.transaction((tx) => {
        tx.put(tables.users, { id, city })
        tx.put(tables.users, { id: other, city: 'both' })
      })
    } else await tables.users.put({ id, city, note: 'x' })
  }
  for (let i = below(30); i > 0; i--) await write()
  let interrupted = 0
  let crashes = 0
  for (let step = 0; step < 25; step++) {
    clock.milliseconds += below(3)
    for (let i = below(6); i > 0; i--) await write()
    const what = `seed ${seed}, step ${step}`
    const event = below(6)
    const given = optionsOf(tables, what)
    if (event <= 1) {
      let calls = below(12)
      const apply: typeof given.apply = (tx, change) => {
        if (calls-- === 0) throw new Interrupted()
        return given.apply(tx, change)
      }
      // Writes come between the steps of the run.
      const writing = (async () => {
        for (let i = below(4); i > 0; i--) await write()
      })()
      const outcome = await project(test.database, { ...given, apply }).catch((e: unknown) => e)
      await writing
      if (outcome instanceof Error && !(outcome instanceof Interrupted)) throw outcome
      if (outcome instanceof Interrupted) interrupted++
    } else if (event === 2) {
      crashes++
      const running = project(test.database, given).catch(() => undefined)
      void write().catch(() => undefined)
      for (let i = below(20); i > 0; i--) await new Promise((resolve) => setImmediate(resolve))
      const policies = Object.values(CrashPolicy)
      disk = disk.crash(policies[below(policies.length)], random)
      await test.close().catch(() => undefined)
      await running
      test = await TestDatabase.open({ fileSystem: disk, clock, options })
      tables = await tablesOf(test.database)
    } else {
      if (event === 3) await test.flush()
      const before = test.database.snapshot()
      const position = await project(test.database, given)
      t.ok(position.sequence >= before.sequence, `${what}: caught up`)
      before.close()
      t.strictSame(sorted(await projected(tables)), sorted(await expected(tables)), what)
      t.strictSame(await projectionPosition(test.database, 'by-city'), position)
    }
  }
  t.comment(`seed ${seed}: ${interrupted} runs failed, ${crashes} power cuts`)
  await project(test.database, optionsOf(tables, 'last'))
  t.strictSame(sorted(await projected(tables)), sorted(await expected(tables)), `seed ${seed}`)
  await test.close()
}

const firstSeed = Number(process.env['CELLAR_SEED'] ?? Date.now() % 1_000_000)
const rounds = lengthOf('CELLAR_PROJECTION_HISTORIES', 6, 60)

void t.test(`histories from seed ${firstSeed} on`, async (t) => {
  for (let seed = firstSeed; seed < firstSeed + rounds; seed++) await history(t, seed)
})

async function open(
  t: Test,
  options: { readonly logBytesMax?: number } = {},
): Promise<{ test: TestDatabase; tables: Tables }> {
  const test = await TestDatabase.open({ options })
  t.teardown(() => test.close())
  return { test, tables: await tablesOf(test.database) }
}

void t.test('typed changes say what was written and removed', async (t) => {
  const { test, tables } = await open(t)
  const table = tables.users
  await table.put({ id: 'a', city: 'x', note: 'n' })
  await table.delete('a', 'city')
  await table.update('a', () => ({ id: 'a', city: 'y' }))
  await table.put({ id: 'a', city: 'old' }, { timestamp: 5 })
  await table.delete('a')
  await table.table.delete({ row: 'a', columnVersions: ['f:city'] })
  await table.table.put({ row: 'b', cells: { 'f:other': '' } })
  await table.table.mutateRow({
    row: 'c',
    mutations: [
      { put: { cells: { 'f:city': 'x', 'g:note': 'n' } } },
      { delete: { families: ['f'] } },
    ],
  })
  const seen: unknown[] = []
  const apply = (
    _tx: Transaction,
    { key, written, removed, isExact, isFirst }: UserChange,
  ): unknown => seen.push([key.id, written, [...removed].sort(), isExact, isFirst])
  await project(test.database, { name: 'p', table, apply, from: 1, toSequence: 'now' })
  t.strictSame(seen, [
    ['a', { city: 'x', note: 'n' }, [], true, false],
    ['a', {}, ['city'], true, false],
    ['a', { city: 'y' }, ['note'], true, false],
    ['a', { city: 'old' }, [], false, false],
    ['a', {}, ['city', 'note'], true, false],
    ['a', {}, [], false, false],
    ['b', {}, [], true, false],
    ['c', { note: 'n' }, ['city'], true, false],
  ])
})

void t.test('a run that failed among the first rows goes on there', async (t) => {
  const { test, tables } = await open(t)
  for (let i = 1; i < 10; i++) await tables.users.put({ id: `${i}`, city: 'x' })
  const seen: string[] = []
  const run = async (callsMax: number): Promise<unknown> => {
    const apply = (_tx: Transaction, { key, written, isFirst }: UserChange): void => {
      if (callsMax-- === 0) throw new Interrupted()
      seen.push(`${isFirst ? 'first' : 'then'} ${key.id}${written.city ?? '-'}`)
    }
    const options = { name: 'p', table: tables.users, apply, groupMax: 3 }
    return project(test.database, { ...options, toSequence: 'now' }).catch((e: unknown) => e)
  }
  t.type(await run(4), Interrupted)
  t.equal(seen.splice(0).slice(0, 3).join(', '), 'first 1x, first 2x, first 3x')
  t.match(await projectionPosition(test.database, 'p'), { row: Buffer.from('3') })
  await tables.users.put({ id: '2', city: 'y' })
  await tables.users.put({ id: '7', city: 'y' })
  await tables.users.put({ id: '25', city: 'y' })
  await tables.users.delete('8')
  await tables.users.delete('1')
  const { row } = (await run(99)) as { readonly row: unknown }
  t.equal(row, undefined)
  const wanted = 'then 2y, then 25y, then 1-, first 4x, first 5x, first 6x, first 7y, first 9x'
  t.equal(seen.join(', '), wanted)
})

void t.test('rows, now, a sequence, and the name of a plain table', async (t) => {
  const { test, tables } = await open(t)
  const { database } = test
  for (const id of ['1', '2', '3']) await tables.users.put({ id, city: id })
  const run = async (name: string, from: 'rows' | 'now' | number | undefined): Promise<string> => {
    const seen: string[] = []
    const apply = (_tx: Transaction, change: RowChange): void => {
      seen.push(`${change.isFirst ? 'first ' : ''}${String(change.row)}:${change.cells.length}`)
    }
    const { sequence } = await project(database, {
      name,
      table: 'users',
      apply,
      from,
      toSequence: 'now',
    })
    t.equal((await projectionPosition(database, name))?.sequence, sequence)
    return seen.join(' ')
  }
  t.equal(await run('rows', undefined), 'first 1:1 first 2:1 first 3:1')
  t.equal(await run('now', 'now'), '')
  const since = database.snapshot()
  t.equal(await run('late', since.sequence + 1), '')
  since.close()
  await tables.users.delete('2')
  for (const name of ['rows', 'now', 'late']) t.equal(await run(name, undefined), '2:2', name)
  t.equal(await run('rows', 1), '', 'where a run begins counts for the first one only')
  await forgetProjection(database, 'rows')
  t.equal(await projectionPosition(database, 'rows'), undefined)
  t.equal(await run('rows', 'rows'), 'first 1:1 first 3:1')
})

void t.test('a projection of one family is told of its changes alone', async (t) => {
  const { test, tables } = await open(t)
  const { database } = test
  await tables.users.put({ id: '1', city: 'x', note: 'a' })
  await tables.users.put({ id: '2', city: 'y' })
  const run = async (family: string | string[], name: string): Promise<string> => {
    const seen: string[] = []
    const apply = (_tx: Transaction, { key, written, removed }: UserChange): void => {
      seen.push(`${key.id}:${written.city ?? '-'}${written.note ?? '-'}${removed.join()}`)
    }
    await project(database, { name, family, table: tables.users, apply, toSequence: 'now' })
    return seen.join(' ')
  }
  t.equal(await run('g', 'notes'), '1:-a')
  t.equal(await run(['f', 'g'], 'both'), '1:xa 2:y-')
  await tables.users.put({ id: '1', city: 'z' })
  await tables.users.put({ id: '2', city: 'z', note: 'b' })
  await tables.users.delete('1')
  t.equal(await run('g', 'notes'), '2:-b 1:--note')
  t.equal(await run(['g'], 'notes'), '', 'the position is behind the changes of other families')
  await t.rejects(run('h', 'none'), {
    code: 'ERR_NO_SUCH_COLUMN_FAMILY',
    message: /no column family 'h'; it has: f, g/,
  })
  await t.rejects(run('g:note', 'none'), { code: invalid, message: /not of columns/ })
  t.equal(await projectionPosition(database, 'none'), undefined, 'nothing was written')
})

void t.test('a run without end is told of changes until it is aborted', async (t) => {
  const { test, tables } = await open(t)
  const abort = new AbortController()
  const options = { ...optionsOf(tables, 'endless'), toSequence: undefined }
  const running = project(test.database, { ...options, signal: abort.signal })
  const failed = t.rejects(running, { code: 'ERR_ABORTED' })
  for (let i = 0; i < 20; i++) await tables.users.put({ id: `${i}`, city: `c${i % 2}` })
  while ((await tables.totals.get('c1'))?.users !== 10) {
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  abort.abort()
  await failed
})

void t.test('mutations of other tables move the position', async (t) => {
  const { test } = await open(t)
  const { database } = test
  const wait = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 5))
  const quiet = await database.createTable('quiet', { families: { f: {} } })
  const busy = await database.createTable('busy', { families: { f: {} } })
  const ended = new AbortController()
  const seen: string[] = []
  const apply = (_: Transaction, { row }: RowChange): unknown => seen.push(row.toString())
  const options = { name: 'p', table: 'quiet', apply }
  await quiet.put({ row: 'a', cells: { 'f:v': '1' } })
  await project(database, { ...options, toSequence: 'now' })
  const at = async (): Promise<number> => (await projectionPosition(database, 'p'))!.sequence
  const begun = await at()
  const running = project(database, { ...options, signal: ended.signal })
  const more = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await busy.put({ row: `${i}`, cells: { 'f:v': '1' } })
  }
  await more(1500)
  while ((await at()) < begun + 1000) await wait()
  const moved = await at()
  t.ok(moved < begun + 1501, 'not for each mutation')
  ended.abort()
  await t.rejects(running, { code: 'ERR_ABORTED' })
  // A run may be aborted before its feed has read anything.
  for (let run = 0; run < 100 && (await at()) < moved + 600; run++) {
    const abort = new AbortController()
    const short = project(database, { ...options, signal: abort.signal })
    await more(10)
    await wait()
    abort.abort()
    await t.rejects(short, { code: 'ERR_ABORTED' })
  }
  t.ok((await at()) >= moved + 600, 'the end of a run writes the position')
  await quiet.put({ row: 'b', cells: { 'f:v': '1' } })
  await project(database, { ...options, toSequence: 'now' })
  t.strictSame(seen, ['a', 'b'])
})

void t.test('two runs at once apply no change twice', async (t) => {
  const { test, tables } = await open(t)
  for (let i = 0; i < 40; i++) await tables.users.put({ id: `${i}`, city: `c${i % 3}` })
  const runs = await Promise.allSettled(
    ['one', 'other'].map((run) => project(test.database, optionsOf(tables, run))),
  )
  for (const run of runs) {
    if (run.status === 'rejected') t.equal((run.reason as CellarError).code, 'ERR_CONFLICT')
  }
  await project(test.database, optionsOf(tables, 'last'))
  t.strictSame(sorted(await projected(tables)), sorted(await expected(tables)))
})

void t.test('a log that is gone is told', async (t) => {
  const { test, tables } = await open(t, { logBytesMax: 64 * 1024 })
  const options = optionsOf(tables, 'one')
  await tables.users.put({ id: '1', city: 'x' })
  await project(test.database, options)
  for (let i = 0; i < 300; i++) await tables.users.put({ id: `${i}`, note: 'n'.repeat(1000) })
  await test.flush()
  await tables.users.put({ id: 'last', city: 'x' })
  await test.reopen()
  await test.flush()
  const again = await tablesOf(test.database)
  await t.rejects(project(test.database, optionsOf(again, 'two')), { code: 'ERR_CHANGES_GONE' })
  for (const name of ['cities', 'totals', 'told']) await test.database.truncateTable(name)
  await forgetProjection(test.database, 'by-city')
  await project(test.database, optionsOf(again, 'three'))
  t.strictSame(sorted(await projected(again)), sorted(await expected(again)))
})

void t.test('wrong options are refused', async (t) => {
  const { test, tables } = await open(t)
  const good = optionsOf(tables, 'x')
  const refused: Record<string, [unknown, RegExp]> = {
    nothing: [undefined, /a projection must be an object/],
    'no name': [{ ...good, name: undefined }, /a projection needs the option name/],
    'no function': [{ ...good, apply: undefined }, /needs the option apply/],
    'a text as function': [{ ...good, apply: 'x' }, /apply must be a function/],
    'no table': [{ ...good, table: 5 }, /a typed table, or the name of a table/],
    'a plain table': [{ ...good, table: tables.users.table }, /a typed table, or the name/],
    'a wrong beginning': [{ ...good, from: 'start' }, /from must be 'rows', 'now' or a sequence/],
    'a wrong end': [{ ...good, toSequence: 'end' }, /toSequence must be 'now' or an integer/],
    'an unknown name': [{ ...good, tosequence: 1 }, /did you mean 'toSequence'/],
  }
  for (const [name, [options, message]] of Object.entries(refused)) {
    await t.rejects(
      project(test.database, as<ProjectionOptions>(options)),
      { code: invalid, message },
      name,
    )
  }
  await t.rejects(project(test.database, as<ProjectionOptions>({ ...good, table: 'none' })), {
    code: 'ERR_TABLE_NOT_FOUND',
  })
  await t.rejects(project(reduceToRows(test.database), good), { code: 'ERR_UNSUPPORTED' })
  await t.rejects(projectionPosition(test.database, as(5)), { code: invalid })
  t.equal(await projectionPosition(test.database, 'by-city'), undefined, 'nothing was begun')
})
