/** The filter of a memtable's rows: every row that has an entry passes, whatever was replaced. */
import t from 'tap'
import { Hash64, hashRange } from '../../../../src/base/hash.js'
import {
  keyBytesBound,
  keySuffixBytes,
  writeEscaped,
  writeKeySuffix,
  writeTerminator,
} from '../../../../src/storage/cell/cell-key.js'
import { CellType } from '../../../../src/storage/cell/cell-type.js'
import { Memtable } from '../../../../src/storage/memtable/memtable.js'
import type { OverwriteRule } from '../../../../src/storage/memtable/overwrite-rule.js'
import { seededRandom } from '../../../../bench/harness/draws/random.js'

const seed = Number(process.env.CELLAR_SEED ?? 20261128)
const random = seededRandom(seed)
t.comment(`CELLAR_SEED=${seed}`)

/** All versions of a column replace the next older one, and reuse its memory. */
const newest: OverwriteRule = {
  versionBytes: keySuffixBytes,
  reusesMemory: true,
  replaces: () => true,
}

let sequence = 0

function put(memtable: Memtable, row: Buffer, column: number, bytes: number): void {
  const buffer = Buffer.alloc(keyBytesBound(row.length, 1) + bytes)
  const rowBytes = writeEscaped(buffer, 0, row)
  const qualifierEnd = writeEscaped(
    buffer,
    writeTerminator(buffer, rowBytes),
    Buffer.from([column]),
  )
  const at = writeTerminator(buffer, qualifierEnd)
  const keyEnd = writeKeySuffix(buffer, at, 0, ++sequence, CellType.put, sequence, rowBytes)
  memtable.insert(buffer, 0, keyEnd, keyEnd, keyEnd + bytes, newest)
}

const hash = new Hash64()

function mayHave(memtable: Memtable, row: Buffer): boolean {
  const key = Buffer.alloc(2 * row.length + 2)
  hashRange(key, 0, writeTerminator(key, writeEscaped(key, 0, row)), hash)
  return memtable.mayHaveRow(hash)
}

/** Asks until all entries are in the filter: then an absent row need not pass. */
function fillFilter(memtable: Memtable): void {
  for (let i = 0; i < memtable.bytesUsed; i++) {
    if (!mayHave(memtable, Buffer.from(`no such row ${i}`))) return
  }
  throw new Error('every row passes')
}

/** Rows with zero bytes, prefixes of each other, and the empty rest of a name. */
function rowOf(index: number): Buffer {
  return Buffer.from([index >>> 8, index & 0xff, ...Array<number>(index % 7).fill(index % 3)])
}

void t.test('a row with an entry passes, at every moment', async (t) => {
  for (const rowCount of [3, 60, 3000]) {
    const memtable = new Memtable({ arenaBytesLarge: 2 * 1024 * 1024 })
    const written: Buffer[] = []
    let missed = 0
    for (let i = 0; i < 12_000; i++) {
      const row = rowOf(random.below(rowCount))
      // Values of several sizes: replaced entries leave memory to entries of other rows.
      put(memtable, row, random.below(3), random.below(40))
      written.push(row)
      // Questions come in bursts, so that replaced entries are before and after the filter's end.
      if (i % 512 >= 200) continue
      if (!mayHave(memtable, row)) missed++
      if (!mayHave(memtable, written[random.below(written.length)])) missed++
    }
    t.equal(missed, 0, `none of ${rowCount} rows is left out while entries are replaced`)
    fillFilter(memtable)
    t.ok(
      written.every((row) => mayHave(memtable, row)),
      'nor afterwards',
    )
  }
})

void t.test('an absent row does not pass once the filter has read the entries', async (t) => {
  const memtable = new Memtable()
  const rowCount = 5000
  for (let i = 0; i < rowCount; i++) put(memtable, rowOf(i), 1, 100)
  memtable.freeze()
  fillFilter(memtable)
  let passed = 0
  for (let i = 0; i < 1000; i++) if (mayHave(memtable, rowOf(rowCount + i))) passed++
  t.ok(passed < 100, `${passed} of 1000 rows pass by mistake`)
})
