import t from 'tap'
import { CacheSizer } from '../../../../src/storage/sstable/blocks/cache-sizer.js'
import type { Block, BlockOwner } from '../../../../src/storage/sstable/blocks/block.js'

const mebibyte = 1024 * 1024

function block(owner: BlockOwner, index: number): Block {
  const links = { queue: 0, newer: undefined, older: undefined, holders: 0, pins: 0, address: -1 }
  const buffer = Buffer.alloc(mebibyte)
  return { owner, index, buffer, count: 0, frequency: 0, ...links } as unknown as Block
}

void t.test('a cache gives way when memory becomes short, and grows again', async (t) => {
  let available = 1024 * mebibyte
  const sizer = new CacheSizer(() => available)
  t.teardown(() => sizer.stop())
  const { cache } = sizer
  t.equal(cache.bytesMax, 256 * mebibyte)
  t.equal(sizer.sizedForBytes, available)
  const owner = { inMemory: false, blocks: [], ghosts: new Uint32Array(200) } as never
  for (let i = 0; i < 200; i++) cache.admit(block(owner, i))
  available -= 200 * mebibyte
  sizer.look()
  t.equal(cache.bytesMax, 256 * mebibyte, 'what the cache takes itself makes it no smaller')
  available = 100 * mebibyte
  sizer.look()
  t.equal(cache.bytesMax, 75 * mebibyte)
  t.ok(cache.bytesUsed > 70 * mebibyte && cache.bytesUsed <= 75 * mebibyte)
  available = 0
  sizer.look()
  t.equal(cache.bytesMax, 32 * mebibyte)
  available = 2048 * mebibyte
  sizer.look()
  t.ok(cache.bytesMax >= 512 * mebibyte)
  t.ok(sizer.sizedForBytes >= available)
})
