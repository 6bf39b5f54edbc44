/**
 * The metastore's process is killed under load: no acknowledged write is lost, no version is given
 * out twice, no row is torn.
 *
 * CELLAR_KILL_ROUNDS: kills, default 10. CELLAR_SEED: the seed of the moments.
 *
 * @runs campaign
 */
import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { Database } from '../../../src/entries/index.js'
import { CellarMetaStore } from '../../../src/systems/metastore/index.js'
import { seed } from '../../unit/storage/version/fixtures.js'
import { noteOf, tableName, type Note } from './metastore-plan.js'
import { generatorOf } from '../recovery.js'
import { lengthOf } from '../../helpers/length.js'
import { childEnvironment } from '../../helpers/child-environment.js'

const rounds = lengthOf('CELLAR_METASTORE_KILL_ROUNDS', 2, 10)
const childPath = fileURLToPath(new URL('metastore-child.js', import.meta.url))

/** Runs the child and kills it so long after its first acknowledgements; what it wrote down. */
async function load(home: string, round: number, milliseconds: number): Promise<Note[]> {
  const outputPath = join(home, 'output')
  const output = openSync(outputPath, 'w')
  const plan = JSON.stringify({ directory: join(home, 'database'), round })
  const child = spawn(process.execPath, [childPath, plan], {
    stdio: ['ignore', output, 'pipe', 'ipc'],
    env: childEnvironment,
  })
  closeSync(output)
  let complaint = ''
  child.stderr!.on('data', (data: Buffer) => (complaint += data.toString()))
  child.once('message', () => setTimeout(() => child.kill('SIGKILL'), milliseconds))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  if (code !== null) throw new Error(`the child ended with code ${code}: ${complaint}`)
  const lines = readFileSync(outputPath, 'utf8').split('\n')
  lines.pop() // Behind the last newline there is nothing, or half a line.
  return lines.map(noteOf)
}

/** Rows as they are known to be, as `text version`. */
type Rows = Map<string, string>

async function stored(home: string): Promise<Rows> {
  const store = new CellarMetaStore()
  const openDatabase = (): Promise<Database> => Database.open(join(home, 'database'))
  await store.init({ openDatabase }, store.getVersion())
  const rows: Rows = new Map()
  for await (const { key, value } of await (await store.createTable(tableName)).openCursor()) {
    const text = value.value.getField('text')!.toString()
    const padding = value.value.getField('padding')!
    const whole = padding.equals(Buffer.alloc(300, text))
    rows.set(key, whole ? `${text} ${value.version.toString()}` : 'torn')
  }
  await store.close()
  return rows
}

void t.test(`killed ${rounds} times, the metastore keeps its word (seed ${seed})`, async (t) => {
  const home = t.testdir()
  const random = generatorOf(seed, 7)
  const known: Rows = new Map()
  const versions = new Set<string>()
  let highest = 0n
  let acknowledged = 0
  for (let round = 0; round < rounds; round++) {
    const notes = await load(home, round, random() * 400)
    const open = new Map<string, Note>()
    for (const note of notes) {
      if (note.type === 'try') {
        open.set(note.row, note)
        continue
      }
      acknowledged++
      open.delete(note.row)
      if (note.kind === 'remove') known.delete(note.row)
      else {
        known.set(note.row, `${note.text} ${note.version}`)
        if (versions.has(note.version)) t.fail(`version ${note.version} was given out twice`)
        if (BigInt(note.version) <= highest) t.fail(`version ${note.version} is low`)
        versions.add(note.version)
      }
    }
    const found = await stored(home)
    for (const row of new Set([...known.keys(), ...found.keys(), ...open.keys()])) {
      const is = found.get(row)
      if (is === known.get(row)) continue
      const tried = open.get(row)
      const applied =
        tried?.kind === 'remove' ? is === undefined : is?.split(' ')[0] === tried?.text
      if (tried === undefined || !applied) {
        t.fail(`round ${round}: row ${row} is ${is}, not ${known.get(row)}; tried: ${tried?.text}`)
      }
      if (is === undefined) known.delete(row)
      else {
        known.set(row, is)
        const version = is.split(' ')[1]
        if (versions.has(version)) t.fail(`version ${version} was given out twice`)
        versions.add(version)
      }
    }
    for (const version of versions) if (BigInt(version) > highest) highest = BigInt(version)
  }
  t.comment(`${acknowledged} writes acknowledged, highest version ${highest}`)
  t.ok(acknowledged >= rounds * 4, 'writes were acknowledged')
})
