/**
 * CPU time of gets and puts of typed tables, beside the same work with the table under them: the
 * plain calls encode, decode and make the object too.
 *
 * The calls take turns, in another order each round. Prints the median and the least CPU time of a
 * call in microseconds: `node build/bench/micro/typed.js [--rounds 41]`.
 */
import { parseArgs } from 'node:util'
import { seededRandom } from '../../src/base/random.js'
import { defineTable, encodings } from '../../src/entries/index.js'
import { openMemoryDatabase } from '../../src/entries/memory.js'

const rowCount = 3000
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '41' } } })
const rounds = Number(values.rounds)

const database = await openMemoryDatabase()
const users = await defineTable({
  name: 'users',
  columns: { name: 'utf8', visits: 'integer', tags: 'json' },
}).open(database)
const { table } = users
const columns = users.rows.columnNames
const json = encodings.json()

const calls: Readonly<Record<string, (i: number) => unknown>> = {
  'plain get': (i) => {
    const result = table.getSync({ row: `user${i}`, columns })
    return {
      id: String(result.row),
      name: result.value('f:name', 'utf8'),
      visits: result.value('f:visits', 'integer'),
      tags: result.value('f:tags', 'json'),
    }
  },
  'typed get': (i) => users.getSync(`user${i}`),
  'plain put': (i) => {
    const cells = {
      'f:name': 'Ada',
      'f:visits': encodings.integer.encode(i),
      'f:tags': json.encode(['x']),
    }
    table.putSync({ row: `user${i}`, cells, durability: 'SKIP_WAL' })
  },
  'typed put': (i) => {
    users.putSync(
      { id: `user${i}`, name: 'Ada', visits: i, tags: ['x'] },
      { durability: 'SKIP_WAL' },
    )
  },
}

for (let i = 0; i < rowCount; i++) calls['plain put'](i)
const random = seededRandom(1)
const times = new Map(Object.keys(calls).map((name) => [name, [] as number[]]))
for (let round = 0; round < rounds; round++) {
  const order = Object.entries(calls).map((call) => ({ call, place: random() }))
  for (const { call } of order.sort((a, b) => a.place - b.place)) {
    const begun = process.cpuUsage()
    for (let i = 0; i < rowCount; i++) call[1](i)
    const { user, system } = process.cpuUsage(begun)
    times.get(call[0])!.push((user + system) / rowCount)
  }
}
for (const [name, list] of times) {
  list.sort((a, b) => a - b)
  const median = list[Math.floor(list.length / 2)].toFixed(2)
  console.log(`${name}: median ${median} µs, least ${list[0].toFixed(2)} µs`)
}
await database.close()
