/**
 * Processes are killed while a projection follows their writes. What the projection has written is
 * then exactly what a model makes of the changes up to its position: the two lie in one batch. The
 * next process goes on there, and no change comes twice.
 *
 * CELLAR_SEED: the seed. CELLAR_PROJECTION_KILLS: processes for each beginning.
 *
 * @runs campaign
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { Database, project, projectionPosition } from '../../../src/entries/index.js'
import { childEnvironment } from '../../helpers/child-environment.js'
import { lengthOf } from '../../helpers/length.js'
import {
  openOptions,
  placeOf,
  projectionOf,
  tablesOf,
  type ProjectionPlan,
  type Tables,
} from './projection-scene.js'
import { generatorOf } from '../recovery.js'

const childPath = fileURLToPath(new URL('projection-child.js', import.meta.url))
const rounds = lengthOf('CELLAR_PROJECTION_KILLS', 3, 25)
const seed = Number(process.env['CELLAR_SEED'] ?? Date.now() % 1_000_000)

/** Runs a child until it has acknowledged `writes` writes, and kills it after a while. */
async function runChild(plan: ProjectionPlan, writes: number, wait: number): Promise<string[]> {
  const child = spawn(process.execPath, [childPath, JSON.stringify(plan)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: childEnvironment,
  })
  let complaint = ''
  child.stderr.on('data', (data: Buffer) => (complaint += data.toString()))
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    if (line !== 'ready') lines.push(line)
    if (lines.length === writes) setTimeout(() => child.kill('SIGKILL'), wait)
  }
  const code = await ended
  if (code !== null) throw new Error(`the child ended with code ${code}: ${complaint}`)
  return lines
}

/** What a projection from the first change on has written up to a sequence: told, totals. */
async function model(database: Database, to: number): Promise<[string[], unknown]> {
  const told: string[] = []
  const cities = new Map<string, string>()
  const feed = database.changes({ fromSequence: 1, toSequence: to, table: 'users' })
  for await (const { sequence, cells } of feed) {
    const ids = new Set(cells.map(({ row }) => String(row)))
    for (const id of ids) told.push(placeOf(sequence, id))
    for (const { row, qualifier, type, value } of cells) {
      if (String(qualifier) !== 'city') continue
      if (type === 'Put') cities.set(String(row), String(value))
      else cities.delete(String(row))
    }
  }
  return [told.sort(), countsOf([...cities.values()])]
}

function countsOf(cities: readonly string[]): unknown {
  return [...new Set(cities)].sort().map((city) => {
    return [city, cities.filter((each) => each === city).length]
  })
}

async function projected(tables: Tables): Promise<[string[], unknown]> {
  const told = await tables.told
    .scan()
    .map(({ id }) => id)
    .all()
  const totals = await tables.totals.scan().all()
  const counts = totals.filter(({ users }) => users !== 0).map(({ id, users }) => [id, users])
  return [told, counts]
}

/** Checks the directory of a killed process. Returns how many changes the projection was behind. */
async function check(
  t: Test,
  plan: ProjectionPlan,
  acknowledged: ReadonlyMap<string, number>,
  isCaughtUp: boolean,
): Promise<number> {
  const what = `seed ${plan.seed}`
  const database = await Database.open(plan.directory, openOptions)
  const tables = await tablesOf(database)
  for (const [id, number] of acknowledged) {
    const found = (await tables.users.get(id))?.number ?? -1
    if (found < number) t.fail(`${what}: the write ${number} of ${id} is lost, found ${found}`)
  }
  const position = await projectionPosition(database, 'by-city')
  if (plan.from === 1) {
    const wanted = await model(database, position?.sequence ?? 0)
    t.strictSame(await projected(tables), wanted, `${what}: as the model at the position`)
  }
  const all = await model(database, database.statistics().lastSequence)
  const behind = all[0].filter((place) => place > placeOf((position?.sequence ?? 0) + 1, '')).length
  if (isCaughtUp) {
    await project(database, { ...projectionOf(tables, plan.from), toSequence: 'now' })
    const cities = await tables.users
      .scan()
      .map(({ city }) => city)
      .all()
    const counts = countsOf(cities.filter((city) => city !== undefined))
    t.strictSame((await projected(tables))[1], counts, `${what}: caught up`)
  }
  await database.close()
  return behind
}

for (const from of [1, 'rows'] as const) {
  void t.test(`projections from ${from} of killed processes, seed ${seed}`, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'cellar-projection-'))
    t.teardown(() => rmSync(directory, { recursive: true, force: true }))
    const random = generatorOf(seed)
    const below = (count: number): number => Math.floor(random() * count)
    const filling = await Database.open(directory, openOptions)
    const { users } = await tablesOf(filling)
    for (let i = 0; i < 45; i++) {
      await users.put({ id: `u${String(i).padStart(2, '0')}`, city: `c${i % 3}`, number: 0 })
    }
    await filling.close()
    const acknowledged = new Map<string, number>()
    let behind = 0
    for (let round = 1; round <= rounds; round++) {
      const plan = { directory, seed: seed + round, from, first: round * 1_000_000 }
      for (const line of await runChild(plan, 1 + below(60), below(8))) {
        const [id, number] = line.split(' ')
        acknowledged.set(id, Number(number))
      }
      const isCaughtUp = round === rounds || below(3) === 0
      if ((await check(t, plan, acknowledged, isCaughtUp)) > 0) behind++
    }
    t.comment(`${rounds} kills, ${behind} of them with changes left to apply`)
  })
}
