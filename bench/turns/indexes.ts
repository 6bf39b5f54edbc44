/**
 * CPU time of puts into a table with one index, beside the same puts without one, and beside the
 * single calls that keep an index by hand, which are not atomic: a get of the old value, and puts
 * and deletes of entries in a second table. And of queries by an index, beside better-sqlite3 with
 * the same rows and the same index.
 *
 * The kinds of calls take turns, in another order each round. Rounds of puts write 500 rows each,
 * of queries read 50 rows 20 times; before them come rounds that do not count, while V8 compiles
 * the code, because its threads are in the CPU time. Prints the median and the least CPU time of a
 * call in microseconds: `node build/bench/turns/indexes.js [--rows 100000] [--rounds 81]`. Answers
 * are compared before anything is measured. better-sqlite3 is loaded from `bench/peers`, or from
 * the folder that `--peers` names; without it there is no comparison.
 */
import assert from 'node:assert'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { seededRandom } from '../../src/base/random.js'
import { Database, defineTable, openIndexes } from '../../src/entries/index.js'
import { peersFolder } from '../engines/peers.js'
import { inTurns, type Kind } from './turns.js'

const { values: given } = parseArgs({
  options: {
    rows: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '81' },
    peers: { type: 'string', default: peersFolder },
  },
})
const rowCount = Number(given.rows)
const rounds = Number(given.rounds)
/** Rows of one city, which one query reads. */
const rowsOfCity = 50
const cityCount = Math.ceil(rowCount / rowsOfCity)
const putsOfRound = 500
const queriesOfRound = 20
/** Rounds of queries that do not count. */
const warmRounds = 150

const rowOf = (i: number): string => `user${String(i).padStart(8, '0')}`
const cityOf = (i: number): string => `city${String((i * 7919) % cityCount).padStart(6, '0')}`
const nameOf = (i: number): string => `name of ${i}`
const noteOf = (i: number): string => `a note of some length about ${i}`

interface Row {
  readonly id: string
  readonly city: string
  readonly name: string
  readonly note: string
}

const directory = mkdtempSync(join(tmpdir(), 'cellar-indexes-'))
const database = await Database.open(join(directory, 'cellar'))
const plain = await database.createTable('plain', { families: { f: {} } })
const users = await database.createTable('users', { families: { f: {} } })
const byHand = await database.createTable('by_hand', { families: { f: {} } })
const entries = await database.createTable('entries', { families: { e: {} } })
const indexes = await openIndexes(database)
const byCity = await indexes.create('users', { name: 'by_city', key: { city: 'f:city' } })
await byCity.ready()
const typed = await defineTable({
  name: 'typed',
  columns: { city: 'utf8', name: 'utf8', note: 'utf8' },
  indexes: { byCity: ['city'] },
}).open(database)

function put(table: typeof users, i: number, city: string): void {
  const cells = { 'f:city': city, 'f:name': nameOf(i), 'f:note': noteOf(i) }
  table.putSync({ row: rowOf(i), cells, durability: 'ASYNC_WAL' })
}
const entryOf = (i: number, city: string): Buffer => Buffer.from(`${city}\0\u0001${rowOf(i)}`)
const entryValue = Buffer.of(0, rowOf(0).length)
function putEntry(i: number, city: string): void {
  const cells = { 'e:': entryValue }
  entries.putSync({ row: entryOf(i, city), cells, durability: 'ASYNC_WAL' })
}
function deleteEntry(i: number, city: string): void {
  entries.deleteSync({ row: entryOf(i, city), columns: ['e:'], durability: 'ASYNC_WAL' })
}
for (let i = 0; i < rowCount; i++) {
  for (const table of [plain, users, byHand]) put(table, i, cityOf(i))
  putEntry(i, cityOf(i))
  const row = { id: rowOf(i), city: cityOf(i), name: nameOf(i), note: noteOf(i) }
  typed.putSync(row, { durability: 'ASYNC_WAL' })
}
await database.flush()
for (const { name } of [plain, users, byHand, entries]) await database.compact(name)
await database.compact('typed')

interface Statement {
  run(...values: unknown[]): unknown
  all(...values: unknown[]): Row[]
}

interface Sqlite {
  pragma(text: string): void
  exec(text: string): void
  prepare(text: string): Statement
  transaction(step: () => void): () => void
  close(): void
}

/** The query of SQLite over the same rows; undefined without the package. */
function openSqlite(): { query: (city: string) => Row[]; close: () => void } | undefined {
  let Sqlite: new (path: string) => Sqlite
  try {
    Sqlite = createRequire(resolve(given.peers, 'package.json'))('better-sqlite3') as typeof Sqlite
  } catch {
    return undefined
  }
  const sqlite = new Sqlite(join(directory, 'peer.sqlite'))
  sqlite.pragma('journal_mode = WAL')
  sqlite.exec('CREATE TABLE users (id TEXT PRIMARY KEY, city TEXT, name TEXT, note TEXT)')
  sqlite.exec('CREATE INDEX by_city ON users (city, id)')
  const insert = sqlite.prepare('INSERT INTO users VALUES (?, ?, ?, ?)')
  sqlite.transaction(() => {
    for (let i = 0; i < rowCount; i++) insert.run(rowOf(i), cityOf(i), nameOf(i), noteOf(i))
  })()
  const select = sqlite.prepare('SELECT * FROM users WHERE city = ? ORDER BY city, id')
  return { query: (city) => select.all(city), close: () => sqlite.close() }
}

async function query(city: string): Promise<Row[]> {
  const { rows } = await byCity.rows({ prefix: { city } })
  return rows.map((row) => ({
    id: String(row.row),
    city: row.value('f:city', 'utf8')!,
    name: row.value('f:name', 'utf8')!,
    note: row.value('f:note', 'utf8')!,
  }))
}

async function typedQuery(city: string): Promise<unknown[]> {
  const { rows } = await typed.index('byCity').rows({ prefix: { city } })
  return rows
}

const random = seededRandom(1)
const sqlite = openSqlite()
const cities = Array.from({ length: queriesOfRound * 4 }, () =>
  cityOf(Math.floor(random() * rowCount)),
)
if (sqlite !== undefined) {
  for (const city of cities) {
    assert.deepEqual(await query(city), sqlite.query(city))
    assert.deepEqual(await typedQuery(city), sqlite.query(city))
  }
}
const someCities = () => {
  const start = Math.floor(random() * (cities.length - queriesOfRound))
  return cities.slice(start, start + queriesOfRound)
}
const queries = (name: string, ask: (city: string) => unknown): Kind => ({
  name: `query of 50 rows, ${name}`,
  run: async () => {
    for (const city of someCities()) await ask(city)
    return queriesOfRound
  },
})
const kindsOfQueries = [
  queries('Cellar', query),
  queries('Cellar, typed', typedQuery),
  queries('better-sqlite3', (city) => sqlite?.query(city)),
]
await inTurns(kindsOfQueries, warmRounds)
const timesOfQueries = await inTurns(kindsOfQueries, rounds)

let newRow = rowCount
let turn = 0
const puts = (name: string, row: () => number, step: (i: number) => void): Kind => ({
  name,
  run: () => {
    turn++
    for (let i = 0; i < putsOfRound; i++) step(row())
    return putsOfRound
  },
})
const oldCity = (i: number): string => {
  return byHand.getSync({ row: rowOf(i), columns: ['f:city'] }).value('f:city', 'utf8')!
}
const known = () => Math.floor(random() * rowCount)
const fresh = () => newRow++
const otherCity = (i: number) => cityOf(i + turn)
const timesOfPuts = await inTurns(
  [
    puts('put of a new row, plain', fresh, (i) => put(plain, i, cityOf(i))),
    puts('put of a new row, indexed', fresh, (i) => put(users, i, cityOf(i))),
    puts('put of a new row, by hand', fresh, (i) => {
      put(byHand, i, cityOf(i))
      putEntry(i, cityOf(i))
    }),
    puts('put of the same values, plain', known, (i) => put(plain, i, cityOf(i))),
    puts('put of the same values, indexed', known, (i) => put(users, i, cityOf(i))),
    puts('put of the same values, by hand', known, (i) => {
      put(byHand, i, oldCity(i))
    }),
    puts('put of another key, plain', known, (i) => put(plain, i, otherCity(i))),
    puts('put of another key, indexed', known, (i) => put(users, i, otherCity(i))),
    puts('put of another key, by hand', known, (i) => {
      const old = oldCity(i)
      put(byHand, i, otherCity(i))
      if (old === otherCity(i)) return
      putEntry(i, otherCity(i))
      deleteEntry(i, old)
    }),
  ],
  rounds,
)

const medians = new Map<string, number>()
for (const [name, { median, least }] of [...timesOfQueries, ...timesOfPuts]) {
  medians.set(name, median)
  console.log(`${name}: median ${median.toFixed(2)} µs, least ${least.toFixed(2)} µs`)
}
for (const name of medians.keys()) {
  const [what, side] = name.split(', ')
  const other = medians.get(`${what}, plain`)
  if (side !== 'indexed' && side !== 'by hand') continue
  console.log(`${what}, ${side}: ${(medians.get(name)! / other!).toFixed(2)} times`)
}
const queryOfPeer = medians.get('query of 50 rows, better-sqlite3')!
if (sqlite !== undefined) {
  for (const name of ['query of 50 rows, Cellar', 'query of 50 rows, Cellar, typed']) {
    const rate = (queryOfPeer / medians.get(name)!).toFixed(2)
    console.log(`${name}: ${rate} of the rate of better-sqlite3`)
  }
}
sqlite?.close()
await indexes.close()
await database.close()
rmSync(directory, { recursive: true, force: true })
