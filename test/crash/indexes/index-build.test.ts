/**
 * Processes are killed while they build indexes beside writes, after so many acknowledged writes.
 * The next one goes on with the builds. At the end no write is lost, the indexes hold what a scan
 * of the rows gives, and every byte of the directory is sound.
 *
 * CELLAR_SEED: the seed. CELLAR_INDEX_BUILD_ROUNDS: processes.
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
import { Database, openIndexes, type Indexes } from '../../../src/entries/index.js'
import { childEnvironment } from '../../helpers/child-environment.js'
import { lengthOf } from '../../helpers/length.js'
import { buildDeclarations, type BuildPlan } from './index-build-plan.js'
import { generatorOf } from '../recovery.js'

const childPath = fileURLToPath(new URL('index-build-child.js', import.meta.url))
const rounds = lengthOf('CELLAR_INDEX_BUILD_ROUNDS', 2, 40)
const seed = Number(process.env['CELLAR_SEED'] ?? Date.now() % 1_000_000)
const rows = 10_000

/** Runs a child until it has acknowledged `writes` writes, and kills it. Returns its lines. */
async function runChild(plan: BuildPlan, writes: number): Promise<string[]> {
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
    if (lines.length >= writes) child.kill('SIGKILL')
  }
  const code = await ended
  if (code !== null) throw new Error(`the child ended with code ${code}: ${complaint}`)
  return lines
}

/** The entries that the rows give, by index, from a plain scan. */
async function expected(database: Database): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = { by_group: [], by_number: [], by_tag: [] }
  for await (const result of database.table('rows').scan()) {
    const row = String(result.row)
    const number = result.value('f:number', 'utf8')
    found['by_group'].push(`${row} ${result.value('f:group', 'utf8')} ${number}`)
    found['by_number'].push(`${row} ${number} -`)
    const tags = result.value('f:tags', 'json') as string[]
    for (const tag of tags) found['by_tag'].push(`${row} ${tag} -`)
  }
  for (const list of Object.values(found)) list.sort()
  return found
}

async function stored(indexes: Indexes): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {}
  for (const { name } of buildDeclarations) {
    const { rows: entries } = await indexes.index('rows', name).entries()
    found[name] = entries
      .map(({ row, key, stored: columns }) => {
        const number = columns['f:number']?.toString() ?? '-'
        return `${String(row)} ${String(Object.values(key)[0])} ${number}`
      })
      .sort()
  }
  return found
}

async function check(
  t: Test,
  directory: string,
  acknowledged: Map<string, string>,
  killed: number,
  what: string,
): Promise<number> {
  const database = await Database.open(directory, { executor: 'inline' })
  const table = database.table('rows')
  // The last write of each child may be there without its line.
  let wrong = 0
  for (const [row, value] of acknowledged) {
    const found = (await table.get({ row })).value('f:number', 'utf8') ?? '-'
    if (found === value) continue
    wrong++
    acknowledged.set(row, found)
  }
  t.ok(wrong <= killed, `${what}: every acknowledged write is there (${wrong} later)`)
  const indexes = await openIndexes(database)
  let building = 0
  for (const { name } of buildDeclarations) {
    const index = indexes.index('rows', name)
    if (index.state === 'building') building++
    await index.ready()
    const findings = { rowsWithoutEntry: [], entriesWithoutRow: [] }
    t.strictSame(await index.verify(), findings, `${what}: ${name}`)
  }
  t.strictSame(await stored(indexes), await expected(database), `${what}: the entries of the rows`)
  const names = database.admin.listTableNames().filter((name) => name.includes('.index.'))
  t.equal(names.length, buildDeclarations.length, `${what}: no entries are left behind`)
  t.comment(`${what}: ${acknowledged.size} rows, ${building} builds went on`)
  await indexes.close()
  await database.close()
  const { problems } = await Database.verify(directory)
  t.strictSame(problems, [], `${what}: every byte is sound`)
  return building
}

void t.test(`builds of killed processes, seed ${seed}`, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'cellar-index-build-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const random = generatorOf(seed)
  const below = (count: number): number => Math.floor(random() * count)
  const filling = await Database.open(directory, { executor: 'inline' })
  const table = await filling.createTable('rows', { families: { f: {} } })
  const acknowledged = new Map<string, string>()
  for (let number = 0; number < rows; number++) {
    const cells = { 'f:group': 'g', 'f:number': `${number}`, 'f:tags': `["r${number}","t"]` }
    table.putSync({ row: `r${number}`, cells })
    acknowledged.set(`r${number}`, `${number}`)
  }
  await filling.close()
  let building = 0
  let killed = 0
  // A machine that is busy ends a build before its process is killed: more processes then.
  const isOver = (round: number): boolean => round > rounds && (building > 0 || round > 10 * rounds)
  let round = 1
  for (; !isOver(round); round++) {
    const plan = { directory, seed: seed + round, rows, first: round * 1_000_000 }
    for (const line of await runChild(plan, 1 + below(40))) {
      const [row, value] = line.split(' ')
      acknowledged.set(row, value)
    }
    killed++
    // Some builds are killed several times before their end.
    if (round > 1 && !isOver(round + 1) && below(2) === 0) continue
    building += await check(t, directory, acknowledged, killed, `round ${round}`)
    killed = 0
  }
  t.comment(`${round - 1} kills`)
  t.ok(building > 0, `${building} builds were killed, and went on`)
})
