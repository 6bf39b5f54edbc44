import t from 'tap'
import { BufferPool, pooledLength } from '../../../../src/storage/sstable/blocks/buffer-pool.js'

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
  const pool = new BufferPool(10_000, 0)
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
  const pool = new BufferPool(10_000, 0)
  pool.give(Buffer.alloc(16_384))
  pool.give(Buffer.alloc(4000))
  t.equal(pool.bytes, 0)
  const none = new BufferPool(0, 0)
  none.give(none.take(1000))
  t.equal(none.bytes, 0)
  pool.give(pool.take(100))
  pool.resize(5000, 0)
  t.equal(pool.bytes, 0)
})

void t.test('a growing cache gets buffers of slabs, no more than it may hold', async (t) => {
  const cacheBytes = 64 * 64 * 1024
  const pool = new BufferPool(10_000, cacheBytes)
  const buffers = Array.from({ length: 1000 }, () => pool.take(8192))
  const slabs = new Set(buffers.map(({ buffer }) => buffer).filter(isShared))
  t.equal(slabs.size, 64)
  t.ok([...slabs].every(({ byteLength }) => byteLength === 64 * 1024))
  buffers.forEach((buffer, at) => buffer.fill(at))
  t.ok(
    buffers.every((buffer, at) => buffer.every((byte) => byte === at % 256)),
    'no two of them overlap',
  )
  t.equal(buffers.filter(({ buffer }) => isShared(buffer)).length, 512)
  t.notOk(isShared(pool.take(8193).buffer), 'nor is a long one cut out of a slab')
  pool.give(buffers[0])
  t.equal(pool.take(8192), buffers[0], 'a buffer of a slab is used again')
  pool.resize(10_000, 2 * cacheBytes)
  t.ok(isShared(pool.take(8192).buffer), 'a larger cache gets more slabs')
})

const isShared = (memory: ArrayBufferLike): boolean => memory instanceof SharedArrayBuffer
