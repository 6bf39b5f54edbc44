/**
 * CPU time of gets and puts of typed tables, beside the same work with the table under them: the
 * plain calls encode, decode and make the object too.
 *
 * The calls take turns, in another order each round. Prints the median CPU time of a plain and a
 * typed call in microseconds, and the ratio: `node build/bench/turns/typed.js [--rounds 41]`.
 */
import { parseArgs } from 'node:util'
import { seededRandom } from '../../src/base/random.js'
import { defineTable, encodings, type Result } from '../../src/entries/index.js'
import { openMemoryDatabase } from '../../src/entries/memory.js'

const rowCount = 3000
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '41' } } })
const rounds = Number(values.rounds)

const database = await openMemoryDatabase()
const names = await defineTable({ name: 'names', columns: { name: 'utf8' } }).open(database)
const users = await defineTable({
  name: 'users',
  columns: { name: 'utf8', visits: 'integer', tags: 'json' },
}).open(database)
const json = encodings.json()

const ofName = (result: Result): object => ({
  id: String(result.row),
  name: result.value('f:name', 'utf8'),
})
const ofUser = (result: Result): object => ({
  id: String(result.row),
  name: result.value('f:name', 'utf8'),
  visits: result.value('f:visits', 'integer'),
  tags: result.value('f:tags', 'json'),
})
const cellsOf = (i: number): Record<string, string | Uint8Array> => ({
  'f:name': 'Ada',
  'f:visits': encodings.integer.encode(i),
  'f:tags': json.encode(['x']),
})
const userOf = (i: number): { id: string; name: string; visits: number; tags: string[] } => {
  return { id: `user${i}`, name: 'Ada', visits: i, tags: ['x'] }
}
const columnsOfName = names.rows.columnNames
const columnsOfUser = users.rows.columnNames

/** A plain call, and the typed one; both are awaited if their names say so. */
type Pair = readonly [(i: number) => unknown, (i: number) => unknown]

const pairs: Readonly<Record<string, Pair>> = {
  'put of a column': [
    (i) => names.table.putSync({ row: `user${i}`, cells: { 'f:name': 'Ada' } }),
    (i) => names.putSync({ id: `user${i}`, name: 'Ada' }),
  ],
  'put of three columns': [
    (i) => users.table.putSync({ row: `user${i}`, cells: cellsOf(i) }),
    (i) => users.putSync(userOf(i)),
  ],
  'put of three columns, awaited': [
    (i) => users.table.put({ row: `user${i}`, cells: cellsOf(i) }),
    (i) => users.put(userOf(i)),
  ],
  'get of a column': [
    (i) => ofName(names.table.getSync({ row: `user${i}`, columns: columnsOfName })),
    (i) => names.getSync(`user${i}`),
  ],
  'get of three columns': [
    (i) => ofUser(users.table.getSync({ row: `user${i}`, columns: columnsOfUser })),
    (i) => users.getSync(`user${i}`),
  ],
  'get of three columns, awaited': [
    async (i) => ofUser(await users.table.get({ row: `user${i}`, columns: columnsOfUser })),
    (i) => users.get(`user${i}`),
  ],
}

async function timeOf(call: (i: number) => unknown, isAwaited: boolean): Promise<number> {
  const begun = process.cpuUsage()
  if (isAwaited) for (let i = 0; i < rowCount; i++) await call(i)
  else for (let i = 0; i < rowCount; i++) call(i)
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / rowCount
}

const random = seededRandom(1)
const calls = Object.entries(pairs).flatMap(([name, pair]) =>
  pair.map((call) => ({ name, call, times: [] as number[] })),
)
for (let round = 0; round < rounds; round++) {
  const order = calls.map((each) => ({ ...each, place: random() }))
  for (const { name, call, times } of order.sort((a, b) => a.place - b.place)) {
    times.push(await timeOf(call, name.endsWith('awaited')))
  }
}
const medianOf = (times: number[]): number => times.sort((a, b) => a - b)[times.length >> 1]
for (let i = 0; i < calls.length; i += 2) {
  const [plain, typed] = [calls[i], calls[i + 1]].map(({ times }) => medianOf(times))
  const ratio = (typed / plain).toFixed(2)
  console.log(
    `${calls[i].name}: plain ${plain.toFixed(2)} µs, typed ${typed.toFixed(2)} µs, ${ratio} x`,
  )
}
await database.close()
