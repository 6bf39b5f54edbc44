/** Memory of decoded blocks is used again, whatever the sizes of the blocks are. */
import t from 'tap'
import { seededRandom } from '../../../../src/base/random.js'
import {
  BlockMemoryPool,
  wordSlackBytes,
  type BlockMemory,
} from '../../../../src/storage/sstable/blocks/block-memory.js'

const mebibyte = 1024 * 1024

void t.test('blocks of mixed sizes share memory', async (t) => {
  const random = seededRandom(11)
  const pool = new BlockMemoryPool()
  const seen = new Set<BlockMemory>()
  let allocated = 0
  let needed = 0
  // Four streams that hold a block each, as in a merge.
  const held: (BlockMemory | undefined)[] = [undefined, undefined, undefined, undefined]
  for (let i = 0; i < 4000; i++) {
    const bytes = Math.floor(10 * 100_000 ** random())
    const memory = pool.take(bytes)
    t.ok(memory.buffer.length >= bytes + wordSlackBytes, 'there is slack behind the block')
    t.notOk(held.includes(memory), 'memory that is held is not handed out')
    if (!seen.has(memory)) allocated += memory.buffer.length
    seen.add(memory)
    needed += bytes
    const stream = i % held.length
    if (held[stream] !== undefined) pool.retire(held[stream])
    held[stream] = memory
    if (i % 3 === 0) pool.recycle()
  }
  t.ok(needed > 250 * mebibyte, `${needed} bytes were read`)
  t.ok(allocated < 32 * mebibyte, `${allocated} bytes were allocated`)
})

void t.test('stored blocks of all streams lie in the same memory', async (t) => {
  const pool = new BlockMemoryPool()
  const first = pool.sharedStored(300_000)
  t.equal(pool.sharedStored(200_000), first)
  t.ok(pool.sharedStored(mebibyte).length >= mebibyte)
})
