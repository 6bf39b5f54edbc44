/**
 * The cost of `cellardb/hbase` over bare calls of the gateway by the same connections: medians of
 * processor time and wall time, as comments. The limit only catches gross mistakes.
 */
import type { Test } from 'tap'
import { connectHBase } from '../../../../src/entries/hbase.js'
import { Client } from '../../../../src/hbase/thrift/client.js'
import { methods, type Method } from '../../../../src/hbase/thrift/wire/methods.js'
import { hbaseOptions } from '../../../../src/hbase/thrift/wire/options.js'
import type { LiveHBase } from '../../../../bench/cluster/live-hbase.js'

const rounds = 5
const calls = 300
const rows = Array.from({ length: 1000 }, (_, i) => `row${String(i).padStart(5, '0')}`)
const value = Buffer.alloc(100, 7)

/** Microseconds of a call. */
interface Cost {
  readonly processor: number
  readonly wall: number
}

async function costOf(call: (row: string) => Promise<unknown>, count: number): Promise<Cost> {
  const before = process.cpuUsage()
  const start = performance.now()
  for (let i = 0; i < count; i++) await call(rows[i % rows.length])
  const { user, system } = process.cpuUsage(before)
  return { processor: (user + system) / count, wall: ((performance.now() - start) * 1000) / count }
}

function median(costs: readonly Cost[], name: keyof Cost): number {
  const sorted = costs.map((cost) => cost[name]).sort((a, b) => a - b)
  return Math.round(sorted[Math.floor(sorted.length / 2)])
}

/** Measures gets, puts and scans of 1,000 rows with five cells. */
export async function testOverhead(t: Test, { port }: LiveHBase): Promise<void> {
  const database = await connectHBase({ host: '127.0.0.1', port })
  const client = new Client(hbaseOptions.read({ host: '127.0.0.1', port }))
  t.teardown(() => client.close())
  t.teardown(() => database.close())
  const table = await database.createTable('overhead', { families: { f: {} } })
  const columns = ['a', 'b', 'c', 'd', 'e'].map((name) => [`f:${name}`, value] as const)
  await table.putList(rows.map((row) => ({ row, cells: Object.fromEntries(columns) })))
  const ask = (method: Method, parameters: object): Promise<unknown> => {
    return client.ask(method, { table: 'overhead', ...parameters }, 'a bare call')
  }
  const scanAll = async (): Promise<void> => {
    const scanner = await ask(methods.openScanner, { scan: { maxVersions: 1 } })
    for (let i = 0; i < 2; i++) await ask(methods.getScannerRows, { scanner, count: 1000 })
    await ask(methods.closeScanner, { scanner })
  }
  const putOf = (row: string): object => {
    return { put: { row, columnValues: [{ family: 'f', qualifier: 'a', value }] } }
  }
  const pairs = {
    get: [
      (row: string) => ask(methods.get, { get: { row, maxVersions: 1 } }),
      (row: string) => table.get({ row }),
    ],
    put: [
      (row: string) => ask(methods.put, putOf(row)),
      (row: string) => table.put({ row, cells: { 'f:a': value } }),
    ],
    scan: [scanAll, () => table.scan().toArray()],
  } as const
  for (const [name, [bare, ours]] of Object.entries(pairs)) {
    const count = name === 'scan' ? calls / 30 : calls
    const costs: [Cost[], Cost[]] = [[], []]
    for (let round = 0; round <= rounds; round++) {
      for (const [i, call] of [bare, ours].entries()) {
        const cost = await costOf(call, count)
        // The first round only warms up.
        if (round > 0) costs[i].push(cost)
      }
    }
    const [a, b] = costs.map((each) => median(each, 'processor'))
    const [wallA, wallB] = costs.map((each) => median(each, 'wall'))
    t.comment(`${name}: bare ${a} µs of processor, ${wallA} µs; table ${b} µs, ${wallB} µs`)
    t.ok(b < 2 * a, `${name}: ${b} µs of processor is less than twice ${a} µs`)
  }
}
