/**
 * Calls of `cellardb/hbase` whose answers are lost, late, half or wrong: which are sent again.
 *
 * @runs long
 */
import { createServer, type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { Mutation } from '../../../src/api/index.js'
import { connectHBase, type HBaseDatabase, type HBaseOptions } from '../../../src/entries/hbase.js'
import { ScriptedGateway, type Script } from '../../helpers/metastore/scripted-gateway.js'
import { codeOf, failsWith, outcome, pause } from '../../suites/kit.js'

const quick = {
  connectMilliseconds: 1000,
  answerMilliseconds: 200,
  deadlineMilliseconds: 1500,
  retryMillisecondsBase: 5,
} as const

async function open(
  t: Test,
  script: Script,
  options: HBaseOptions = {},
): Promise<{ gateway: ScriptedGateway; database: HBaseDatabase }> {
  const gateway = await ScriptedGateway.start(script)
  t.teardown(() => gateway.stop())
  const database = await connectHBase({ ...gateway.address, ...quick, ...options })
  t.teardown(() => database.close())
  return { gateway, database }
}

const cells = { 'f:q': 'v' }
const increment = { row: 'r', columns: { 'f:n': 1 } }
const found = {
  row: Buffer.from('r'),
  columnValues: [
    {
      family: Buffer.from('f'),
      qualifier: Buffer.from('q'),
      value: Buffer.from('v'),
      timestamp: 2n ** 60n + 1n,
    },
  ],
}

for (const fault of ['cut', 'half', 'silent'] as const) {
  void t.test(`a mutation whose answer is ${fault} has an unknown outcome`, async (t) => {
    const { gateway, database } = await open(t, (name) => {
      return name === 'getTableDescriptor' ? undefined : fault
    })
    const table = database.table('t')
    t.equal(await outcome(table.increment(increment)), 'ERR_UNKNOWN_OUTCOME')
    t.equal(await outcome(table.put({ row: 'r', cells })), 'ERR_UNKNOWN_OUTCOME')
    t.equal(await outcome(table.delete({ row: 'r' })), 'ERR_UNKNOWN_OUTCOME')
    const check = { row: 'r', column: 'f:q', notExists: true } as const
    t.equal(await outcome(table.checkAndMutate(check, { put: { cells } })), 'ERR_UNKNOWN_OUTCOME')
    const sent = gateway.calls.filter((name) => name !== 'getTableDescriptor')
    t.strictSame(sent, ['increment', 'put', 'deleteSingle', 'checkAndMutate'], 'each sent once')
  })

  void t.test(
    `a call without further effect is repeated when its answer is ${fault}`,
    async (t) => {
      const { gateway, database } = await open(t, (name, before) => {
        if (name === 'getTableDescriptor') return undefined
        if (before === 0) return fault
        return { answer: name === 'get' ? found : undefined }
      })
      const table = database.table('t')
      t.equal((await table.get({ row: 'r' })).cell('f:q')?.timestampExact, 2n ** 60n + 1n)
      await table.put({ row: 'r', cells, timestamp: 5 })
      await table.delete({ row: 'r', columns: ['f:q'], timestamp: 5 })
      // On a busy machine the repetition may run into its timeout too.
      for (const name of ['get', 'put', 'deleteSingle']) t.ok(gateway.count(name) >= 2, name)
    },
  )
}

void t.test('a repeated mutation without an answer has an unknown outcome too', async (t) => {
  const { gateway, database } = await open(
    t,
    (name) => (name === 'getTableDescriptor' ? undefined : 'silent'),
    { answerMilliseconds: 50, deadlineMilliseconds: 300 },
  )
  const table = database.table('t')
  const put = { row: 'r', cells, timestamp: 5 }
  t.equal(await outcome(table.put(put)), 'ERR_UNKNOWN_OUTCOME')
  t.ok(gateway.calls.filter((name) => name === 'put').length > 1, 'it was sent again')
  const failure: unknown = await table.putList([put, { ...put, row: 's' }]).catch(String)
  t.match(failure, /the answer to 'putMultiple' was lost/)
  t.notOk(gateway.calls.lastIndexOf('put') > gateway.calls.indexOf('putMultiple'), 'no single puts')
})

void t.test('reads end with ERR_UNAVAILABLE at the deadline', async (t) => {
  const { gateway, database } = await open(t, (name) => {
    return name === 'get' ? 'cut' : undefined
  })
  await failsWith('ERR_UNAVAILABLE', () => database.table('t').get({ row: 'r' }))
  t.ok(gateway.count('get') > 2, 'after repetitions')
})

void t.test('a region that moves: what may be repeated is', async (t) => {
  const moved = { error: 'NotServingRegionException: t,,1 is not online', canRetry: true }
  const { gateway, database } = await open(t, (name, before) => {
    if (name === 'getTableDescriptor') return undefined
    return before === 0 ? moved : { answer: name === 'get' ? found : undefined }
  })
  const table = database.table('t')
  t.equal((await table.get({ row: 'r' })).size, 1)
  await table.put({ row: 'r', cells, timestamp: 5 })
  t.strictSame([gateway.count('get'), gateway.count('put')], [2, 2])
  t.equal(await outcome(table.increment(increment)), 'ERR_UNKNOWN_OUTCOME', 'the caller decides')
  t.equal(gateway.count('increment'), 1, 'sent once')
})

void t.test('another gateway takes over from one that is down', async (t) => {
  const { gateway } = await open(t, () => undefined)
  const second = await ScriptedGateway.start((name) => {
    return name === 'increment' ? { answer: found } : undefined
  })
  t.teardown(() => second.stop())
  const gateways = [gateway.address, second.address]
  const database = await connectHBase({ ...quick, gateways })
  t.teardown(() => database.close())
  t.equal(await database.admin.getDescriptor('t').then(({ name }) => name), 't')
  await gateway.stop()
  // The end of the idle connection arrives.
  await pause(20)
  await database.table('t').increment(increment)
  t.equal(second.count('increment'), 1, 'sent to the second gateway, once')
})

void t.test('another service is named as such', async (t) => {
  const one = await ScriptedGateway.start(() => undefined, 1)
  t.teardown(() => one.stop())
  const old = await failsWith('ERR_UNAVAILABLE', () => connectHBase({ ...quick, ...one.address }))
  t.match(old.message, /Thrift 1/)

  const web = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
  })
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve))
  t.teardown(() => web.close())
  const { port } = web.address() as AddressInfo
  const options = { ...quick, host: '127.0.0.1', port }
  const other = await failsWith('ERR_UNAVAILABLE', () => connectHBase(options))
  t.match(other.message, /Thrift2 gateway/)
})

function row(name: string): typeof found {
  return { ...found, row: Buffer.from(name) }
}

void t.test('a scan goes on when the scanner of the gateway is gone', async (t) => {
  const { gateway, database } = await open(t, (name, before) => {
    if (name === 'openScanner') return { answer: before + 1 }
    if (name !== 'getScannerRows') return undefined
    if (before === 0) return { answer: [row('a'), row('b')] }
    if (before === 1) return { argumentError: 'Invalid scanner Id' }
    // The new scanner begins with the last row again.
    return { answer: before === 2 ? [row('b'), row('c')] : [] }
  })
  const rows = await database.table('t').scan().toArray()
  t.strictSame(
    rows.map((each) => String(each.row)),
    ['a', 'b', 'c'],
  )
  const second = gateway.messages[gateway.calls.lastIndexOf('openScanner')]
  t.ok(second.includes(Buffer.from([0, 0, 0, 1, 0x62])), 'opened at the last row')
})

void t.test('a scan closes the scanner of the gateway when it ends early', async (t) => {
  const { gateway, database } = await open(t, (name) => {
    if (name === 'openScanner') return { answer: 7 }
    return name === 'getScannerRows' ? { answer: [row('a'), row('b')] } : undefined
  })
  for await (const each of database.table('t').scan()) {
    t.equal(String(each.row), 'a')
    break
  }
  await database.admin.getDescriptor('t')
  t.equal(gateway.count('closeScanner'), 1)
})

void t.test('calls beyond connectionsMax wait', async (t) => {
  const { gateway, database } = await open(
    t,
    (name) => (name === 'get' ? { answer: found, afterMilliseconds: 5 } : undefined),
    { connectionsMax: 2 },
  )
  const table = database.table('t')
  const gets = Array.from({ length: 20 }, () => table.get({ row: 'r' }))
  t.equal((await Promise.all(gets)).length, 20)
  t.ok(gateway.connectionsMost <= 2, `${gateway.connectionsMost} connections`)
})

void t.test('arguments count as of the call', async (t) => {
  const { gateway, database } = await open(t, () => ({ answer: undefined }), {})
  const value = Buffer.from('before')
  const table = database.table('t')
  const put = table.put({ row: 'r', cells: { 'f:q': value } }).catch(codeOf)
  value.fill('x')
  await put
  t.notOk(gateway.messages.some((message) => message.includes('xxxxxx')))
})

void t.test('calls without a form are refused before anything is sent', async (t) => {
  const { gateway, database } = await open(t, () => undefined)
  const table = database.table('t')
  const before = gateway.calls.length
  const check = { row: 'r', column: 'f:q', equals: 'v', timeRange: [0, 5] } as const
  const mutations = [{ increment: { columns: { 'f:n': 1 } } }]
  for (const call of [
    () => table.checkAndMutate(check, { put: { cells } }),
    () => table.mutateRow({ row: 'r', mutations }),
    () => table.increment({ ...increment, timestamp: 5 }),
    () => table.get({ row: 'r', familyTimeRanges: { f: [0, 5] } }),
    async () => table.scan({ raw: true }),
    async () => table.scan({ cellsPerFamilyMax: 1 }),
    () => table.mutateRows({ rows: [{ row: 'r', mutations: [{ put: { cells } }] }] }),
    async () => database.snapshot(),
    () => database.atomic(),
    () => database.admin.flush(),
  ]) {
    await failsWith('ERR_UNSUPPORTED', call)
  }
  t.equal(gateway.calls.length, before, 'nothing was sent')
})

void t.test('a list whose failure names no row', async (t) => {
  const { gateway, database } = await open(t, (name) => {
    if (name === 'put') return { answer: undefined }
    return name === 'putMultiple' ? { error: 'Failed 1 action', canRetry: true } : undefined
  })
  const table = database.table('t')
  const puts = ['a', 'b'].map((each) => ({ row: each, cells }))
  const error = await failsWith('ERR_BATCH_FAILED', () => table.putList(puts))
  const { failures } = error as Error & { failures: ReadonlyMap<number, unknown> }
  t.strictSame([...failures.values()].map(codeOf), ['ERR_UNKNOWN_OUTCOME', 'ERR_UNKNOWN_OUTCOME'])
  t.equal(gateway.count('put'), 0, 'nothing is sent again')
  await table.putList(puts.map((put) => ({ ...put, timestamp: 5 })))
  t.equal(gateway.count('put'), 2, 'each is sent again if that has no further effect')
})

void t.test('checkMutateRow throws what mutateRow would, and sends nothing', async (t) => {
  const { gateway, database } = await open(t, () => undefined, { cellBytesMax: 100 })
  const table = database.table('t')
  const put = (column: string, value: string): Mutation => ({ put: { cells: { [column]: value } } })
  const check = (mutation: Mutation): void => {
    table.checkMutateRow({ row: 'r', mutations: [mutation] })
  }
  t.throws(() => check(put('f:q', 'v')), { code: 'ERR_TABLE_NOT_FOUND' }, 'not described yet')
  await database.admin.getDescriptor('t')
  const sent = gateway.calls.length
  t.doesNotThrow(() => check(put('f:q', 'v')))
  t.doesNotThrow(() => check({ delete: { families: ['f'] } }))
  const cell = { column: 'f:q', type: 'Delete' } as const
  const refused: readonly (readonly [mutation: Mutation, code: string])[] = [
    [put('g:q', 'v'), 'ERR_NO_SUCH_COLUMN_FAMILY'],
    [{ delete: { families: ['g'] } }, 'ERR_NO_SUCH_COLUMN_FAMILY'],
    [put('f:q', 'v'.repeat(100)), 'ERR_TOO_LARGE'],
    [{ increment: { columns: { 'f:n': 1 } } }, 'ERR_UNSUPPORTED'],
    [{ put: { cells: [cell] } }, 'ERR_UNSUPPORTED'],
    [{ put: { cells: {} } }, 'ERR_INVALID_ARGUMENT'],
  ]
  for (const [mutation, code] of refused) {
    t.throws(() => check(mutation), { code })
    const call = table.mutateRow({ row: 'r', mutations: [mutation] })
    t.equal(await outcome(call), code, 'as mutateRow')
  }
  const written = gateway.calls.slice(sent).filter((name) => name !== 'getTableDescriptor')
  t.strictSame(written, [], 'nothing was sent')
})
