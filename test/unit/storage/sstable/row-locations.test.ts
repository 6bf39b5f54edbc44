import t from 'tap'
import { Hash64 } from '../../../../src/base/hash.js'
import { RowLocations } from '../../../../src/storage/sstable/rows/row-locations.js'

function hashOf(low: number, high: number): Hash64 {
  return Object.assign(new Hash64(), { low, high })
}

function found(rows: RowLocations, hash: Hash64, set: number): number[] | undefined {
  return rows.find(hash, set) ? [rows.table, rows.block, rows.slot] : undefined
}

void t.test('a location comes back as it was noted, for its set of tables only', async (t) => {
  const rows = new RowLocations(4096)
  t.equal(found(rows, hashOf(1, 2), 7), undefined)
  t.equal(rows.bytes, 0, 'nothing is allocated before the first note')
  rows.note(hashOf(1, 2), 7, 254, 0xff_ffff, 0x1_ffff)
  t.same(found(rows, hashOf(1, 2), 7), [254, 0xff_ffff, 0x1_ffff])
  t.equal(found(rows, hashOf(1, 2), 8), undefined, 'other tables')
  t.equal(found(rows, hashOf(1, 3), 7), undefined, 'another row')
  rows.note(hashOf(-5, -6), -7, 0, 0, 0)
  t.same(found(rows, hashOf(-5, -6), -7), [0, 0, 0])
  t.equal(rows.bytes, 4096)
})

void t.test('two rows share a place, a third takes that of the older', async (t) => {
  const rows = new RowLocations(1024)
  for (let i = 1; i <= 3; i++) rows.note(hashOf(0, i), 1, 0, i, 0)
  t.equal(found(rows, hashOf(0, 1), 1), undefined)
  t.same(found(rows, hashOf(0, 2), 1), [0, 2, 0])
  t.same(found(rows, hashOf(0, 3), 1), [0, 3, 0])
})

void t.test('what is too large for the form is not remembered', async (t) => {
  const rows = new RowLocations(1024)
  const hash = hashOf(1, 1)
  rows.note(hash, 1, 255, 0, 0)
  rows.note(hash, 1, 0, 0x100_0000, 0)
  t.equal(found(rows, hash, 1), undefined)
})

void t.test('the bound holds, and without memory nothing is remembered', async (t) => {
  const rows = new RowLocations(5000)
  for (let i = 0; i < 1000; i++) rows.note(hashOf(i * 7919, i), 1, 0, i, 0)
  t.equal(rows.bytes, 4096)
  rows.resize(2048)
  t.equal(rows.bytes, 0)
  rows.note(hashOf(1, 1), 1, 0, 0, 0)
  t.equal(rows.bytes, 2048)
  const none = new RowLocations(1023)
  none.note(hashOf(1, 1), 1, 0, 0, 0)
  t.equal(found(none, hashOf(1, 1), 1), undefined)
})

void t.test('a table that loses many locations grows, and keeps those that are used', async (t) => {
  const rows = new RowLocations(1 << 20)
  const hashes = Array.from({ length: 20_000 }, (_, i) => hashOf(Math.imul(i, 0x9e3779b1) >>> 7, i))
  rows.note(hashes[0], 1, 0, 0, 0)
  t.equal(rows.bytes, 4096 * 32)
  let found = 0
  for (let round = 0; round < 6; round++) {
    found = 0
    for (const [i, hash] of hashes.entries()) {
      if (!rows.find(hash, 1)) rows.note(hash, 1, 0, i, 7)
      else if (rows.block === i) found++
    }
  }
  t.ok(found > 15_000, `${found} of 20,000 are found`)
  t.equal(
    rows.bytes,
    (1 << 20) + (1 << 19),
    'the table has grown twice, the last time to its bound',
  )
  rows.resize(1 << 21)
  t.ok(rows.find(hashes[19_999], 1), 'a higher bound drops nothing')
  rows.resize(1 << 15)
  t.equal(rows.bytes, 0)
})
