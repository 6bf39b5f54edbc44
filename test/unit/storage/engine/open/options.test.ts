import t from 'tap'
import { segmentBytesFor } from '../../../../../src/storage/engine/open/open-engine.js'
import { arenaBytesMax, entryOverheadBytesMax } from '../../../../../src/storage/memtable/arena.js'
import { recordFileBytesMax } from '../../../../../src/storage/record/file-header.js'
import { framePayloadBytesMax } from '../../../../../src/storage/record/frame.js'
import { mutationBytesMax } from '../../../../../src/storage/wal/log-options.js'
import { resolveOptions, type DatabaseSettings } from '../../../../../src/storage/engine/options.js'

const mebibyte = 1024 * 1024

const sizesOf = (given: Partial<DatabaseSettings>, memoryBytes: number): number[] => {
  const options = resolveOptions(given as DatabaseSettings, memoryBytes)
  return [options.memtableBytesMax, options.flushBytes, options.logBytesMax].map(
    (bytes) => bytes / mebibyte,
  )
}

void t.test('sizes of memtables and log follow the memory, or what is given', async (t) => {
  t.same(sizesOf({}, 0), [32, 8, 256])
  t.same(sizesOf({}, 4096 * mebibyte), [256, 64, 512])
  t.same(sizesOf({}, 65_536 * mebibyte), [512, 128, 1024])
  t.same(sizesOf({ memtableBytesMax: 64 * mebibyte }, 65_536 * mebibyte), [64, 16, 256])
  t.same(sizesOf({ flushBytes: 48 * mebibyte }, 1024 * mebibyte), [64, 32, 256], 'half at the most')
  t.same(sizesOf({ logBytesMax: mebibyte }, 0), [32, 8, 1])
})

void t.test('a large budget leads to no memtable and no segment of more than a file holds', (t) => {
  const gibibyte = 1024 * mebibyte
  const memtableBytesMax = 24 * gibibyte
  t.same(sizesOf({ memtableBytesMax }, 0), [24 * 1024, 2048, 48 * 1024])
  t.same(sizesOf({ memtableBytesMax, flushBytes: 5 * gibibyte }, 0), [24 * 1024, 2048, 48 * 1024])
  const mutationBytes = mutationBytesMax + entryOverheadBytesMax
  t.ok(2 * gibibyte + mutationBytes < arenaBytesMax, 'a full memtable has room for a mutation')
  for (const logBytesMax of [48 * gibibyte, Number.MAX_SAFE_INTEGER]) {
    const segmentBytes = segmentBytesFor(logBytesMax)
    t.ok(segmentBytes + framePayloadBytesMax < recordFileBytesMax, 'a segment can take a mutation')
  }
  t.equal(segmentBytesFor(64 * 1024), 64 * 1024)
  t.equal(segmentBytesFor(gibibyte), 128 * mebibyte)
  t.end()
})
