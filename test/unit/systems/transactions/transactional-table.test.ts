/** Reads and writes of transactional tables, one rule a test; the random ones are in isolation. */
import t from 'tap'
import { ValueFilter } from '../../../../src/entries/index.js'
import {
  PruneState,
  pruneStatePlugin,
  TransactionalTable,
  transactionalFamily,
  TransactionContext,
  TransactionPruningService,
  type VisibilitySnapshot,
} from '../../../../src/systems/transactions/index.js'
import { openTransactional, shownCells } from './transactional-support.js'

void t.test('a read of columns knows that their row or family was deleted', async (t) => {
  for (const families of [undefined, ['f']]) {
    const { run, close } = await openTransactional()
    await run((table) => table.put({ row: 'r', cells: { 'f:q': 'old' } }))
    await run((table) => table.delete(families ? { row: 'r', families } : { row: 'r' }))
    await run(async (table) => {
      for (const columns of [['f:q'], ['f:q', 'g:q'], ['f'], ['g', 'f:q'], ['f:']]) {
        t.strictSame(shownCells(await table.get({ row: 'r', columns })), [])
        t.equal(await table.exists({ row: 'r', columns }), false)
        for await (const row of await table.scan({ columns })) t.fail(`${row.row?.toString()}`)
        const filter = new ValueFilter('NOT_EQUAL', Buffer.from('x'))
        t.strictSame(shownCells((await table.getList([{ row: 'r', columns, filter }]))[0]), [])
      }
    })
    await close()
  }
})

void t.test('jobs leave what a transaction that runs may see', async (t) => {
  const { database, manager, run, table, close } = await openTransactional()
  await run((own) => own.put({ row: 'r', cells: { 'f:q': 'before' } }))
  const writer = new TransactionContext(manager, [])
  const written = table()
  await writer.add(written)
  await writer.start()
  await written.put({ row: 'r', cells: { 'f:q': 'after' } })
  const read = table()
  const reader = new TransactionContext(manager, [read])
  await reader.start()
  await writer.finish()
  await database.flush()
  await database.compact('t')
  t.strictSame(shownCells(await read.get({ row: 'r' })), ['f:q=before'])
  await reader.finish()
  await database.compact('t')
  t.strictSame(await run(async (own) => shownCells(await own.get({ row: 'r' }))), ['f:q=after'])
  await close()
})

void t.test('an invalid transaction stays in the list while any family holds it', async (t) => {
  const times = { lifetimeMilliseconds: 10_000, graceMilliseconds: 4_000 }
  const state = await PruneState.open(times)
  const opened = await openTransactional({
    manager: { lifetimeMilliseconds: times.lifetimeMilliseconds },
    processor: { state },
  })
  const { database, manager, clock, table, run, close } = opened
  const lost = table()
  const context = new TransactionContext(manager, [lost])
  await context.start()
  await lost.put({ row: 'r', cells: { 'f:q': 'lost' } })
  await lost.get({ row: 'r' })
  await database.flush()
  await manager.invalidate(context.current!.transactionId)
  clock.milliseconds += 20_000
  const plugins = [pruneStatePlugin(state, () => [database.table('t')])]
  const pruning = new TransactionPruningService({ manager, plugins, clock })
  await database.compact('t', { family: 'g' })
  t.equal(await pruning.run(), 0, 'the files of f still hold its cell')
  t.strictSame(await run(async (own) => shownCells(await own.get({ row: 'r' }))), [])
  await database.compact('t')
  t.equal(await pruning.run(), 1)
  t.strictSame(await run(async (own) => shownCells(await own.get({ row: 'r' }))), [])
  await close()
})

void t.test('by column, a deletion of all conflicts with a put into what it deletes', async (t) => {
  const level = { conflictLevel: 'COLUMN' } as const
  for (const families of [undefined, ['f']]) {
    const { manager, run, table, close } = await openTransactional()
    const both = async (first: 'put' | 'delete', cells: Record<string, string>) => {
      await run((own) => own.put({ row: 'r', cells: { 'f:q': 'old' } }), level)
      const tables = [table(level), table(level)]
      const contexts = tables.map((own) => new TransactionContext(manager, [own]))
      for (const context of contexts) await context.start()
      const put = tables[first === 'put' ? 0 : 1]
      const deleting = tables[first === 'put' ? 1 : 0]
      await put.put({ row: 'r', cells })
      await deleting.delete(families ? { row: 'r', families } : { row: 'r' })
      await contexts[0].finish()
      return contexts[1].finish()
    }
    for (const first of ['put', 'delete'] as const) {
      const code = 'ERR_TRANSACTION_CONFLICT'
      await t.rejects(both(first, { 'f:q': 'new' }), { code }, `${first} first`)
      await both(first, { 'f:new': 'new' })
      const seen = await run(async (own) => shownCells(await own.get({ row: 'r' })))
      t.strictSame(seen, ['f:new=new'], 'a column that the deletion did not see')
      await run((own) => own.delete({ row: 'r' }))
    }
    await close()
  }
})

void t.test('writes of one transaction count in the order of the calls', async (t) => {
  for (const conflictLevel of ['ROW', 'COLUMN', 'NONE'] as const) {
    for (const bufferBytesMax of [0, 1 << 20]) {
      const { database, run, close } = await openTransactional()
      const options = { conflictLevel, bufferBytesMax }
      await run((own) => own.put({ row: 'r', cells: { 'f:a': '1', 'f:b': '1', 'g:c': '1' } }))
      await run(async (own) => {
        await own.put({ row: 'r', cells: { 'f:d': '2', 'f:a': '2' } })
        await own.delete({ row: 'r' })
        await own.put({ row: 'r', cells: { 'f:b': '3' } })
        t.strictSame(shownCells(await own.get({ row: 'r' })), ['f:b=3'])
      }, options)
      for (let round = 0; round < 2; round++) {
        const seen = await run(async (own) => shownCells(await own.get({ row: 'r' })))
        t.strictSame(seen, ['f:b=3'], `${conflictLevel}, ${bufferBytesMax}`)
        await database.compact('t')
      }
      await close()
    }
  }
})

void t.test('calls that are not awaited count in their order too', async (t) => {
  for (const conflictLevel of ['ROW', 'COLUMN', 'NONE'] as const) {
    const { manager, run, table, close } = await openTransactional()
    await run((own) => own.put({ row: 'r', cells: { 'f:a': '1', 'g:a': '1' } }))
    const own = table({ conflictLevel })
    const context = new TransactionContext(manager, [own])
    await context.start()
    const [, , before] = await Promise.all([
      own.put({ row: 'r', cells: { 'f:b': '2' } }),
      own.delete({ row: 'r' }),
      own.get({ row: 'r' }),
      own.put({ row: 'r', cells: { 'f:c': '3' } }),
      own.delete({ row: 'r', families: ['g'] }),
      own.put({ row: 'r', cells: { 'g:c': '4' } }),
      context.checkpoint(),
    ])
    const gone = /f:[ab]|g:a/
    t.notMatch(shownCells(before).join(), gone, `${conflictLevel}: what an earlier call deleted`)
    const old = { row: 'r', visibilityLevel: 'SNAPSHOT_EXCLUDE_CURRENT' } as const
    const wanted = ['f:c=3', 'g:c=4']
    t.strictSame(shownCells(await own.get(old)), wanted, `${conflictLevel}: before the checkpoint`)
    await context.finish()
    const seen = await run(async (other) => shownCells(await other.get({ row: 'r' })))
    t.strictSame(seen, wanted, conflictLevel)
    await close()
  }
})

void t.test(
  'what an engine snapshot protects does not come back with a deletion gone',
  async (t) => {
    const { database, run, close } = await openTransactional()
    await run((own) => own.put({ row: 'r', cells: { 'f:q': 'old', 'g:q': 'old' } }))
    const snapshot = database.snapshot()
    await run((own) => own.delete({ row: 'r', columns: ['f:q'], families: ['g'] }))
    await database.compact('t')
    t.strictSame(await run(async (own) => shownCells(await own.get({ row: 'r' }))), [])
    snapshot.close()
    await database.compact('t')
    t.strictSame(await run(async (own) => shownCells(await own.get({ row: 'r' }))), [])
    const { size } = await database.table('t').get({ row: 'r', versions: 'all' })
    t.equal(size, 0, 'then all of it goes')
    await close()
  },
)

void t.test('cells do not expire for a transaction that an old snapshot lacks', async (t) => {
  const families = { f: transactionalFamily({}, 5000) }
  let snapshot: VisibilitySnapshot | undefined = undefined
  const transactions = () => snapshot
  const opened = await openTransactional({ families, processor: { transactions } })
  const { database, manager, clock, run, table, close } = opened
  await run((own) => own.put({ row: 'r', cells: { 'f:q': 'value' } }))
  snapshot = manager.snapshot()
  clock.milliseconds += 4000
  const read = table()
  const reader = new TransactionContext(manager, [read])
  await reader.start()
  clock.milliseconds += 4000
  await database.compact('t')
  t.strictSame(shownCells(await read.get({ row: 'r' })), ['f:q=value'])
  await reader.finish()
  snapshot = manager.snapshot()
  await database.compact('t')
  t.equal((await database.table('t').get({ row: 'r', versions: 'all' })).size, 0)
  await close()
})

void t.test('cells expire for jobs no earlier than for a transaction that runs', async (t) => {
  const families = { f: transactionalFamily({}, 5000), g: transactionalFamily() }
  const { database, manager, clock, run, table, close } = await openTransactional({ families })
  await run((own) => own.put({ row: 'r', cells: { 'f:q': 'value' } }))
  const read = table()
  const reader = new TransactionContext(manager, [read])
  await reader.start()
  clock.milliseconds += 6000
  await database.compact('t')
  t.strictSame(shownCells(await read.get({ row: 'r' })), ['f:q=value'])
  await reader.finish()
  t.strictSame(await run(async (own) => shownCells(await own.get({ row: 'r' }))), [])
  await close()
})

void t.test('limits of cells count cells that the transaction sees', async (t) => {
  const { run, close } = await openTransactional()
  for (const value of ['1', '2', '3']) {
    await run((own) => own.put({ row: 'r', cells: { 'f:a': value, 'f:b': value } }))
  }
  await run((own) => own.delete({ row: 'r', columns: ['f:a'] }))
  await run(async (own) => {
    t.strictSame(shownCells(await own.get({ row: 'r', cellsPerFamilyMax: 1 })), ['f:b=3'])
    const options = { cellsPerFamilyMax: 1, cellsPerFamilyOffset: 1 }
    t.strictSame(shownCells(await own.get({ row: 'r', ...options })), [])
    const found: string[] = []
    for await (const result of await own.scan({ batch: 1 })) found.push(...shownCells(result))
    t.strictSame(found, ['f:b=3'])
  })
  await close()
})

void t.test('SNAPSHOT_ALL adds the own writes, and of others it shows the newest', async (t) => {
  const { manager, run, table, close } = await openTransactional()
  for (const value of ['1', '2']) {
    await run((own) => own.put({ row: 'r', cells: { 'f:a': value, 'f:b': value } }))
  }
  const own = table()
  const context = new TransactionContext(manager, [own])
  await context.start()
  await own.put({ row: 'r', cells: { 'f:a': '3' } })
  await context.checkpoint()
  await own.put({ row: 'r', cells: { 'f:a': '4' } })
  await own.delete({ row: 'r', columns: ['f:b'] })
  const seen = async (visibilityLevel: 'SNAPSHOT' | 'SNAPSHOT_EXCLUDE_CURRENT' | 'SNAPSHOT_ALL') =>
    shownCells(await own.get({ row: 'r', visibilityLevel }))
  t.strictSame(await seen('SNAPSHOT'), ['f:a=4'])
  t.strictSame(await seen('SNAPSHOT_EXCLUDE_CURRENT'), ['f:a=3', 'f:b=2'])
  t.strictSame(await seen('SNAPSHOT_ALL'), ['f:a=4', 'f:a=3', 'f:a=2', 'f:b=', 'f:b=2'])
  await context.abort()
  await close()
})

void t.test('arguments count as of the call', async (t) => {
  const { run, close } = await openTransactional()
  await run(async (own) => {
    const row = Buffer.from('r')
    const value = Buffer.from('value')
    const qualifier = Buffer.from('q')
    const cells: { column: { family: string; qualifier: Buffer }; value: Buffer }[] = [
      { column: { family: 'f', qualifier }, value },
    ]
    await own.put({ row, cells })
    const reading = own.get({ row, columns: [{ family: 'f', qualifier }] })
    for (const bytes of [row, value, qualifier]) bytes.fill('x')
    cells.pop()
    t.strictSame(shownCells(await reading), ['f:q=value'])
    const deleted = Buffer.from('r')
    const columns = ['f:q']
    await own.put({ row: 'r', cells: { 'f:p': 'stays' } })
    await own.delete({ row: deleted, columns })
    deleted.fill('x')
    columns[0] = 'f:p'
  })
  const seen = await run(async (own) => shownCells(await own.get({ row: 'r' })))
  t.strictSame(seen, ['f:p=stays'])
  await close()
})

void t.test(
  'a write that is refused is refused at the call, and nothing else is lost',
  async (t) => {
    const { database, run, close } = await openTransactional()
    await database.createTable('plain', { families: { f: {} } })
    await run(async (own) => {
      await own.put({ row: 'r', cells: { 'f:q': 'good' } })
      const code = 'ERR_NO_SUCH_COLUMN_FAMILY'
      await t.rejects(own.put({ row: 'r', cells: { 'f:b': 'x', 'nope:q': 'x' } }), { code })
      await t.rejects(own.delete({ row: 'r', families: ['nope'] }), { code })
      await t.rejects(own.delete({ row: 'r', columns: ['nope:q'] }), { code })
      const invalid = { code: 'ERR_INVALID_ARGUMENT' }
      const put = (row: unknown, cells: unknown) => own.put({ row, cells } as never)
      await t.rejects(put('', { 'f:q': 'x' }), invalid, 'no row')
      await t.rejects(put('r'.repeat(32_768), { 'f:q': 'x' }), invalid, 'a row that is too long')
      await t.rejects(put('r', {}), invalid)
      await t.rejects(put('r', null), invalid)
      await t.rejects(put('r', { f: 'x' }), invalid, 'a family alone')
      await t.rejects(put('r', { 'f:': 'x' }), invalid, 'the column of deletions')
      await t.rejects(put('r', { 'f:q': 5 }), invalid)
      await t.rejects(own.put({ row: 'r', cells: { 'f:q': 'x' }, timestamp: 5 } as never), invalid)
      await t.rejects(own.delete({ row: 'r', columnVersions: ['f:q'] } as never), invalid)
      await t.rejects(own.delete({ row: 'r', columns: ['f:'] }), invalid)
      await t.rejects(own.get({ row: 'r', versions: 3 } as never), invalid)
      await t.rejects(own.get({ row: 'r', visibilityLevel: 'ALL' } as never), invalid)
      await t.rejects(own.scan({ raw: true } as never), invalid)
      t.strictSame(shownCells(await own.get({ row: 'r' })), ['f:q=good'])
    })
    const seen = await run(async (own) => shownCells(await own.get({ row: 'r' })))
    t.strictSame(seen, ['f:q=good'])
    t.throws(() => new TransactionalTable(database, 'plain'), { code: 'ERR_INVALID_ARGUMENT' })
    await close()
  },
)

void t.test(
  'what could not be moved to the table fails the commit, and is not half there',
  async (t) => {
    const { database, run, close } = await openTransactional()
    const huge = Buffer.alloc(11 * 1024 * 1024, 1)
    const work = run(async (own) => {
      await own.put({ row: 'r', cells: { 'f:q': 'good' } })
      await t.rejects(own.put({ row: 'r', cells: { 'g:q': huge } }), { code: 'ERR_TOO_LARGE' })
      await t.rejects(own.get({ row: 'r' }), { code: 'ERR_TOO_LARGE' })
    })
    await t.rejects(work, { code: 'ERR_TOO_LARGE' })
    t.equal((await database.table('t').get({ row: 'r' })).size, 0)
    await run((own) => own.put({ row: 'r', cells: { 'f:q': 'later' } }))
    await close()
  },
)
