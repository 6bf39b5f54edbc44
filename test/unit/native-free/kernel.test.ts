import t from 'tap'
import { lz4Compress, lz4CompressBound } from '../../../native-free/lz4.js'
import { lz4Decompress, Lz4Error } from '../../../native-free/lz4-decompress.js'
import {
  kernelBytesMax,
  kernelChecksumMatches,
  kernelCompress,
  kernelDecompress,
  kernelInput,
  kernelInputBytesMax,
  kernelInputStart,
} from '../../../native-free/kernel.js'
import { blockContent, incompressible, runs, samples, seed, seededRandom } from './lz4-samples.js'

function compress(bytes: Buffer): Buffer {
  const target = Buffer.alloc(lz4CompressBound(bytes.length))
  return target.subarray(0, lz4Compress(bytes, 0, bytes.length, target, 0))
}

void t.test(`every sample becomes the same bytes as in TypeScript, seed ${seed}`, async (t) => {
  for (const { name, bytes } of samples()) {
    if (bytes.length > kernelBytesMax) continue
    const expected = compress(bytes)
    const target = Buffer.alloc(expected.length + 20, 0xcc)
    const source = Buffer.concat([Buffer.alloc(7, 1), bytes, Buffer.alloc(9, 2)])
    const end = kernelCompress(source, 7, 7 + bytes.length, target, 5)
    if (!target.subarray(5, end).equals(expected)) t.fail(`${name}: other bytes`)
    const rest = [...target.subarray(0, 5), ...target.subarray(end)]
    if (rest.some((byte) => byte !== 0xcc)) t.fail(`${name}: wrote outside`)
  }
})

void t.test('every sample is decompressed inside its range', async (t) => {
  for (const { name, bytes } of samples()) {
    if (bytes.length > kernelBytesMax) continue
    const block = Buffer.concat([Buffer.alloc(3, 1), compress(bytes), Buffer.alloc(4, 2)])
    const target = Buffer.alloc(bytes.length + 11, 0xcc)
    const fits = kernelDecompress(block, 3, block.length - 4, target, 6, 6 + bytes.length)
    if (!fits || !target.subarray(6, 6 + bytes.length).equals(bytes)) t.fail(name)
    const rest = [...target.subarray(0, 6), ...target.subarray(6 + bytes.length)]
    if (rest.some((byte) => byte !== 0xcc)) t.fail(`${name}: wrote outside`)
  }
})

void t.test('a result fits or not as in TypeScript, for every smaller target', async (t) => {
  const random = seededRandom(seed)
  const inputs = [blockContent(700, random), incompressible(300, random), runs(900, random)]
  for (const bytes of [...inputs, Buffer.alloc(9), Buffer.alloc(5000)]) {
    const needed = compress(bytes).length
    const target = Buffer.alloc(needed + 64)
    for (let room = 0; room <= needed + 9; room++) {
      const expected = lz4Compress(bytes, 0, bytes.length, target, 8, 8 + room)
      target.fill(0xcc)
      const end = kernelCompress(bytes, 0, bytes.length, target, 8, 8 + room)
      if (end !== expected) t.fail(`${end} instead of ${expected} with room for ${room}`)
      if (target.subarray(8 + room).some((byte) => byte !== 0xcc)) t.fail(`wrote behind ${room}`)
    }
  }
})

void t.test(`damaged blocks are taken or refused as in TypeScript, seed ${seed}`, async (t) => {
  const random = seededRandom(seed)
  let taken = 0
  for (let round = 0; round < 4000; round++) {
    const length = 1 + Math.floor(random() * 600)
    const bytes = [blockContent, incompressible, runs][round % 3](length, random)
    const block = Buffer.from(compress(bytes))
    for (let i = 0; i < 3; i++) block[Math.floor(random() * block.length)] = random() * 256
    const end = round % 5 === 0 ? Math.floor(random() * (block.length + 1)) : block.length
    const expected = Buffer.alloc(length)
    let isRefused = false
    try {
      lz4Decompress(block, 0, end, expected, 0, length)
    } catch (error) {
      if (!(error instanceof Lz4Error)) throw error
      isRefused = true
    }
    const target = Buffer.alloc(length)
    const isTaken = kernelDecompress(block, 0, end, target, 0, length)
    if (isTaken === isRefused) t.fail(`round ${round}: taken ${isTaken}`)
    if (isTaken && !target.equals(expected)) t.fail(`round ${round}: other bytes`)
    if (isTaken) taken++
  }
  t.ok(taken > 100 && taken < 3900, `${taken} of 4000 are valid by chance`)
})

void t.test('the largest block goes both ways, a larger one is not taken', async (t) => {
  const random = seededRandom(seed)
  const target = Buffer.alloc(lz4CompressBound(kernelBytesMax + 1))
  const back = Buffer.alloc(kernelBytesMax + 1)
  for (const make of [incompressible, blockContent, runs]) {
    const bytes = make(kernelBytesMax, random)
    const end = kernelCompress(bytes, 0, bytes.length, target, 0)
    t.ok(kernelDecompress(target, 0, end, back, 0, bytes.length))
    t.ok(back.subarray(0, bytes.length).equals(bytes))
  }
  const larger = Buffer.alloc(kernelBytesMax + 1)
  t.throws(() => kernelCompress(larger, 0, larger.length, target, 0), /too long for the kernel/)
  const end = lz4Compress(larger, 0, larger.length, target, 0)
  t.notOk(kernelDecompress(target, 0, end, back, 0, larger.length))
})

void t.test(
  'the output does not depend on earlier calls, across the wrap of the epoch',
  async (t) => {
    // Each call advances the epoch by its length + 64 KiB: 2^31 passes within this loop.
    const large = Buffer.alloc(kernelBytesMax)
    const target = Buffer.alloc(lz4CompressBound(kernelBytesMax))
    const small = blockContent(3000, seededRandom(seed))
    const expected = compress(small)
    for (let i = 0; i < 6700; i++) {
      kernelCompress(large, 0, large.length, target, 0)
      const end = kernelCompress(small, 0, small.length, target, 0)
      if (!target.subarray(0, end).equals(expected)) t.fail(`call ${i}`)
    }
  },
)

void t.test('a checksum is that of xxHash, wherever the bytes lie', async (t) => {
  const { default: start } = await import('xxhash-wasm')
  const reference = await start()
  const random = seededRandom(seed)
  const input = kernelInput()
  const lengths = Array.from({ length: 140 }, (_, length) => length)
  for (const length of [...lengths, 4096, 7001, kernelInputBytesMax - 8]) {
    const bytes = Buffer.concat([incompressible(3 + length, random), Buffer.alloc(8)])
    const [low, high] = [(random() * 2 ** 32) | 0, (random() * 2 ** 32) | 0]
    const seedOf = (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0)
    const checksum = reference.h64Raw(bytes.subarray(3, 3 + length), seedOf)
    bytes.writeBigUInt64LE(checksum, 3 + length)
    if (!kernelChecksumMatches(bytes, 3, bytes.length, low, high)) t.fail(`${length} bytes`)
    const inputEnd = kernelInputStart + bytes.copy(input, kernelInputStart, 3)
    const isMatch = kernelChecksumMatches(input, kernelInputStart, inputEnd, low, high)
    if (!isMatch) t.fail(`${length} bytes in place`)
    if (kernelChecksumMatches(bytes, 3, bytes.length, low ^ 1, high)) t.fail('another seed')
    if (kernelChecksumMatches(bytes, 3, bytes.length, low, high ^ 1)) t.fail('another seed')
    const damaged = Math.floor(3 + random() * (length + 8))
    bytes[damaged] ^= 1 << Math.floor(random() * 8)
    if (kernelChecksumMatches(bytes, 3, bytes.length, low, high)) t.fail(`damage at ${damaged}`)
  }
})

void t.test('a block in the input area is decompressed where it lies', async (t) => {
  const input = kernelInput()
  for (const { name, bytes } of samples()) {
    const block = compress(bytes)
    if (bytes.length > kernelBytesMax || block.length + 5 > kernelInputBytesMax) continue
    const start = kernelInputStart + 5
    const end = start + block.copy(input, start)
    const target = Buffer.alloc(bytes.length)
    const fits = kernelDecompress(input, start, end, target, 0, bytes.length)
    if (!fits || !target.equals(bytes)) t.fail(name)
    if (!input.subarray(start, end).equals(block)) t.fail(`${name}: changed`)
  }
  const target = Buffer.alloc(100)
  const outside = () =>
    kernelDecompress(input, kernelInputStart - 4, kernelInputStart, target, 0, 0)
  input.writeUInt32LE(0, kernelInputStart - 4)
  t.throws(outside, /outside of the input area/)
})
