/** Objects with the state of a transaction are in one at a time; scopes give each run its own. */
import t from 'tap'
import {
  MessageFetcher,
  MessagePublisher,
  MessagingService,
} from '../../../../src/systems/messaging/index.js'
import {
  runTransaction,
  TransactionContext,
  type TransactionParticipant,
} from '../../../../src/systems/transactions/index.js'
import { openTransactional, shownCells } from './transactional-support.js'

const state = { code: 'ERR_TRANSACTION_STATE' }

void t.test('a participant is in one transaction at a time', async (t) => {
  const { database, manager, table, run, close } = await openTransactional()
  const service = await MessagingService.open(database)
  const own = table()
  const participants = [own, new MessagePublisher(service), new MessageFetcher(service)]
  for (const busy of participants) {
    const free = table()
    const first = new TransactionContext(manager, [busy])
    await first.start()
    if (busy === own) await own.put({ row: 'r', cells: { 'f:q': 'first' } })
    const second = new TransactionContext(manager, [free, busy])
    const refused = { code: 'ERR_TRANSACTION_FAILED', cause: state }
    await t.rejects(second.start(), refused, busy.name)
    t.equal(second.current, undefined)
    await runTransaction(manager, [free], () => undefined)
    await first.finish()
  }
  t.equal(manager.statistics().inProgress, 0)
  t.strictSame(await run(async (own) => shownCells(await own.get({ row: 'r' }))), ['f:q=first'])
  await service.close()
  await close()
})

void t.test('calls of one context come one behind the other', async (t) => {
  const { manager, table, close } = await openTransactional()
  const context = new TransactionContext(manager, [table()])
  const starts = await Promise.allSettled([context.start(), context.start()])
  t.strictSame(
    starts.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  )
  t.equal(manager.statistics().started, 1)
  const slow: TransactionParticipant = {
    name: 'slow',
    startTx: () => undefined,
    getTxChanges: () => [],
    commitTx: () => new Promise((resolve) => setImmediate(() => resolve(true))),
    rollbackTx: () => true,
  }
  await context.add(slow)
  const finishing = context.finish()
  const calls: (() => Promise<unknown>)[] = [
    () => context.finish(),
    () => context.abort(),
    () => context.checkpoint(),
    () => context.start(),
    () => context.add(table()),
  ]
  for (const call of calls) await t.rejects(call, state)
  await finishing
  t.equal(manager.statistics().committed, 1)
  await t.rejects(context.abort(), state)
  await close()
})

void t.test('a write behind the start of the commit is refused', async (t) => {
  const { database, manager, table, close } = await openTransactional()
  const own = table()
  const late: TransactionParticipant = {
    name: 'late',
    startTx: () => undefined,
    getTxChanges: () => [],
    commitTx: async () => {
      await t.rejects(own.put({ row: 'r', cells: { 'f:q': 'late' } }), state)
      return true
    },
    rollbackTx: () => true,
  }
  await runTransaction(manager, [own, late], () => undefined)
  t.equal((await database.table('t').get({ row: 'r' })).size, 0)
  await close()
})

void t.test('runs of one function have tables of their own', async (t) => {
  const { manager, run, close } = await openTransactional()
  const add = (row: string, amount: number): Promise<void> =>
    runTransaction(
      manager,
      async (tx) => {
        const table = tx.table('t')
        t.equal(tx.table('t'), table)
        const before = Number((await table.get({ row })).value('f:q')?.toString() ?? 0)
        await table.put({ row, cells: { 'f:q': String(before + amount) } })
      },
      { retryMilliseconds: 1, retriesMax: 1000 },
    )
  await Promise.all([1, 2, 3, 4, 5].flatMap((n) => [add('a', n), add('b', n)]))
  const rows = await run((own) => own.getList([{ row: 'a' }, { row: 'b' }]))
  t.strictSame(rows.map(shownCells), [['f:q=15'], ['f:q=15']])
  t.equal(manager.statistics().inProgress, 0)
  await close()
})

void t.test('a scope ends with its transaction', async (t) => {
  const { database, manager, clock, close } = await openTransactional()
  const service = await MessagingService.open(database, { clock, transactions: manager })
  await service.createTopic({ namespace: 'n', topic: 't' })
  const { tx, table } = await runTransaction(manager, async (tx) => {
    const publisher = await tx.add(new MessagePublisher(service))
    await publisher.publish('n', 't', 'message')
    const table = tx.table('t')
    await table.put({ row: 'r', cells: { 'f:q': '1' } })
    return { tx, table }
  })
  t.throws(() => tx.transaction, state)
  t.throws(() => tx.table('other'), { code: 'ERR_TABLE_NOT_FOUND' })
  t.throws(() => tx.table('tms.message'), { code: 'ERR_INVALID_ARGUMENT' })
  await t.rejects(table.put({ row: 'r', cells: { 'f:q': '2' } }), state)
  await t.rejects(tx.add(new MessagePublisher(service)), state)
  t.equal((await service.poll({ namespace: 'n', topic: 't' })).length, 1)
  const failure = new Error('of the work')
  await t.rejects(
    runTransaction(manager, (tx) => {
      tx.table('t')
      throw failure
    }),
    failure,
  )
  t.equal(manager.statistics().inProgress, 0)
  await service.close()
  await close()
})

void t.test('LONG transactions and levels of visibility are options', async (t) => {
  const { manager, run, close } = await openTransactional()
  const options = { type: 'LONG', visibilityLevel: 'SNAPSHOT_EXCLUDE_CURRENT' } as const
  await runTransaction(
    manager,
    async (tx) => {
      t.match(tx.transaction, options)
      const table = tx.table('t')
      await table.put({ row: 'r', cells: { 'f:q': 'long' } })
      t.equal(await table.exists({ row: 'r' }), false)
      t.equal(await table.exists({ row: 'r', visibilityLevel: 'SNAPSHOT' }), true)
      await run((own) => own.put({ row: 'r', cells: { 'f:q': 'short', 'g:q': 'short' } }))
    },
    options,
  )
  const seen = await run(async (own) => shownCells(await own.get({ row: 'r' })))
  t.strictSame(seen, ['f:q=short', 'g:q=short'], 'no conflict; the larger pointer counts')
  const given = runTransaction(manager, () => Promise.reject(new Error('given up')), options)
  await t.rejects(given, /given up/)
  t.equal(manager.statistics().invalid, 1)
  const context = new TransactionContext(manager)
  t.equal((await context.startLong({ client: 'me' })).type, 'LONG')
  await context.finish()
  const invalid = { code: 'ERR_INVALID_ARGUMENT' }
  await t.rejects(context.start({ type: 'long' } as never), invalid)
  await t.rejects(context.start({ visibilityLevel: 'ALL' } as never), invalid)
  await t.rejects(context.start({ timeout: 5 } as never), invalid)
  await t.rejects(context.start({ type: 'LONG', timeoutMilliseconds: 5 }), invalid)
  await close()
})

void t.test('a publisher takes no message while its transaction ends', async (t) => {
  const { database, manager, clock, close } = await openTransactional()
  const service = await MessagingService.open(database, { clock })
  await service.createTopic({ namespace: 'n', topic: 't' })
  const publisher = new MessagePublisher(service)
  const late: TransactionParticipant = {
    name: 'late',
    startTx: () => undefined,
    getTxChanges: () => [],
    commitTx: async () => {
      await t.rejects(publisher.publish('n', 't', 'late'), state)
      return true
    },
    rollbackTx: () => true,
  }
  for (const message of ['first', 'second']) {
    await runTransaction(manager, [publisher, late], () => publisher.publish('n', 't', message))
  }
  await publisher.publish('n', 't', 'third')
  const messages = await service.poll({ namespace: 'n', topic: 't' })
  t.strictSame(
    messages.map(({ payload }) => payload.toString()),
    ['first', 'second', 'third'],
  )
  await service.close()
  await close()
})

void t.test(
  'a run ends its transaction behind a call that its work did not wait for',
  async (t) => {
    const { manager, close } = await openTransactional()
    const failure = new Error('of the work')
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
    const slow = (): TransactionParticipant => ({
      name: 'slow',
      startTx: turn,
      getTxChanges: () => [],
      commitTx: () => true,
      rollbackTx: () => true,
    })
    const run = runTransaction(manager, async (tx) => {
      await Promise.all([tx.add(slow()), Promise.reject(failure)])
    })
    await t.rejects(run, failure)
    t.equal(manager.statistics().aborted, 1)
    let behind: Promise<unknown> = Promise.resolve()
    await runTransaction(manager, (tx) => {
      const added = tx.add(slow())
      behind = t.rejects(
        added.then(() => tx.checkpoint()),
        state,
      )
    })
    await behind
    const { committed, inProgress } = manager.statistics()
    t.strictSame({ committed, inProgress }, { committed: 1, inProgress: 0 })
    await close()
  },
)
