import t from 'tap'
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
