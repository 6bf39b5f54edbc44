import t from 'tap'
import { CacheSizer } from '../../../../src/storage/sstable/blocks/cache-sizer.js'
import { writeBlocks } from '../../../helpers/cells/written-blocks.js'

const mebibyte = 1024 * 1024

void t.test('a cache gives way when memory becomes short, and grows again', async (t) => {
  let available = 1024 * mebibyte
  const sizer = new CacheSizer(() => available)
  t.teardown(() => sizer.stop())
  const { cache } = sizer
  t.equal(cache.bytesMax, 256 * mebibyte)
  t.equal(sizer.sizedForBytes, available)
  writeBlocks(cache, 200, mebibyte - 8)
  available -= 200 * mebibyte
  sizer.look()
  t.equal(cache.bytesMax, 256 * mebibyte, 'what the cache takes itself makes it no smaller')
  available = 100 * mebibyte
  sizer.look()
  t.equal(cache.bytesMax, 75 * mebibyte)
  t.ok(cache.bytesUsed <= 75 * mebibyte)
  available = 0
  sizer.look()
  t.equal(cache.bytesMax, 32 * mebibyte)
  available = 2048 * mebibyte
  sizer.look()
  t.ok(cache.bytesMax >= 512 * mebibyte)
  t.ok(sizer.sizedForBytes >= available)
})

/** Lets a cache make memory for a job that returns it unused; weak references to it. */
function makeSegments(sizer: CacheSizer, bytes: number): WeakRef<SharedArrayBuffer>[] {
  const memory = sizer.cache.borrowSegments(bytes)
  sizer.cache.segments.end(memory, false)
  return memory.map((segment) => new WeakRef(segment))
}

void t.test('memory that a cache gives up is collected at once', async (t) => {
  let available = 1024 * mebibyte
  const sizer = new CacheSizer(() => available)
  t.teardown(() => sizer.stop())
  const memory = makeSegments(sizer, 200 * mebibyte)
  t.equal(memory.length, 200)
  // A weak reference holds its memory until the turn ends in which it was made or asked.
  await new Promise(setImmediate)
  available = 0
  sizer.look()
  const inUse = memory.filter((segment) => segment.deref() !== undefined).length
  t.ok(inUse * mebibyte <= sizer.cache.bytesMax, `${inUse} segments of 1 MiB`)
})
