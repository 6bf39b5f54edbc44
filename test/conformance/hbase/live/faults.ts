/** Lost answers, and a gateway that is killed and started again, on a live HBase. */
import type { Test } from 'tap'
import { connectHBase } from '../../../../src/entries/hbase.js'
import type { LiveHBase } from '../../../../bench/cluster/live-hbase.js'
import { codeOf } from '../../../suites/kit.js'
import { LossyProxy } from './lossy-proxy.js'

const increments = 60

/** Lost answers of increments: each increment is applied once or told as unknown. */
export async function testLostAnswers(t: Test, live: LiveHBase): Promise<void> {
  const proxy = await LossyProxy.start(live.port)
  t.teardown(() => proxy.stop())
  const database = await connectHBase({ host: '127.0.0.1', port: proxy.port, connectionsMax: 2 })
  t.teardown(() => database.close())
  const table = await database.createTable('lost', { families: { f: {} } })
  let seen = 0
  proxy.losesAnswer = (message) => message.includes('increment') && ++seen % 7 === 0
  const outcomes: string[] = []
  for (let i = 0; i < increments; i++) {
    const outcome = await table.incrementColumnValue('r', 'f:n').then(() => 'OK', codeOf)
    outcomes.push(outcome)
  }
  const lost = outcomes.filter((outcome) => outcome !== 'OK')
  t.strictSame(new Set(lost), new Set(['ERR_UNKNOWN_OUTCOME']), 'lost answers are told as such')
  t.equal(lost.length, Math.floor(increments / 7))
  proxy.losesAnswer = () => false
  const value = (await table.get({ row: 'r' })).value('f:n')?.readBigInt64BE()
  t.equal(value, BigInt(increments), 'each was sent once, and each was applied')

  proxy.losesAnswer = (message) => message.includes('put') && ++seen % 2 === 0
  for (let i = 0; i < 10; i++)
    await table.put({ row: `p${i}`, cells: { 'f:q': 'v' }, timestamp: 5 })
  proxy.losesAnswer = () => false
  const rows = await table.scan({ prefix: 'p' }).toArray()
  t.equal(rows.length, 10, 'puts with timestamps are sent again')
}

/** A gateway that is killed and started again. */
export async function testRestart(t: Test, live: LiveHBase): Promise<void> {
  const options = { host: '127.0.0.1', port: live.port, pageRows: 10, retryMillisecondsMax: 500 }
  const database = await connectHBase(options)
  t.teardown(() => database.close())
  const table = await database.createTable('restart', { families: { f: {} } })
  const names = Array.from({ length: 100 }, (_, i) => `r${String(i).padStart(3, '0')}`)
  await table.putList(names.map((row) => ({ row, cells: { 'f:q': row, 'f:r': row } })))
  const scan = table.scan({ batch: 1 })
  const first = await scan.nextBatch(15)
  await live.killGateway()
  const get = table.get({ row: 'r000' })
  const rest = scan.nextBatch(Infinity)
  await live.startGateway()
  t.equal((await get).size, 2, 'a get waits for the gateway')
  const found = [...first, ...(await rest)].map((result) => {
    const [{ row, qualifier }] = result.cells()
    return `${row.toString()}:${qualifier.toString()}`
  })
  const wanted = names.flatMap((row) => [`${row}:q`, `${row}:r`])
  t.strictSame(found, wanted, 'a scan goes on after the last cell, in the middle of a row too')
}
