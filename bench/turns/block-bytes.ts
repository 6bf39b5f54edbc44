/**
 * Bytes of a row of `db-bench` in compressed blocks, and of the same rows in forms that could be
 * shorter: without sequences, without timestamps, in larger blocks, by another codec.
 *
 * `node build/bench/turns/block-bytes.js [--rows 200000]` prints bytes of a row, trailers of
 * blocks included, filter and index left out. Rows arrived in random order, 150 in a millisecond.
 */
import { parseArgs } from 'node:util'
import { CellType } from '../../src/storage/cell/cell-type.js'
import {
  keyBytesBound,
  writeEscaped,
  writeKeySuffix,
  writeTerminator,
} from '../../src/storage/cell/cell-key.js'
import { writeValueHeader } from '../../src/storage/cell/cell-value.js'
import { loadCodecs, type CodecName } from '../../src/storage/codec/codec.js'
import { BlockBuilder } from '../../src/storage/sstable/blocks/block-builder.js'
import { trailerBytes } from '../../src/storage/sstable/format.js'
import { seededRandom } from '../harness/draws/random.js'
import { compressiblePool, ValuePool } from '../harness/draws/values.js'

/** A way to store the rows. */
interface Form {
  readonly name: string
  readonly blockBytes?: number
  readonly codec?: CodecName
  readonly hasSequences?: boolean
  readonly hasTimestamps?: boolean
}

const forms: readonly Form[] = [
  { name: 'as they are: blocks of 8 KiB, LZ4' },
  { name: 'without sequences', hasSequences: false },
  { name: 'without timestamps', hasTimestamps: false },
  { name: 'without both', hasSequences: false, hasTimestamps: false },
  { name: 'blocks of 4 KiB', blockBytes: 4096 },
  { name: 'blocks of 16 KiB', blockBytes: 16_384 },
  { name: 'blocks of 32 KiB', blockBytes: 32_768 },
  { name: 'without sequences, blocks of 16 KiB', hasSequences: false, blockBytes: 16_384 },
  { name: 'gzip', codec: 'gz' },
]

const { values: given } = parseArgs({ options: { rows: { type: 'string', default: '200000' } } })
const rowCount = Number(given.rows)
const rowsOfMillisecond = 150
const valueBytes = 100
const column = Buffer.from('value')
const codecs = loadCodecs()

/** The order of arrival of each row. */
const arrivals = Array.from({ length: rowCount }, (_, index) => index)
const shuffle = seededRandom(7)
for (let at = rowCount - 1; at > 0; at--) {
  const other = shuffle.below(at + 1)
  const taken = arrivals[at]
  arrivals[at] = arrivals[other]
  arrivals[other] = taken
}

/** Bytes that a row takes in this form, with its part of the trailers of blocks. */
function bytesOfRow(form: Form): number {
  const { blockBytes = 8192, hasSequences = true, hasTimestamps = true } = form
  const codec = codecs.byName(form.codec ?? 'lz4')
  const random = seededRandom(8)
  const pool = new ValuePool(compressiblePool(), valueBytes)
  const builder = new BlockBuilder()
  const entry = Buffer.alloc(keyBytesBound(16, column.length) + valueBytes + 8)
  let bytes = 0
  const close = () => {
    const length = builder.finish()
    bytes += (codec.compress(builder.buffer, 0, length)?.length ?? length) + trailerBytes
    builder.reset()
  }
  for (let index = 0; index < rowCount; index++) {
    const arrival = arrivals[index]
    const row = Buffer.from(String(index).padStart(16, '0'))
    let at = writeTerminator(entry, writeEscaped(entry, 0, row))
    at = writeTerminator(entry, writeEscaped(entry, at, column))
    const time = 1_790_000_000_000 + (hasTimestamps ? Math.floor(arrival / rowsOfMillisecond) : 0)
    const high = Math.floor(time / 2 ** 32)
    const sequence = hasSequences ? 1000 + arrival : 0
    at = writeKeySuffix(entry, at, high, time >>> 0, CellType.put, sequence, row.length)
    const valueStart = writeValueHeader(entry, at, 0)
    const end = valueStart + pool.any(random).copy(entry, valueStart)
    if (builder.count > 0 && builder.sizeAfter(at, end - at, 0) > blockBytes) close()
    builder.add(entry, 0, at, at, end)
  }
  close()
  return bytes / rowCount
}

const [first, ...others] = forms.map((form) => ({ name: form.name, bytes: bytesOfRow(form) }))
console.log(`${first.bytes.toFixed(1).padStart(6)}        ${first.name}`)
for (const { name, bytes } of others) {
  const part = (bytes / first.bytes).toFixed(3)
  console.log(`${bytes.toFixed(1).padStart(6)} ${part} ${name}`)
}
