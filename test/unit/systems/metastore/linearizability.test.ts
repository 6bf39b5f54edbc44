/**
 * Concurrent histories over Cellar have an order; and the checker finds those that have none.
 *
 * CELLAR_HISTORIES: histories, default 5,000. CELLAR_SEED: the seed.
 *
 * @runs long
 */
import t from 'tap'
import { CellarMetaStore, type MetastoreTable } from '../../../../src/systems/metastore/index.js'
import { modelStore } from '../../../helpers/metastore/metastores.js'
import { withMembers } from '../../../helpers/planted.js'
import { TestDatabase } from '../../../helpers/test-database.js'
import { randomFrom, seed } from '../../storage/version/fixtures.js'
import { History } from './histories.js'
import { isLinearizable, type Operation } from './linearizability.js'
import { lengthOf } from '../../../helpers/length.js'

const histories = lengthOf('CELLAR_HISTORIES', 200, 5000)
const shape = { clients: 4, operationsPerClient: 6, rows: 2 }

function put(start: number, end: number, expected: string, version: string): Operation {
  return { kind: 'put', start, end, expected, version, written: version, outcome: 'OK' }
}

function get(start: number, end: number, version: string): Operation {
  return { kind: 'get', start, end, version, read: version, outcome: 'OK' }
}

void t.test('the checker accepts what has an order', (t) => {
  t.ok(isLinearizable([]))
  t.ok(isLinearizable([put(1, 2, 'NEW', '1'), get(3, 4, '1')]))
  t.ok(isLinearizable([put(1, 6, 'NEW', '1'), { ...get(2, 3, ''), outcome: 'NoKey' }]))
  t.ok(isLinearizable([get(1, 6, '1'), put(2, 3, 'NEW', '1')]), 'a get that is under way')
  const losing: Operation = { ...put(1, 9, '1', ''), outcome: 'BadVersion' }
  t.ok(isLinearizable([put(1, 2, 'NEW', '1'), losing, put(3, 8, '1', '2'), get(9, 10, '2')]))
  t.end()
})

void t.test('the checker refuses what has none', (t) => {
  const created = put(1, 2, 'NEW', '1')
  const failed = (operation: Operation, outcome: string): Operation => ({ ...operation, outcome })
  t.notOk(isLinearizable([get(1, 2, '1')]), 'read out of thin air')
  t.notOk(isLinearizable([created, failed(get(3, 4, ''), 'NoKey')]), 'a lost write')
  t.notOk(isLinearizable([created, put(3, 4, 'NEW', '2')]), 'created twice')
  t.notOk(isLinearizable([created, put(3, 9, '1', '2'), put(4, 8, '1', '3')]), 'two winners')
  t.notOk(isLinearizable([created, put(3, 4, '1', '2'), get(5, 6, '1')]), 'a stale read')
  t.notOk(isLinearizable([created, failed(put(3, 4, '1', ''), 'BadVersion')]), 'a false refusal')
  t.notOk(isLinearizable([created, failed(put(3, 4, 'ANY', ''), 'NoKey')]), 'a row overlooked')
  const removed: Operation = { kind: 'remove', start: 3, end: 4, expected: '1', outcome: 'OK' }
  t.notOk(isLinearizable([created, removed, get(5, 6, '1')]), 'a removal undone')
  const again = put(5, 6, 'NEW', '2')
  t.notOk(isLinearizable([created, removed, again, put(7, 8, '1', '3')]), 'ABA')
  t.notOk(isLinearizable([created, { ...get(3, 4, '1'), read: 'other' }]), 'torn')
  t.end()
})

/** Breaks compare-and-set: compares first and sets later. */
function racy(table: MetastoreTable): MetastoreTable {
  return withMembers(table, {
    put: async (key, value, version) => {
      const stored = await table.get(key).catch(() => undefined)
      if (stored?.version.compare(version) !== 'CONCURRENTLY') return table.put(key, value, version)
      await new Promise((resolve) => setImmediate(resolve))
      return table.put(key, value, (await table.get(key)).version)
    },
  })
}

/** Reads what a table held some time ago. */
function stale(table: MetastoreTable): MetastoreTable {
  const old = new Map<string, ReturnType<MetastoreTable['get']>>()
  return withMembers(table, {
    get: (key) => {
      const before = old.get(key)
      const now = table.get(key)
      now.then(
        () => old.set(key, now),
        () => old.delete(key),
      )
      return before ?? now
    },
  })
}

async function refused(plant: (table: MetastoreTable) => MetastoreTable): Promise<number> {
  const store = await modelStore()
  const table = plant(await store.createTable('planted'))
  const random = randomFrom(seed)
  let count = 0
  for (let i = 0; i < 100; i++) {
    const history = new History(random)
    try {
      await history.run([table], `history ${i}`, shape)
      if (![...history.byRow.values()].every(isLinearizable)) count++
    } catch {
      // The racy put may find the row gone: that is a history as well, of the other kind.
    }
  }
  return count
}

void t.test('planted bugs are found in random histories', async (t) => {
  t.equal(await refused((table) => table), 0, 'none without a bug')
  t.ok((await refused(racy)) >= 10, 'compare, then set')
  t.ok((await refused(stale)) >= 10, 'reads from a cache')
})

const title = `${histories} concurrent histories over Cellar have an order (seed ${seed})`
void t.test(title, async (t) => {
  const options = { memtableBytesMax: 256 * 1024, flushBytes: 64 * 1024, compactionEnabled: true }
  const home = await TestDatabase.open({ options: { ...options, blockCacheBytesMax: 16 * 1024 } })
  const stores = [new CellarMetaStore(), new CellarMetaStore()]
  for (const store of stores) await store.init({ database: home.database }, store.getVersion())
  const tables = await Promise.all(stores.map((store) => store.createTable('histories')))
  const random = randomFrom(seed)
  const versions = new Set<string>()
  let writes = 0
  const bad: string[] = []
  let disturbance = Promise.resolve()
  for (let i = 0; i < histories; i++) {
    if (i % 100 === 50) {
      disturbance = disturbance.then(() => (i % 200 === 50 ? home.flush() : home.compact(false)))
    }
    const history = new History(random)
    await history.run(tables, `history ${i}`, shape)
    for (const [row, operations] of history.byRow) {
      if (!isLinearizable(operations)) bad.push(`${row}: ${JSON.stringify(operations)}`)
      for (const { kind, outcome, version } of operations) {
        if (kind !== 'put' || outcome !== 'OK') continue
        writes++
        versions.add(version!)
      }
    }
  }
  await disturbance
  t.strictSame(bad.slice(0, 3), [], 'every history has an order')
  t.equal(versions.size, writes, 'no version was given out twice')
  t.comment(`${histories} histories`)
  for (const store of stores) await store.close()
  await home.close()
})
