/** A debt is computed once for the files of a store, so a flush of many stores is not quadratic. */
import t from 'tap'
import type { PolicyInput } from '../../../../src/storage/compaction/choice.js'
import { parseCompaction } from '../../../../src/storage/compaction/setting.js'
import { debtOf } from '../../../../src/storage/store/family-policy.js'
import type { FamilySettings } from '../../../../src/storage/store/family-settings.js'

function settingsOf(policy: string): FamilySettings {
  const compaction = parseCompaction(policy)
  const settings = { compaction, keepDeletedCells: 'FALSE', timeToPurgeDeletesMilliseconds: 0 }
  return settings as FamilySettings
}

void t.test('a debt is that of the present files and settings', (t) => {
  let reads = 0
  const levelsOf = (files: number): PolicyInput['levels'] => {
    const flushed = Array.from({ length: files }, (_, i) => {
      return { fileNumber: i + 1, fileBytes: 10, level: 0 }
    })
    const get = (inner: object[], name: string): unknown => {
      reads++
      return Reflect.get(inner, name)
    }
    return [new Proxy<object[]>(flushed, { get })] as PolicyInput['levels']
  }
  let levels = levelsOf(100)
  let settings = settingsOf('tiered')
  const runs = (): number => debtOf(settings, levels).runs
  const first = runs()
  t.ok(first > 0)
  const before = reads
  for (let i = 0; i < 1000; i++) runs()
  t.equal(reads, before, 'the files are not looked at again')
  levels = levelsOf(101)
  t.equal(runs(), first + 1)
  settings = settingsOf('fifo')
  t.equal(runs(), 0)
  t.end()
})
