import t from 'tap'
import { Hash64 } from '../../../../src/base/hash.js'
import { BlockAddresses } from '../../../../src/storage/sstable/blocks/block-addresses.js'
import { copySequence, RowCopies } from '../../../../src/storage/sstable/rows/row-copies.js'
import { RowLocations } from '../../../../src/storage/sstable/rows/row-locations.js'

/** Keeps a copy of `bytes` bytes with one value. */
function keep(copies: RowCopies, addresses: BlockAddresses, bytes: number, value: number) {
  if (!copies.reserve(bytes, value)) return undefined
  const { address, memory, start } = copies
  memory.fill(value, start, start + bytes)
  return { address, generation: addresses.generationOf(address), start, bytes, value }
}

void t.test('a copy stays until its segment is used again, and never shows another', async (t) => {
  const addresses = new BlockAddresses()
  const copies = new RowCopies(addresses, 4096)
  t.equal(copies.bytes, 0, 'nothing is allocated before the first copy')
  const kept = []
  const wrong: string[] = []
  let found = 0
  for (let i = 0; i < 1000; i++) {
    kept.push(keep(copies, addresses, 1 + (i % 50), i % 251)!)
    for (const { address, generation, start, bytes, value } of kept.slice(-60)) {
      const memory = addresses.find(address, generation)
      if (memory === undefined) continue
      found++
      const isRight =
        copySequence(memory, start) === value &&
        memory.subarray(start, start + bytes).every((byte) => byte === value)
      if (!isRight) wrong.push(`a copy after ${i} others`)
    }
    if (addresses.find(kept[i].address, kept[i].generation) === undefined) {
      wrong.push(`the newest one, ${i}, is not there`)
    }
  }
  t.same(wrong, [])
  t.ok(found > 20_000, `${found} copies are found`)
  t.equal(copies.bytes, 4096)
  const { address, generation } = kept[0]
  t.equal(addresses.find(address, generation), undefined, 'the first one has gone')
})

void t.test('the bound holds, and rows that are too long are not copied', async (t) => {
  const addresses = new BlockAddresses()
  const copies = new RowCopies(addresses, 4096)
  t.equal(keep(copies, addresses, 57, 1), undefined)
  const first = keep(copies, addresses, 56, 1)!
  copies.resize(8192)
  t.equal(copies.bytes, 0, 'segments of another size')
  t.equal(addresses.find(first.address, first.generation), undefined)
  const second = keep(copies, addresses, 120, 2)!
  copies.resize(9000)
  t.ok(addresses.find(second.address, second.generation), 'a higher bound drops nothing')
  copies.resize(100)
  t.equal(copies.bytes, 0)
  t.equal(keep(copies, addresses, 1, 1), undefined, 'without memory nothing is copied')
})

void t.test('a copy is forgotten wherever its location lies', async (t) => {
  const rows = new RowLocations(1 << 20)
  const hashes = Array.from({ length: 20_000 }, (_, i) =>
    Object.assign(new Hash64(), { low: Math.imul(i, 0x9e3779b1) >>> 7, high: i }),
  )
  for (const [i, hash] of hashes.entries()) {
    if (i % 2 === 0) rows.note(hash, 1, 3, i, 7)
    rows.noteAddress(hash, 1, 5, 9, i, 40, true)
  }
  t.ok(rows.bytes > 4096 * 32, 'the table has grown, and the smaller one has older locations')
  const wrong: string[] = []
  let found = 0
  for (const [i, hash] of hashes.entries()) {
    if (!rows.find(hash, 1)) continue
    found++
    const { isCopy, address, generation, start } = rows
    if (!isCopy || address !== 5 || generation !== 9 || start !== i) wrong.push(`copy ${i}`)
    rows.forgetCopy(hash, 1)
    // Without the copy the place in the SSTable remains.
    if (rows.find(hash, 1) && (rows.isCopy || rows.generation !== 0)) wrong.push(`copy ${i} stays`)
    const hasPlace = rows.table === 3 && rows.block === i && rows.slot === 7
    // No SSTable has the index 255.
    if (i % 2 === 0 ? !hasPlace : rows.table !== 255) wrong.push(`the place of ${i}`)
    // Others take both places of the hash in the table; the smaller one may still have it.
    for (let more = 1; more <= 2; more++) {
      rows.note(Object.assign(new Hash64(), { low: hash.low, high: -more }), 1, 0, 0, 0)
    }
    if (rows.find(hash, 1) && rows.isCopy) wrong.push(`copy ${i} comes back`)
  }
  t.same(wrong, [])
  t.ok(found > 5000, `${found} are found`)
})
