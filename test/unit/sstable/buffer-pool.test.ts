import t from 'tap'
import { BufferPool, pooledLength } from '../../../src/sstable/buffer-pool.js'

void t.test('lengths of classes hold what is asked for and little more', async (t) => {
  for (let bytes = 1; bytes <= 3 * 1024 * 1024; bytes = Math.ceil(bytes * 1.01)) {
    const length = pooledLength(bytes)
    const slack = length - bytes
    if (slack < 0 || slack >= Math.max(256, bytes / 8)) t.fail(`${bytes}: ${length}`)
    if (pooledLength(length) !== length) t.fail(`${length} is no class of its own`)
  }
  t.equal(pooledLength(4096), 4096)
  t.equal(pooledLength(4097), 4608)
})

void t.test('a buffer that was given back is used again, up to the bound', async (t) => {
  const pool = new BufferPool(10_000)
  const first = pool.take(4000)
  const second = pool.take(4096)
  t.equal(first.length, 4096)
  pool.give(first)
  t.equal(pool.bytes, 4096)
  t.equal(pool.take(3900), first)
  t.equal(pool.bytes, 0)
  t.not(pool.take(4000), first)
  pool.give(first)
  pool.give(second)
  t.equal(pool.bytes, 8192)
  pool.give(Buffer.allocUnsafeSlow(4096))
  t.equal(pool.bytes, 8192, 'there is no room for a third')
  pool.give(Buffer.allocUnsafeSlow(8192))
  t.equal(pool.bytes, 8192, 'those of other lengths have made room')
  t.not(pool.take(4000), first)
  t.equal(pool.take(8192).length, 8192)
})

void t.test('what is too long or of no class is not kept', async (t) => {
  const pool = new BufferPool(10_000)
  pool.give(Buffer.alloc(16_384))
  pool.give(Buffer.alloc(4000))
  t.equal(pool.bytes, 0)
  const none = new BufferPool(0)
  none.give(none.take(1000))
  t.equal(none.bytes, 0)
  pool.give(pool.take(100))
  pool.resize(5000)
  t.equal(pool.bytes, 0)
})
