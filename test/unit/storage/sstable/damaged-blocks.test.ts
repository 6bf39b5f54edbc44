/**
 * Damaged data blocks: with a wrong checksum none is read, and with a right one nothing is shown
 * from outside of the block, whatever its lengths, slots, marks and counts say.
 *
 * CELLAR_SEED repeats a run; CELLAR_DAMAGED_BLOCKS is the number of blocks.
 *
 * @runs long
 */
import t from 'tap'
import { seededRandom, type Random } from '../../../../bench/harness/draws/random.js'
import { CellarError } from '../../../../src/base/errors.js'
import { rowEndOf, terminatorBytes } from '../../../../src/storage/cell/cell-key.js'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import type { CodecName } from '../../../../src/storage/codec/codec.js'
import type { File, OpenMode } from '../../../../src/storage/fs/types.js'
import { BlockCache } from '../../../../src/storage/sstable/blocks/block-cache.js'
import type { SsTableCursor } from '../../../../src/storage/sstable/cursor.js'
import { trailerBytes } from '../../../../src/storage/sstable/format.js'
import type { SsTableReader } from '../../../../src/storage/sstable/reader.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { cellTableBytes, type Cells } from '../../../helpers/cells/cell-table.js'
import { lengthOf } from '../../../helpers/length.js'
import { open, resealSection } from './helpers.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20_261_129)
const rounds = lengthOf('CELLAR_DAMAGED_BLOCKS', 20_000, 10_000_000)

t.before(() => loadChecksums())

type Change = (block: Buffer, offset: number) => void

/** A disk of one table, whose reads may be damaged. */
class DamagedDisk extends SimulatedDisk {
  damage: Change | undefined

  constructor(bytes: Buffer) {
    super()
    const file = this.openSync('table', 'create')
    file.writeSync(bytes, 0, bytes.length, 0)
    file.closeSync()
  }

  override openSync(path: string, mode: OpenMode): File {
    const file = super.openSync(path, mode)
    const readSync = file.readSync.bind(file)
    return Object.assign(file, {
      readSync: (target: Buffer, start: number, length: number, offset: number): number => {
        const found = readSync(target, start, length, offset)
        this.damage?.(target.subarray(start, start + length), offset)
        return found
      },
    })
  }
}

/** Rows of all kinds: plain ones, and such with versions, a TTL, a delete marker. */
function randomTable(random: Random): Cells {
  const cells: Cells = []
  for (let row = 0; row < 40; row++) {
    const isPlain = random.below(3) > 0
    for (let column = random.below(9); column >= 0; column--) {
      const value = String(random.next()).repeat(random.below(7))
      const cell = { row: `r${row}`, qualifier: `q${column}`, value, type: 'Put' } as const
      cells.push(cell)
      if (isPlain) continue
      if (random.below(3) === 0) cells.push({ ...cell, timestamp: 5n })
      if (random.below(3) === 0) cells.push({ ...cell, ttl: 500, timestamp: 4n })
      if (random.below(3) === 0) cells.push({ ...cell, type: 'Delete', value: '', timestamp: 3n })
    }
  }
  return cells
}

/** One way to damage a block. */
function damage(random: Random, block: Buffer, end: number): void {
  const at = random.below(end)
  const length = 1 + random.below(Math.min(40, end - at))
  switch (random.below(6)) {
    case 0:
      block[at] ^= 1 << random.below(8)
      break
    case 1:
      for (let i = 0; i < 3; i++) block[random.below(end)] = random.below(256)
      break
    case 2:
      block.fill(random.below(2) * 0xff, at, at + length)
      break
    case 3:
      block.fill(0, at, end)
      break
    case 4:
      block.copyWithin(at, random.below(end - length + 1), at + length)
      break
    default:
      // Lengths, slots and the number of entries are most often near the end.
      block[end - 1 - random.below(Math.min(end, 60))] = random.below(256)
  }
}

function openTable(random: Random, codec: CodecName): [DamagedDisk, SsTableReader, Buffer[]] {
  const disk = new DamagedDisk(cellTableBytes(randomTable(random), 1000, codec))
  const reader = open(disk, { cache: new BlockCache(0) })
  const keys: Buffer[] = []
  const cursor = reader.cursor()
  for (cursor.seek(Buffer.alloc(0), 0); cursor.valid; cursor.next()) {
    keys.push(Buffer.from(cursor.buffer.subarray(cursor.keyStart, cursor.keyEnd)))
  }
  return [disk, reader, keys]
}

/** The code of the error that a call throws, or its stack; undefined: it throws none. */
function codeOf(call: () => void): string | undefined {
  try {
    call()
    return undefined
  } catch (error) {
    if (error instanceof CellarError) return error.code
    return error instanceof Error ? error.stack : 'no error'
  }
}

for (const codec of ['none', 'lz4'] as const) {
  void t.test(`no damaged block is read, ${codec}, seed ${seed}`, (t) => {
    const random = seededRandom(seed)
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    t.teardown(() => (Error.stackTraceLimit = stackTraceLimit))
    let refused = 0
    for (let round = 0; round < rounds / 2;) {
      const [disk, reader, keys] = openTable(random, codec)
      let isChanged = false
      disk.damage = (block) => {
        const before = Buffer.from(block)
        damage(random, block, block.length)
        isChanged = !block.equals(before)
      }
      for (let i = 0; i < 500; i++, round++) {
        const key = keys[random.below(keys.length)]
        const cursor = reader.cursor()
        const code = codeOf(() => cursor.seek(key, key.length))
        if (code !== (isChanged ? 'ERR_CORRUPTION' : undefined)) t.fail(`round ${round}: ${code}`)
        if (cursor.valid === isChanged) t.fail(`round ${round}: valid ${cursor.valid}`)
        if (isChanged) refused++
      }
      reader.closeSync()
    }
    t.ok(refused > rounds / 3, `${refused} blocks`)
    t.end()
  })
}

/** Moves over what a block shows, in both directions and by rows. */
function walk(cursor: SsTableCursor, key: Buffer, isInside: () => void): void {
  cursor.seek(key, key.length)
  for (let steps = 0; cursor.valid && steps < 20; steps++) {
    isInside()
    const { keyStart } = cursor
    const row = rowEndOf(cursor.buffer, keyStart, cursor.keyEnd) + terminatorBytes - keyStart
    const end = cursor.plainRowEnd(Infinity, 0, row)
    if (end > 0) {
      isInside()
      if (end > cursor.buffer.length) throw new Error(`a row ends at ${end}`)
      cursor.passRow()
    }
    cursor.next()
  }
  cursor.seekBefore(key, key.length)
  for (let steps = 0; cursor.valid && steps < 20; steps++) {
    isInside()
    const { keyStart } = cursor
    const row = rowEndOf(cursor.buffer, keyStart, cursor.keyEnd) + terminatorBytes - keyStart
    if (cursor.plainRowBack(Infinity, 0, row) < 0) return
    isInside()
    cursor.previous()
  }
}

void t.test(`a wrong block with a right checksum shows nothing else, seed ${seed}`, (t) => {
  const random = seededRandom(seed)
  const outcomes = { refused: 0, shown: 0 }
  for (let round = 0; round < rounds / 10;) {
    const [disk, reader, keys] = openTable(random, 'none')
    const { offsets } = reader.index
    const damaged = random.below(reader.index.blockCount)
    let times = 0
    disk.damage = (block, offset) => {
      if (offset !== offsets[damaged]) return
      const draws = seededRandom(seed + round)
      for (let i = 0; i < 2; i++) damage(draws, block, block.length - trailerBytes)
      const whole = Buffer.alloc(offset + block.length)
      block.copy(whole, offset)
      resealSection(whole, offset, whole.length)
      whole.copy(block, 0, offset)
      times++
    }
    for (let i = 0; i < 50; i++, round++) {
      const key = keys[random.below(keys.length)]
      const cursor = reader.cursor()
      const before = times
      const code = codeOf(() => {
        walk(cursor, key, () => {
          const { buffer, keyStart, keyEnd, valueStart, valueEnd } = cursor
          const isOrdered = 0 <= keyStart && keyStart <= keyEnd && valueStart <= valueEnd
          if (!isOrdered || keyEnd > buffer.length || valueEnd > buffer.length) {
            throw new Error(`shown from ${keyStart} to ${valueEnd} of ${buffer.length}`)
          }
        })
      })
      if (code !== undefined && code !== 'ERR_CORRUPTION') {
        t.fail(`round ${round}: ${code}`)
      }
      if (code !== undefined && cursor.valid) t.fail(`round ${round}: an error left it valid`)
      if (times > before) outcomes[code === undefined ? 'shown' : 'refused']++
    }
    reader.closeSync()
  }
  const { refused, shown } = outcomes
  t.ok(refused > rounds / 200 && shown > rounds / 200, `${refused} refused, ${shown} shown`)
  t.end()
})
