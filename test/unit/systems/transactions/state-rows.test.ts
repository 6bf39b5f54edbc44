/** The rows of the table of state have the bytes of FORMAT.md, and other rows fail the open. */
import t from 'tap'
import { ManualClock } from '../../../../src/base/clock.js'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import { PruneState, TransactionManager } from '../../../../src/systems/transactions/index.js'
import { readState, StateRows } from '../../../../src/systems/transactions/manager/state-rows.js'

const id = 1_489_707_864_000_000_003n

async function open() {
  const fileSystem = new MemoryFileSystem()
  const clock = new ManualClock(1_489_707_864_000)
  return Database.open('/d', { fileSystem, clock, executor: 'inline' })
}

void t.test('the worked examples', async (t) => {
  const database = await open()
  const table = await database.createTable('tx.state', { families: { s: {} } })
  const rows = new StateRows('tx.state')
  const running = {
    id,
    type: 'SHORT',
    expiration: 1_489_707_894_000,
    visibilityUpperBound: id - 2n,
    checkpoints: [id + 2n],
    committing: undefined,
    client: undefined,
    underWay: [],
  } as const
  const committed = { pointer: id + 1n, id, changes: ['a', 'bc'], client: undefined }
  const mutations = [
    rows.pointers({ readPointer: id - 3n, writePointer: id }),
    rows.running(running),
    rows.committed(committed),
    rows.invalid(id),
  ]
  await database.atomic({ mutations })
  const found: string[] = []
  for await (const result of table.scan()) {
    const cells = result.cells().map(({ qualifier, value }) => {
      return `${qualifier.toString()} ${value.toString('hex')}`
    })
    found.push(`${result.row!.toString('hex')} ${cells.join(' ')}`)
  }
  t.strictSame(found, [
    '6314ac8168d4d3700414ac8168d4d37003 g 0000000161000000026263',
    '6914ac8168d4d37003 v ',
    '6d v 14ac8168d4d3700014ac8168d4d37003',
    '7014ac8168d4d37003 v 000000015ad98284f014ac8168d4d3700114ac8168d4d37005',
  ])
  t.strictSame(await readState(table), {
    isWhole: true,
    state: {
      readPointer: id - 3n,
      writePointer: id,
      running: new Map([[id, running]]),
      committed: [committed],
      invalid: new Set([id]),
    },
  })
  await table.put({ row: 'unknown', cells: { 's:v': '' } })
  const damaged = { code: 'ERR_CORRUPTION', message: /row 756e6b6e6f776e .*'tx\.state'/ }
  await t.rejects(TransactionManager.open(database), damaged)
  await database.close()
})

void t.test('malformed rows fail the open with their place', async (t) => {
  const ids = '14ac8168d4d37003'
  const value = '000000015ad98284f014ac8168d4d37001'
  const cases: [row: string, column: string, bytes: string][] = [
    ['6d', 's:v', 'ffff'],
    ['6d', 's:x', ids + ids],
    ['6d', 's:v', ids + ids + ids],
    [`69${ids}ff`, 's:v', ''],
    [`69${ids}${ids}`, 's:v', ''],
    [`70${ids}`, 's:v', value.slice(2)],
    [`70${ids}`, 's:v', `${value}05`],
    [`70${ids}`, 's:v', value.replace('00', '02')],
    [`70${ids}`, 's:v', value.slice(0, 18)],
    [`70${ids}`, 's:g', ''],
    [`63${ids}${ids}`, 's:g', '00000005616263'],
    [`63${ids}${ids}`, 's:g', '00'],
    [`63${ids}${ids}`, 's:g', 'ffffffff61'],
    [`63${ids}${ids}`, 's:n', '61'],
    [`7a${ids}`, 's:v', ''],
  ]
  for (const [row, column, bytes] of cases) {
    const database = await open()
    const table = await database.createTable('tx.state', { families: { s: {} } })
    const put = { row: Buffer.from(row, 'hex'), cells: { [column]: Buffer.from(bytes, 'hex') } }
    await table.put(put)
    const expected = { code: 'ERR_CORRUPTION', message: new RegExp(`row ${row} of`) }
    await t.rejects(TransactionManager.open(database), expected, `${row} ${column} ${bytes}`)
    await database.close()
  }
})

void t.test('the record of a pruned table', async (t) => {
  const database = await open()
  const table = await database.createTable('prune', { families: { d: {} } })
  const value = '{"rewrittenTime":5,"rewrittenBound":"7","flushedTime":6,"bound":"-1"}'
  await table.put({ row: 't.m', cells: { 'd:s': value, 'd:g': '{"bound":true' } })
  const state = await PruneState.open({ table })
  const record = { rewritten: { time: 5, bound: 7n }, flushedTime: 6, bound: -1n }
  t.strictSame(state.read({ table: 't.m', family: 's' }), record)
  t.equal(state.read({ table: 't.m', family: 'g' }).bound, -1n)
  await database.close()
})
