/** A debt is computed once for the files of a store, so a flush of many stores is not quadratic. */
import t from 'tap'
import { KnownDebts } from '../../../../../src/storage/engine/background/known-debts.js'
import { parseCompaction } from '../../../../../src/storage/compaction/setting.js'
import type { Store } from '../../../../../src/storage/store/store.js'

function settingsOf(policy: string): object {
  const compaction = parseCompaction(policy)
  return { compaction, keepDeletedCells: 'FALSE', timeToPurgeDeletesMilliseconds: 0 }
}

void t.test('a debt is that of the present files and settings', (t) => {
  let reads = 0
  const levelsOf = (files: number): unknown[][] => {
    const flushed = Array.from({ length: files }, (_, i) => {
      return { fileNumber: i + 1, fileBytes: 10, level: 0 }
    })
    const get = (inner: object[], name: string): unknown => {
      reads++
      return Reflect.get(inner, name)
    }
    return [new Proxy<object[]>(flushed, { get })]
  }
  let levels = levelsOf(100)
  const versions = { current: { store: () => ({ levels }) } }
  const debts = new KnownDebts({ versions } as never)
  const settings = settingsOf('tiered')
  const store = { storeId: 1, settings }
  const debtOf = (): number => debts.of(store as unknown as Store).runs
  const first = debtOf()
  t.ok(first > 0)
  const before = reads
  for (let i = 0; i < 1000; i++) debts.of(store as unknown as Store)
  t.equal(reads, before, 'the files are not looked at again')
  levels = levelsOf(101)
  t.equal(debtOf(), first + 1)
  store.settings = settingsOf('fifo')
  t.equal(debtOf(), 0)
  t.end()
})
