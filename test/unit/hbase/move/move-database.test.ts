/**
 * A move dies before or after each of its calls to the target, while the source is written to, and
 * a second call ends it. The target must have what a plain `Map` has, and all versions of all cells
 * that the source shows.
 *
 * CELLAR_SEED: the seed.
 *
 * @runs campaign
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { CellarError, type Database } from '../../../../src/api/index.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { loadHFiles } from '../../../../src/hbase/hfile/load-hfiles.js'
import { inspectMove } from '../../../../src/hbase/move/inspect-move.js'
import { moveDatabase } from '../../../../src/hbase/move/move-database.js'
import type { TableHFiles } from '../../../../src/hbase/move/options.js'
import { cellsOf, MovingSource, newest, tables } from '../../../helpers/moving-source.js'
import { reduceToRows } from '../../../helpers/row-atomic.js'

const seed = Number(process.env['CELLAR_SEED'] ?? Date.now() % 1_000_000)

/** A target that dies at a call: before the call, or after it. `between` runs before each call. */
function dying(
  database: Database,
  at: { readonly call: number; readonly when: 'before' | 'after' },
  between: () => void,
): { readonly target: Database; readonly calls: () => number } {
  let calls = 0
  const called = async (run: () => unknown): Promise<unknown> => {
    between()
    const call = ++calls
    if (call > at.call || (call === at.call && at.when === 'before')) throw new Error('died')
    const result = await run()
    if (call === at.call) throw new Error('died')
    return result
  }
  const wrap = <T extends object>(object: T): T =>
    new Proxy(object, {
      get: (inner, name) => {
        const value: unknown = Reflect.get(inner, name, inner)
        if (typeof value !== 'function' || name === 'scan' || name === 'describe') {
          return typeof value === 'function' ? (value.bind(inner) as unknown) : value
        }
        return (...given: unknown[]) =>
          called(() => (value as (...all: unknown[]) => unknown).apply(inner, given))
      },
    })
  const target: Database = {
    ...database,
    admin: wrap(database.admin),
    table: (name) => wrap(database.table(name)),
  }
  return { target, calls: () => calls }
}

void t.test('a move that dies at any call is ended by the next', async (t) => {
  t.comment(`seed ${seed}`)
  for (const when of ['before', 'after'] as const) {
    let deaths = 0
    for (let call = 1; ; call++) {
      const source = await MovingSource.open(seed + call)
      const store = await openMemoryDatabase()
      const stopWrites = (): void => {
        source.stopped = true
      }
      const options = { stopWrites, retryMilliseconds: 0 }
      const between = (): void => source.write()
      const { target, calls } = dying(reduceToRows(store), { call, when }, between)
      const outcome = await moveDatabase(source.database, target, options).then(
        () => 'done',
        (error: unknown) => (error as Error).message,
      )
      if (outcome !== 'done') {
        deaths++
        if (outcome !== 'died') t.equal(outcome, 'died', `${when} call ${call}`)
        const again = dying(reduceToRows(store), { call: Infinity, when }, between)
        const { repairedRows } = await moveDatabase(source.database, again.target, options)
        if (repairedRows > 0) t.equal(repairedRows, 0, `repaired, ${when} call ${call}`)
      }
      const found = await newest(store)
      const isSame = t.strictSame(found, Object.fromEntries(source.model), `${when} call ${call}`)
      t.strictSame(await cellsOf(store), await cellsOf(source.database), 'all versions')
      await source.database.close()
      await store.close()
      if (!isSame || (outcome === 'done' && calls() < call)) break
    }
    t.ok(deaths > 20, `${deaths} deaths`)
  }
})

void t.test('changes that no feed shows are found by the comparison', async (t) => {
  const source = await MovingSource.open(seed)
  const store = await openMemoryDatabase()
  let left = 1
  const { target } = dying(reduceToRows(store), { call: Infinity, when: 'after' }, () => {
    if (store.admin.listTableNames().includes('two') && left-- > 0) {
      const cells = { 'f:hidden': 'value' }
      source.database.table('one').putSync({ row: 'row0', cells, durability: 'SKIP_WAL' })
    }
  })
  const { repairedRows, tables: moved } = await moveDatabase(source.database, target)
  t.equal(repairedRows, 1)
  t.strictSame(moved, tables)
  t.strictSame(await cellsOf(store), await cellsOf(source.database))
  for (const name of tables) {
    const late = source.database.table(name).put({ row: 'late', cells: { 'f:a': 'value' } })
    await t.rejects(late, { code: 'ERR_READ_ONLY' }, 'the source is switched off')
    t.notOk(store.table(name).describe().readOnly, 'the target is not')
  }
  const again = await moveDatabase(source.database, target)
  t.equal(again.writtenCells, 0, 'a move that is done does nothing')
  const other = await MovingSource.open(seed)
  await t.rejects(moveDatabase(other.database, target), { code: 'ERR_MOVE_REFUSED' })
  for (const each of [source.database, other.database, store]) await each.close()
})

void t.test('a source without feed, and a mover that another one replaces', async (t) => {
  const source = await MovingSource.open(seed)
  const store = await openMemoryDatabase()
  const back = await openMemoryDatabase()
  await moveDatabase(source.database, reduceToRows(store))
  await moveDatabase(reduceToRows(store), back, { stateTable: 'second', tables })
  t.strictSame(await cellsOf(back), await cellsOf(source.database), 'there and back')

  const third = reduceToRows(await openMemoryDatabase())
  const options = { stateTable: 'third', tables }
  const replaced = moveDatabase(source.database, third, {
    ...options,
    stopWrites: async () => {
      await moveDatabase(source.database, third, options)
    },
  })
  await t.rejects(replaced, { code: 'ERR_LOCKED' })
  t.strictSame(await cellsOf(third), await cellsOf(source.database))
  for (const each of [source.database, store, back, third]) await each.close()
})

void t.test('a copy whose changes are gone is made anew', async (t) => {
  const source = await MovingSource.open(seed)
  const store = await openMemoryDatabase()
  const { database } = source
  let opened = 0
  const forgetful: Database = new Proxy<Database>(database, {
    get: (inner, name) => {
      if (name === 'changes' && ++opened === 2) {
        return async function* (): AsyncGenerator<never, void> {
          throw new CellarError('ERR_CHANGES_GONE', 'the log begins later')
        }
      }
      const value: unknown = Reflect.get(inner, name, inner)
      return typeof value === 'function' ? (value.bind(inner) as unknown) : value
    },
  })
  const target = reduceToRows(store)
  const dead = new Error('stopped')
  const stopWrites = (): never => {
    throw dead
  }
  await t.rejects(moveDatabase(forgetful, target, { stopWrites }), dead)
  // The row that the target alone has is gone with the first copy.
  await database.table('one').put({ row: 'lost', cells: { 'f:a': 'value' } })
  await store.table('one').put({ row: 'left', cells: { 'f:a': 'value' } })
  const { repairedRows } = await moveDatabase(forgetful, target)
  t.equal(repairedRows, 0, 'nothing is left of the first copy')
  t.equal(opened, 3)
  t.strictSame(await cellsOf(store), await cellsOf(database))
  for (const each of [database, store]) await each.close()
})

void t.test(
  'the dry run counts cells and names features that the target cannot hold',
  async (t) => {
    const source = await openMemoryDatabase()
    const store = await openMemoryDatabase({ cellBytesMax: 1_000 })
    const table = await source.createTable('one', { families: { f: {} } })
    await source.admin.createNamespace('space')
    await source.createTable('space:two', { families: { f: {} } })
    // 3 + 1 + 1 + 20 bytes beside the value.
    await table.put({ row: 'fit', cells: { 'f:a': Buffer.alloc(975) } })
    t.strictSame((await inspectMove(source, store, { tables: ['one'] })).obstacles, [])
    for (const row of ['big', 'two']) await table.put({ row, cells: { 'f:a': Buffer.alloc(976) } })
    const { obstacles, notes } = await inspectMove(source, reduceToRows(store))
    t.strictSame(obstacles, [
      "cells of table 'one' have more than 1000 bytes, which the target refuses: 2",
      "the target lacks the namespace of table 'space:two'",
    ])
    const missing =
      'sync, snapshots, changes, atomicAcrossRows, atomicAcrossTables, coprocessors, filters'
    t.ok(notes.includes(`capabilities that the target lacks: ${missing}`), notes.join('; '))
    t.strictSame((await inspectMove(source, source, { tables: ['one'] })).notes.length, 1)
    for (const each of [source, store]) await each.close()
  },
)

void t.test('the dry run names what stands in the way, and the move refuses', async (t) => {
  const source = await openMemoryDatabase()
  const store = await openMemoryDatabase()
  const families = { f: { ttlMilliseconds: 1_500 }, g: { newVersionBehavior: true } }
  await source.createTable('one', { families })
  const target = reduceToRows(store)
  const table = await target.createTable('one', { families: { f: {} } })
  await table.put({ row: 'a', cells: { 'f:a': 'old' } })
  const { obstacles, tables: names } = await inspectMove(source, target)
  t.strictSame(names, ['one'])
  t.strictSame(obstacles, [
    "family 'f' of table 'one' has a TTL that is not whole seconds",
    "family 'g' of table 'one' has newVersionBehavior, by which the order of writing counts",
    "table 'one' of the target has rows",
  ])
  await t.rejects(moveDatabase(source, target), { code: 'ERR_MOVE_REFUSED' })
  t.strictSame(store.admin.listTableNames(), ['one'], 'nothing was made')
  for (const each of [source, store]) await each.close()
})

void t.test('a move by files that dies at any call is ended by the next', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'cellar-move-'))
  t.teardown(() => rmSync(home, { recursive: true }))
  for (const when of ['before', 'after'] as const) {
    let deaths = 0
    for (let call = 1; ; call++) {
      const source = await MovingSource.open(seed + call)
      const store = await openMemoryDatabase()
      const between = (): void => source.write()
      let isDead = false
      const options = {
        stopWrites: () => {
          source.stopped = true
        },
        retryMilliseconds: 0,
        bulkLoad: {
          directory: join(home, `${when}${call}`),
          load: async (files: readonly TableHFiles[]) => {
            for (const [i, { table, directory }] of files.entries()) {
              await loadHFiles(store, table, [directory])
              between()
              if (call % 3 === 0 && i === 0 && !isDead) throw new Error('died')
            }
          },
        },
      }
      const { target, calls } = dying(reduceToRows(store), { call, when }, between)
      const outcome = await moveDatabase(source.database, target, options).then(
        () => 'done',
        (error: unknown) => (error as Error).message,
      )
      isDead = true
      if (outcome !== 'done') {
        deaths++
        if (outcome !== 'died') t.equal(outcome, 'died', `${when} call ${call}`)
        const again = dying(reduceToRows(store), { call: Infinity, when }, between)
        const { repairedRows } = await moveDatabase(source.database, again.target, options)
        if (repairedRows > 0) t.equal(repairedRows, 0, `repaired, ${when} call ${call}`)
      }
      const found = await newest(store)
      const isSame = t.strictSame(found, Object.fromEntries(source.model), `${when} call ${call}`)
      t.strictSame(await cellsOf(store), await cellsOf(source.database), 'all versions')
      await source.database.close()
      await store.close()
      if (!isSame || (outcome === 'done' && calls() < call)) break
    }
    t.ok(deaths > 10, `${deaths} deaths`)
  }
})

void t.test('files of another move are not taken', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'cellar-move-'))
  t.teardown(() => rmSync(home, { recursive: true }))
  const source = await MovingSource.open(seed)
  const died = new Error('died')
  for (const error of [died, { code: 'ERR_DIRECTORY_NOT_EMPTY' }]) {
    const store = await openMemoryDatabase()
    const load = (): never => {
      throw died
    }
    const options = { bulkLoad: { directory: home, load }, retryMilliseconds: 0 }
    await t.rejects(moveDatabase(source.database, reduceToRows(store), options), error)
    await store.close()
  }
  await source.database.close()
})
