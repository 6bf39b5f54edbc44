/** Participants that answer nonsense: the transaction is rolled back, and the error has a code. */
import t, { type Test } from 'tap'
import { CellarError, Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  runTransaction,
  TransactionalTable,
  TransactionContext,
  transactionalFamily,
  TransactionManager,
  type TransactionParticipant,
} from '../../../../src/systems/transactions/index.js'
import { hostileValues } from '../../table/arguments/hostile-values.js'

interface World {
  readonly database: Database
  readonly manager: TransactionManager
  readonly table: TransactionalTable
}

async function open(): Promise<World> {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/db', { fileSystem, executor: 'inline' })
  const manager = await TransactionManager.open(database, { sweepMilliseconds: 0 })
  await database.createTable('t', { families: { f: transactionalFamily() } })
  return { database, manager, table: new TransactionalTable(database, 't') }
}

async function close({ manager, database }: World): Promise<void> {
  await manager.close()
  await database.close()
}

type Calls = Record<keyof TransactionParticipant, unknown>

/** A participant, and how often it was rolled back. */
function participant(calls: Partial<Calls>): TransactionParticipant & { rollbacks: number } {
  const made = {
    name: 'nonsense',
    rollbacks: 0,
    startTx: () => undefined,
    updateTx: () => undefined,
    getTxChanges: () => [],
    commitTx: () => true,
    postTxCommit: () => undefined,
    rollbackTx: () => {
      made.rollbacks++
      return true
    },
    ...calls,
  }
  return made as never
}

/** Nothing of a transaction is left: neither its write, nor the transaction itself. */
async function checkUndone(
  t: Test,
  { manager, table }: World,
  made: { rollbacks: number },
  what: string,
): Promise<void> {
  const { inProgress, committing } = manager.statistics()
  t.equal(inProgress, 0, `${what}: no transaction runs`)
  t.equal(committing, 0, `${what}: none is being committed`)
  t.equal(made.rollbacks, 1, `${what}: it was rolled back once`)
  const context = new TransactionContext(manager, [table])
  await context.start()
  t.ok((await table.get({ row: 'r' })).isEmpty, `${what}: nothing is visible`)
  await context.abort()
}

const answers: readonly (keyof TransactionParticipant)[] = [
  'getTxChanges',
  'commitTx',
  'commitWrites',
  'commitCarrier',
]

/** What these calls may well answer. */
const right: Readonly<Record<string, readonly string[]>> = {
  getTxChanges: ['an empty array', 'detached bytes'],
  commitTx: ['true'],
  commitWrites: ['undefined', 'null', 'an empty array'],
  commitCarrier: ['undefined', 'a function', 'a class'],
}

for (const call of answers) {
  void t.test(`nonsense of ${call} rolls back all participants`, async (t) => {
    const world = await open()
    const { manager, table } = world
    const values = hostileValues.filter(({ name }) => right[call]?.includes(name) !== true)
    for (const { name, make } of values) {
      const inArray = (): unknown => [make()]
      for (const value of [make, inArray]) {
        const answer = value()
        if (call === 'getTxChanges' && value !== make && isKey(make())) continue
        const made = participant({ [call]: () => answer })
        const context = new TransactionContext(manager, [table, made])
        await context.start()
        await table.put({ row: 'r', cells: { 'f:q': 'v' } })
        const what = `${call} answers ${value === make ? name : `[${name}]`}`
        const error = await context.finish().catch((error: unknown) => error)
        t.ok(error instanceof CellarError, `${what}: ${String((error as Error | null)?.stack)}`)
        t.equal(context.current, undefined)
        await checkUndone(t, world, made, what)
      }
    }
    await close(world)
  })
}

function isKey(value: unknown): boolean {
  return typeof value === 'string'
}

void t.test('what a call throws is the cause, and everything is rolled back', async (t) => {
  const world = await open()
  const { manager, table } = world
  for (const call of answers) {
    for (const { name, make } of hostileValues) {
      const thrown = make()
      const made = participant({
        [call]: () => {
          throw thrown
        },
      })
      const context = new TransactionContext(manager, [table, made])
      await context.start()
      await table.put({ row: 'r', cells: { 'f:q': 'v' } })
      const error = (await context.finish().catch((error: unknown) => error)) as CellarError
      t.equal(error.code, 'ERR_TRANSACTION_FAILED', `${call} throws ${name}`)
      t.ok(Object.is(error.cause, thrown))
      await checkUndone(t, world, made, `${call} throws ${name}`)
    }
  }
  await close(world)
})

void t.test('a name that cannot be read keeps nobody from being rolled back', async (t) => {
  const world = await open()
  const { manager, table } = world
  for (const { name: value, make } of hostileValues) {
    for (const call of ['commitTx', 'rollbackTx'] as const) {
      const named = Object.defineProperty(participant({ [call]: () => false }), 'name', {
        get: () => (value === 'a function' ? (make() as () => void)() : make()),
      })
      const last = participant({})
      const context = new TransactionContext(manager, [named, table, last])
      await context.start()
      await table.put({ row: 'r', cells: { 'f:q': 'v' } })
      const end = call === 'commitTx' ? context.finish() : context.abort()
      await t.rejects(end, { code: 'ERR_TRANSACTION_FAILED' }, value)
      await checkUndone(t, world, last, `a name that is ${value}`)
    }
  }
  await close(world)
})

void t.test(
  'a rollback that answers anything but true makes the transaction invalid',
  async (t) => {
    const world = await open()
    const { manager } = world
    const values = hostileValues.filter(({ name }) => name !== 'true')
    for (const { name, make } of values) {
      const invalid = manager.statistics().invalid
      const context = new TransactionContext(manager, [participant({ rollbackTx: make })])
      await context.start()
      await t.rejects(context.abort(), { code: 'ERR_TRANSACTION_FAILED' }, name)
      t.equal(manager.statistics().invalid, invalid + 1, name)
      t.equal(manager.statistics().inProgress, 0)
    }
    await close(world)
  },
)

void t.test('a checkpoint that a participant fails ends in a code', async (t) => {
  const world = await open()
  const { manager, table } = world
  for (const { name, make } of hostileValues) {
    const failing = (): never => {
      throw make()
    }
    for (const updateTx of [failing, 5]) {
      const made = participant({ updateTx })
      const context = new TransactionContext(manager, [table, made])
      await context.start()
      await table.put({ row: 'r', cells: { 'f:q': 'v' } })
      await t.rejects(context.checkpoint(), { code: 'ERR_TRANSACTION_FAILED' }, name)
      await checkUndone(t, world, made, name)
    }
  }
  await close(world)
})

void t.test('a participant that is added at once starts at once', async (t) => {
  const world = await open()
  const context = new TransactionContext(world.manager)
  await context.start()
  const later = participant({ startTx: () => Promise.reject(new Error('later')) })
  t.throws(() => context.addNow(later), { code: 'ERR_INVALID_ARGUMENT' })
  const throwing = participant({
    startTx: () => {
      throw new Error('never')
    },
  })
  t.throws(() => context.addNow(throwing), { code: 'ERR_TRANSACTION_FAILED' })
  await context.abort()
  t.equal(later.rollbacks + throwing.rollbacks, 0, 'neither takes part')
  await close(world)
})

void t.test('runTransaction says the code of nonsense, and the manager goes on', async (t) => {
  const world = await open()
  const { manager, database } = world
  for (const call of answers) {
    const made = participant({ [call]: () => 5 })
    const run = runTransaction(
      manager,
      async (scope) => {
        await scope.add(made)
        await scope.table('t').put({ row: 'r', cells: { 'f:q': 'v' } })
      },
      { database, retriesMax: 0 },
    )
    await t.rejects(run, { code: 'ERR_TRANSACTION_FAILED' }, call)
    await checkUndone(t, world, made, call)
  }
  await runTransaction(
    manager,
    (scope) => scope.table('t').put({ row: 'r', cells: { 'f:q': 'v' } }),
    { database },
  )
  await close(world)
})
