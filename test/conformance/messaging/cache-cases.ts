/** The cache of newest entries. */
import assert from 'node:assert/strict'
import {
  MessageCache,
  type CacheLimits,
} from '../../../src/systems/messaging/store/message-cache.js'
import { failsWith } from '../../suites/kit.js'
import { type MessagingCase } from './case.js'

function cache(minRetain: number, reduceTrigger: number, hardLimit: number): MessageCache<number> {
  const limits: CacheLimits = { minRetain, reduceTrigger, hardLimit }
  return new MessageCache<number>({ compare: (a, b) => a - b, weigh: () => 1 }, limits)
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i)
}

function scanned(of: MessageCache<number>, start: number, inclusive = true, limit = 10): number[] {
  const scan = of.scan(start, inclusive, limit)
  scan.close()
  return [...scan.entries]
}

/** Cases about the cache. */
export const cacheCases: readonly MessagingCase[] = [
  {
    name: 'a cache without room keeps nothing',
    run: async () => {
      const none = cache(0, 0, 0)
      none.addAll([1, 2, 3])
      const scan = none.scan(0, true, 10)
      assert.deepEqual([none.weight, scan.entries, scan.first], [0, [], undefined])
    },
  },
  {
    name: 'scans start at or behind an entry and have a limit',
    run: async () => {
      const of = cache(10, 14, 20)
      of.addAll([...range(1, 5), ...range(11, 15)])
      assert.deepEqual(scanned(of, 0), [...range(1, 5), ...range(11, 15)])
      assert.deepEqual(scanned(of, 0, true, 5), range(1, 5))
      assert.deepEqual(scanned(of, 3, true, 5), [3, 4, 5, 11, 12])
      assert.deepEqual(scanned(of, 3, false, 5), [4, 5, 11, 12, 13])
      assert.deepEqual(scanned(of, 9), range(11, 15))
      assert.equal(of.scan(9, true, 1).first, 1)
      const filtered = of.scan(0, true, 10, (entry) =>
        entry === 2 ? 'skip' : entry === 5 ? 'hold' : 'accept',
      )
      assert.deepEqual(filtered.entries, [1, 3, 4])
    },
  },
  {
    name: 'an update that changes the order empties the cache',
    run: async () => {
      for (const at of [0, 1, 2]) {
        const of = cache(10, 14, 20)
        of.addAll([1, 2, 3])
        const update = (): void => of.updateEntries(1, 3, (entry) => (entry === at + 1 ? 9 : entry))
        await failsWith('ERR_CACHE_ORDER', update)
        assert.equal(of.size, 0)
      }
      const of = new MessageCache<{ at: number; text: string }>(
        { compare: (a, b) => a.at - b.at, weigh: () => 1 },
        { minRetain: 10, reduceTrigger: 14, hardLimit: 20 },
      )
      of.addAll(range(1, 3).map((at) => ({ at, text: 'old' })))
      const to = { at: 2, text: '' }
      of.updateEntries(to, to, (entry) => ({ ...entry, text: 'new' }))
      const found = of.scan({ at: 0, text: '' }, true, 9).entries.map(({ text }) => text)
      assert.deepEqual(found, ['old', 'new', 'old'])
    },
  },
  {
    name: 'above the trigger the next scan that closes reduces the cache',
    run: async () => {
      const of = cache(5, 7, 10)
      of.addAll(range(1, 5))
      of.addAll(range(6, 9))
      assert.deepEqual(scanned(of, 0), range(1, 9))
      assert.deepEqual(scanned(of, 0), range(5, 9))
    },
  },
  {
    name: 'above the hard limit an addition reduces the cache',
    run: async () => {
      const of = cache(5, 7, 10)
      of.addAll(range(5, 9))
      of.addAll(range(10, 18))
      assert.deepEqual(scanned(of, 0), range(11, 18))
      assert.deepEqual(scanned(of, 0), range(14, 18))
    },
  },
  {
    name: 'limits change',
    run: async () => {
      const of = cache(2, 3, 4)
      of.addAll(range(1, 4))
      of.resize({ minRetain: 4, reduceTrigger: 6, hardLimit: 8 })
      assert.deepEqual(scanned(of, 0), range(1, 4))
      of.addAll(range(5, 9))
      assert.deepEqual(scanned(of, 0), range(6, 9))
    },
  },
  {
    name: 'additions that do not ascend, and those within one another',
    run: async () => {
      for (const wrong of [[5, 4], [1], [3]]) {
        const of = cache(10, 14, 20)
        of.addAll([1, 2, 3])
        await failsWith('ERR_INVALID_ARGUMENT', () => of.addAll(wrong))
        assert.equal(of.weight, 0)
      }
      const of = cache(10, 14, 20)
      let inner = 0
      function* entries(): Iterable<number> {
        yield 1
        try {
          of.addAll([9])
        } catch (error) {
          inner += (error as { code?: string }).code === 'ERR_CONCURRENT_MODIFICATION' ? 1 : 0
        }
        yield 2
      }
      of.addAll(entries())
      assert.equal(inner, 1)
      assert.deepEqual(scanned(of, 0), [1, 2])
    },
  },
]
