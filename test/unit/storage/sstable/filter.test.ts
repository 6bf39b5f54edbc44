import t from 'tap'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import { Hash64, hashRange } from '../../../../src/base/hash.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { ReadCounters } from '../../../../src/storage/sstable/read-counters.js'
import { Filter, FilterBuilder } from '../../../../src/storage/sstable/filter.js'
import { build, open, plainEntries } from './helpers.js'

t.before(() => loadChecksums())

function hashOf(text: string): Hash64 {
  const hash = new Hash64()
  const bytes = Buffer.from(text)
  hashRange(bytes, 0, bytes.length, hash)
  return hash
}

function rateAt(bitsPerKey: number, keys: number): number {
  const builder = new FilterBuilder(bitsPerKey)
  for (let i = 0; i < keys; i++) builder.add(hashOf(`user${i}`))
  const filter = Filter.decode(builder.finish())!
  for (let i = 0; i < keys; i++) {
    if (!filter.mayContain(hashOf(`user${i}`))) throw new Error(`lost key ${i}`)
  }
  let passed = 0
  const probes = 100_000
  for (let i = 0; i < probes; i++) if (filter.mayContain(hashOf(`absent${i}`))) passed++
  return passed / probes
}

void t.test(
  'at 10 bits a key at most 1.5 % of absent keys pass, and no present key is lost',
  async (t) => {
    for (const keys of [1000, 100_000]) {
      const rate = rateAt(10, keys)
      t.comment(`${keys} keys: ${(rate * 100).toFixed(3)} %`)
      t.ok(rate <= 0.015, `${rate}`)
    }
  },
)

void t.test('more bits let fewer absent keys pass', async (t) => {
  const rates = [6, 8, 12, 16].map((bits) => rateAt(bits, 50_000))
  t.comment(rates.map((rate) => `${(rate * 100).toFixed(3)} %`).join(' '))
  for (let i = 1; i < rates.length; i++) t.ok(rates[i] < rates[i - 1])
  t.ok(rates[3] < 0.002)
})

void t.test('equal keys one behind the other count once', async (t) => {
  const builder = new FilterBuilder(10)
  for (let i = 0; i < 1000; i++) builder.add(hashOf('same'))
  t.equal(builder.keyCount, 1)
  t.equal(builder.finish().length, 65)
})

void t.test('payloads that cannot be filters are refused', async (t) => {
  for (const length of [0, 1, 64, 66, 128]) {
    t.equal(Filter.decode(Buffer.alloc(length, 1)), undefined)
  }
  t.equal(Filter.decode(Buffer.alloc(65)), undefined, 'no probes')
  t.equal(Filter.decode(Buffer.alloc(65, 17)), undefined, 'too many probes')
  t.ok(Filter.decode(Buffer.alloc(65, 16)))
})

void t.test('a reader asks its filter and counts answers', async (t) => {
  const fileSystem = new SimulatedDisk()
  const entries = plainEntries(100)
  build(fileSystem, entries)
  const counters = new ReadCounters()
  const reader = open(fileSystem, { counters })
  for (const { key } of entries) t.ok(reader.mayContain(hashOf(key.toString())))
  let absent = 0
  for (let i = 0; i < 100; i++) if (!reader.mayContain(hashOf(`none${i}`))) absent++
  t.ok(absent > 90)
  t.equal(counters.filterChecks, 200)
  t.equal(counters.filterNegatives, absent)
  t.equal(counters.blocksRead, 0)
})
