import t from 'tap'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { InputMerge } from '../../../../src/storage/job/input-merge.js'
import { BlockMemoryPool } from '../../../../src/storage/sstable/blocks/block-memory.js'
import type { SsTableReader } from '../../../../src/storage/sstable/reader.js'
import { build, open, randomFrom, seed, sorted, type Entry } from '../sstable/helpers.js'

await loadChecksums()

/** One table for each list of entries, which are sorted first. */
function tablesOf(inputs: readonly (readonly Entry[])[]): SsTableReader[] {
  const fileSystem = new SimulatedDisk()
  return inputs.map((entries, index) => {
    const path = `table-${index}`
    build(fileSystem, sorted(entries), { path })
    return open(fileSystem, { path })
  })
}

function mergeOf(tables: readonly SsTableReader[], pool = new BlockMemoryPool()): InputMerge {
  return new InputMerge(
    tables.map((table) => table.streamCursor(pool)),
    tables.map((table) => table.properties),
  )
}

/** Key and value of every entry from `from` on, as one string each. */
function drain(merge: InputMerge, from = Buffer.alloc(0), pool?: BlockMemoryPool): string[] {
  const found: string[] = []
  for (merge.seek(from); merge.valid; merge.next()) {
    const { buffer, keyStart, valueEnd } = merge.top
    found.push(buffer.toString('latin1', keyStart, valueEnd))
    pool?.recycle()
  }
  return found
}

function randomEntries(count: number, makeKey: (index: number) => string): Entry[] {
  return Array.from({ length: count }, (_, index) => {
    return { key: Buffer.from(makeKey(index), 'latin1'), value: Buffer.from(`=${index}`) }
  })
}

void t.test(`any number of inputs comes out in order, seed ${seed}`, async (t) => {
  const random = randomFrom(seed)
  let runStart = 0
  const keys: Record<string, (index: number) => string> = {
    numbers: () => `row${String(Math.floor(random() * 1e6)).padStart(9, '0')}`,
    runs: (index) => {
      if (index % 25 === 0) runStart = Math.floor(random() * 1e5) * 100
      return `row${String(runStart + (index % 25)).padStart(9, '0')}`
    },
    'long equal beginnings': () => `${'a'.repeat(30)}${Math.floor(random() * 1e6)}`,
    'nothing in common': () => String.fromCharCode(random() * 256, random() * 256, random() * 256),
    'prefixes of each other': () => 'b\0'.repeat(random() * 40) + (random() < 0.5 ? '' : 'c'),
  }
  for (const [name, makeKey] of Object.entries(keys)) {
    for (let children = 1; children <= 9; children++) {
      const seen = new Set<string>()
      const inputs = Array.from({ length: children }, () => {
        const entries = randomEntries(1 + Math.floor(random() * 300), makeKey)
        return entries.filter(({ key }) => {
          const text = key.toString('latin1')
          return !seen.has(text) && seen.add(text) !== undefined
        })
      }).filter((entries) => entries.length > 0)
      const expected = sorted(inputs.flat()).map(({ key, value }) => {
        return key.toString('latin1') + value.toString('latin1')
      })
      const pool = new BlockMemoryPool()
      const merge = mergeOf(tablesOf(inputs), pool)
      t.strictSame(drain(merge, undefined, pool), expected, `${name}, ${children} inputs`)
      const middle = Buffer.from(expected[expected.length >> 1], 'latin1')
      const end = middle.lastIndexOf('=')
      const rest = expected.slice(expected.length >> 1)
      t.strictSame(drain(merge, middle.subarray(0, end), pool), rest, 'from the middle')
      t.strictSame(drain(merge, Buffer.alloc(60, 0xff)), [], 'from behind the end')
    }
  }
})

void t.test('of equal keys the one of the earlier input comes first', async (t) => {
  const inputs = ['x', 'y', 'z'].map((value) =>
    ['k1', 'k2', 'k3'].map((key) => ({ key: Buffer.from(key), value: Buffer.from(value) })),
  )
  const expected = ['k1x', 'k1y', 'k1z', 'k2x', 'k2y', 'k2z', 'k3x', 'k3y', 'k3z']
  t.strictSame(drain(mergeOf(tablesOf(inputs))), expected)
})

void t.test('inputs that do not overlap follow each other', async (t) => {
  const inputs = [3, 1, 2].map((part) =>
    randomEntries(200, (index) => `${part}/${String(index).padStart(5, '0')}`),
  )
  const found = drain(mergeOf(tablesOf(inputs)))
  t.equal(found.length, 600)
  t.strictSame(found, [...found].sort())
})
