/**
 * Rows of many columns in one block: the row entry of each column entry is found, a search finds
 * the entries that a plain list has, and neither walks through the row again for each entry.
 *
 * CELLAR_SEED repeats a run.
 */
import t from 'tap'
import { seededRandom, type Random } from '../../../../bench/harness/draws/random.js'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import { isRowEntry, rowSlotOf, type Block } from '../../../../src/storage/sstable/blocks/block.js'
import { findEntry, lowerBound } from '../../../../src/storage/sstable/blocks/block-search.js'
import { EntryReader } from '../../../../src/storage/sstable/rows/entry-reader.js'
import { cellTable, type Cells } from '../../../helpers/cells/cell-table.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20_261_201)

t.before(() => loadChecksums())

/** One block of rows, some of them narrow, with columns that begin with others. */
function randomBlock(random: Random, longest: number): Block {
  const cells: Cells = []
  for (let row = 0; row < 12; row++) {
    const columns = 1 + random.below(random.below(2) === 0 ? 4 : longest)
    for (let i = 0; i < columns; i++) {
      const qualifier = `${String(i >> 2)}${['', '\0', '\0a', 'c'.repeat(70)][i & 3]}`
      const timestamp = BigInt(1 + random.below(3))
      const value = random.below(8) === 0 ? 'v'.repeat(200) : 'v'
      cells.push({ row: `row${String(row)}`, qualifier, timestamp, value, type: 'Put' })
    }
  }
  return cellTable(cells, 1024 * 1024).readBlockSync(0)
}

function slotsInAnyOrder(random: Random, count: number): number[] {
  return Array.from({ length: 2 * count }, () => random.below(count))
}

function keysOf(block: Block): Buffer[] {
  const reader = new EntryReader()
  return Array.from({ length: block.count }, (_, slot) => {
    reader.read(block, slot)
    return Buffer.from(reader.buffer.subarray(reader.keyStart, reader.keyEnd))
  })
}

void t.test(`the row entry of every entry is found, in any order, seed ${seed}`, (t) => {
  const random = seededRandom(seed)
  for (let round = 0; round < 30; round++) {
    const block = randomBlock(random, 200)
    for (const slot of slotsInAnyOrder(random, block.count)) {
      let first = slot
      while (!isRowEntry(block, first)) first--
      if (rowSlotOf(block, slot) !== first) t.fail(`round ${round}, slot ${slot}`)
    }
  }
  t.end()
})

void t.test(`a search finds what a plain list has, seed ${seed}`, (t) => {
  const random = seededRandom(seed)
  for (let round = 0; round < 10; round++) {
    const block = randomBlock(random, 100)
    const keys = keysOf(block)
    if (round % 2 === 1) block.frequency = 3
    for (const slot of slotsInAnyOrder(random, block.count)) {
      const key = keys[slot]
      const wanted = Buffer.from(key.subarray(0, random.below(key.length + 1)))
      if (wanted.length > 0 && random.below(3) === 0) wanted[wanted.length - 1] = random.below(256)
      const found = keys.findIndex((each) => Buffer.compare(each, wanted) >= 0)
      const expected = found < 0 ? block.count : found
      const from = random.below(expected + 1)
      const results = [
        lowerBound(block, wanted, wanted.length, from),
        findEntry(block, wanted, wanted.length),
      ]
      if (results.some((each) => each !== expected))
        t.fail(`round ${round}, slot ${slot}: ${results.join()}`)
    }
  }
  t.end()
})

void t.test('the way to the row entry is walked once', (t) => {
  const cells: Cells = Array.from({ length: 5000 }, (_, i) => {
    return { row: 'r', qualifier: `q${String(i).padStart(4, '0')}`, value: 'v', type: 'Put' }
  })
  const block = cellTable(cells, 1024 * 1024).readBlockSync(0)
  t.equal(block.count, 5000)
  let reads = 0
  block.buffer = new Proxy(block.buffer, {
    get(buffer, name) {
      reads++
      return Reflect.get(buffer, name) as unknown
    },
  })
  const random = seededRandom(1)
  for (const slot of slotsInAnyOrder(random, block.count)) rowSlotOf(block, slot)
  t.ok(reads <= 2 * block.count, `${reads} bytes were read`)
  t.end()
})
