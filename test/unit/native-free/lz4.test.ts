/** @runs long */
import { createRequire } from 'node:module'
import fc from 'fast-check'
import t from 'tap'
import { lz4Compress, lz4CompressBound } from '../../../native-free/lz4.js'
import { lz4Decompress, Lz4Error } from '../../../native-free/lz4-decompress.js'
import { blockContent, incompressible, samples, seed, seededRandom } from './lz4-samples.js'

interface Lz4Napi {
  compressSync(source: Buffer): Buffer
  uncompressSync(source: Buffer): Buffer
}

function loadNapi(): Lz4Napi | undefined {
  try {
    return createRequire(import.meta.url)('lz4-napi') as Lz4Napi
  } catch {
    return undefined
  }
}

const napi = loadNapi()
const napiSkip = napi === undefined ? { skip: 'lz4-napi is not installed or cannot load' } : {}

function compress(bytes: Buffer): Buffer {
  const target = Buffer.alloc(lz4CompressBound(bytes.length))
  const end = lz4Compress(bytes, 0, bytes.length, target, 0)
  return target.subarray(0, end)
}

function decompress(block: Buffer, length: number): Buffer {
  const target = Buffer.alloc(length)
  lz4Decompress(block, 0, block.length, target, 0, length)
  return target
}

void t.test(`every sample survives a round trip, seed ${seed}`, async (t) => {
  for (const { name, bytes } of samples()) {
    const block = compress(bytes)
    if (!decompress(block, bytes.length).equals(bytes)) t.fail(name)
  }
})

void t.test(`arbitrary bytes survive a round trip, seed ${seed}`, async () => {
  const letter = fc.integer({ min: 0, max: 3 })
  const inputs = fc.oneof(
    fc.uint8Array({ maxLength: 3000, size: 'max' }),
    fc.array(letter, { maxLength: 3000, size: 'max' }).map((letters) => Uint8Array.from(letters)),
  )
  fc.assert(
    fc.property(inputs, (input) => {
      const bytes = Buffer.from(input)
      return decompress(compress(bytes), bytes.length).equals(bytes)
    }),
    { seed, numRuns: 200 },
  )
})

void t.test(`lz4-napi reads what native-free writes, seed ${seed}`, napiSkip, async (t) => {
  for (const { name, bytes } of samples()) {
    if (!napi!.uncompressSync(compress(bytes)).equals(bytes)) t.fail(name)
  }
})

void t.test(`native-free reads what lz4-napi writes, seed ${seed}`, napiSkip, async (t) => {
  for (const { name, bytes } of samples()) {
    if (!decompress(napi!.compressSync(bytes), bytes.length).equals(bytes)) t.fail(name)
  }
})

void t.test('the ratio on block content is within 1 % of lz4-napi', napiSkip, async (t) => {
  for (const length of [4096, 16_384, 65_536]) {
    const bytes = blockContent(length, seededRandom(seed))
    const own = compress(bytes).length
    const native = napi!.compressSync(bytes).length
    t.ok(own <= native * 1.01, `${length} bytes: ${own} against ${native}`)
  }
})

void t.test('blocks of other writers with known bytes are read', async (t) => {
  const known: [string, string][] = [
    ['0000000000', ''],
    ['010000001061', 'a'],
    ['140000001961010060616161616161', 'a'.repeat(20)],
    ['140000001a6101005061616161' + '61', 'a'.repeat(20)],
    ['0a000000' + '23' + '6162' + '0200' + '10' + '63', 'ababababa' + 'c'],
    ['0b000000' + '34' + '616263' + '0300' + '00', 'abcabcabcab'],
  ]
  for (const [hex, text] of known) {
    t.equal(decompress(Buffer.from(hex, 'hex'), text.length).toString(), text)
  }
})

void t.test('the worked example of FORMAT.md is what the compressor writes', async (t) => {
  t.equal(
    compress(Buffer.from('a'.repeat(20))).toString('hex'),
    '140000001a61010050' + '6161616161',
  )
})

void t.test('compression obeys its ranges and does not depend on earlier calls', async (t) => {
  const random = seededRandom(seed)
  const inner = blockContent(5000, random)
  const expected = compress(inner)
  const source = Buffer.concat([incompressible(37, random), inner, inner])
  const target = Buffer.alloc(6000, 0xcc)
  const end = lz4Compress(source, 37, 5037, target, 11, 11 + expected.length)
  t.equal(end, 11 + expected.length, 'an exact fit fits')
  t.ok(target.subarray(11, end).equals(expected))
  t.ok(target.subarray(0, 11).every((byte) => byte === 0xcc))
  t.ok(target.subarray(end).every((byte) => byte === 0xcc))
})

void t.test(
  'a result that does not fit gives -1 and stays inside every smaller target',
  async (t) => {
    const random = seededRandom(seed)
    for (const bytes of [blockContent(700, random), incompressible(300, random), Buffer.alloc(9)]) {
      const needed = compress(bytes).length
      const target = Buffer.alloc(needed + 64)
      for (let room = 0; room < needed; room++) {
        target.fill(0xcc)
        const end = lz4Compress(bytes, 0, bytes.length, target, 8, 8 + room)
        if (end !== -1) t.fail(`${room} of ${needed} bytes were enough`)
        for (let i = 0; i < target.length; i++) {
          if ((i < 8 || i >= 8 + room) && target[i] !== 0xcc)
            t.fail(`wrote at ${i} with room ${room}`)
        }
      }
    }
  },
)

void t.test('the bound is enough for every sample', async (t) => {
  for (const { name, bytes } of samples()) {
    const target = Buffer.alloc(lz4CompressBound(bytes.length))
    if (lz4Compress(bytes, 0, bytes.length, target, 0) === -1) t.fail(name)
  }
})

void t.test('the hash table survives the wrap of its epoch', async (t) => {
  // Each call advances the epoch by its length + 64 KiB: 2^31 passes within this loop.
  const bytes = Buffer.alloc(64 * 1024 * 1024)
  const target = Buffer.alloc(1024 * 1024)
  const small = blockContent(3000, seededRandom(seed))
  const expected = compress(small)
  for (let i = 0; i < 34; i++) {
    lz4Compress(bytes, 0, bytes.length, target, 0)
    if (!compress(small).equals(expected)) t.fail(`call ${i}`)
  }
})

/** Decompresses within canaries: an Lz4Error or any bytes will do, but never a byte outside. */
function decompressGuarded(block: Buffer, length: number): boolean {
  const target = Buffer.alloc(length + 64, 0xcc)
  let threw = false
  try {
    lz4Decompress(block, 0, block.length, target, 32, 32 + length)
  } catch (error) {
    if (!(error instanceof Lz4Error)) throw error
    threw = true
  }
  for (let i = 0; i < 32; i++) {
    if (target[i] !== 0xcc || target[32 + length + i] !== 0xcc) throw new Error('wrote outside')
  }
  return threw
}

void t.test(`every changed byte is an error or other bytes in bounds, seed ${seed}`, async (t) => {
  const random = seededRandom(seed)
  const bytes = Buffer.concat([blockContent(900, random), Buffer.alloc(300, 7)])
  const block = compress(bytes)
  let errors = 0
  for (let i = 0; i < block.length; i++) {
    for (const flip of [1, 2, 4, 8, 16, 32, 64, 128, 255]) {
      block[i] ^= flip
      const threw = decompressGuarded(block, bytes.length)
      block[i] ^= flip
      if (i < 4 && !threw) t.fail(`a changed length passed at byte ${i}`)
      if (threw) errors++
    }
  }
  t.ok(errors > 36, 'damage beyond the length is noticed too')
  t.notOk(decompressGuarded(block, bytes.length), 'the block is whole again')
})

void t.test('every truncation is an error and so is every other expected length', async (t) => {
  const bytes = blockContent(1200, seededRandom(seed))
  const block = compress(bytes)
  for (let length = 0; length < block.length; length++) {
    if (!decompressGuarded(block.subarray(0, length), bytes.length)) t.fail(`cut to ${length}`)
  }
  for (let length = 0; length < 2000; length++) {
    if (length !== bytes.length && !decompressGuarded(block, length)) t.fail(`length ${length}`)
    const renamed = Buffer.from(block)
    renamed.writeUInt32LE(length, 0)
    if (length !== bytes.length && !decompressGuarded(renamed, length)) {
      t.fail(`length ${length} with a matching prefix`)
    }
  }
})

void t.test('source bytes outside the range are not read', async (t) => {
  const bytes = blockContent(1200, seededRandom(seed))
  const block = compress(bytes)
  for (let length = 4; length < block.length; length++) {
    const target = Buffer.alloc(bytes.length)
    try {
      lz4Decompress(block, 0, length, target, 0, bytes.length)
      t.fail(`cut to ${length} passed`)
    } catch (error) {
      if (!(error instanceof Lz4Error)) throw error
    }
  }
})

void t.test('random bytes are errors or bytes in bounds and always end', async (t) => {
  const random = seededRandom(seed)
  for (let i = 0; i < 20_000; i++) {
    const length = Math.floor(random() * 500)
    const block = incompressible(4 + Math.floor(random() * 60), random)
    if (random() < 0.5) block.fill(0xff, 4 + Math.floor(random() * 20))
    block.writeUInt32LE(length, 0)
    decompressGuarded(block, length)
  }
  t.pass()
})

void t.test('lz4-napi agrees about what is damaged', napiSkip, async (t) => {
  const random = seededRandom(seed)
  const bytes = blockContent(400, random)
  const block = compress(bytes)
  for (let i = 4; i < block.length; i++) {
    for (const flip of [1, 16, 128]) {
      const damaged = Buffer.from(block)
      damaged[i] ^= flip
      let native: Buffer | undefined
      try {
        native = napi!.uncompressSync(damaged)
      } catch {
        native = undefined
      }
      if (native?.length !== bytes.length) continue
      let own: Buffer | undefined
      try {
        own = decompress(damaged, bytes.length)
      } catch {
        own = undefined
      }
      if (own !== undefined && !own.equals(native)) t.fail(`other bytes after a flip at ${i}`)
    }
  }
})

void t.test('shared memory works on both sides', async (t) => {
  const bytes = blockContent(3000, seededRandom(seed))
  const shared = Buffer.from(new SharedArrayBuffer(10_000))
  bytes.copy(shared, 5)
  const end = lz4Compress(shared, 5, 3005, shared, 4000)
  lz4Decompress(shared, 4000, end, shared, 7000, 10_000)
  t.ok(shared.subarray(7000).equals(bytes))
})

void t.test('each kind of malformed block is named, whatever bytes lie behind it', async (t) => {
  const cases: [string, string, number][] = [
    ['', 'no length in front', 4],
    ['05000000', 'ends before a token', 5],
    ['05000000' + '50' + '6161', 'literals run past its end', 5],
    ['05000000' + 'f0', 'within a literal length', 5],
    ['01000000' + '20' + '6161', 'literals run past the output', 1],
    ['09000000' + '14' + '61' + '01', 'within a distance', 9],
    ['09000000' + '14' + '61' + '0000', 'distance is out of range', 9],
    ['09000000' + '14' + '61' + '0200', 'distance is out of range', 9],
    ['14000000' + '1f' + '61' + '0100', 'within a match length', 20],
    ['08000000' + '14' + '61' + '0100', 'match runs past the output', 8],
    ['0a000000' + '14' + '61' + '0100' + '00', 'before the output is full', 10],
  ]
  for (const [hex, message, length] of cases) {
    const block = Buffer.from(hex, 'hex')
    const source = Buffer.concat([Buffer.alloc(8, 1), block, Buffer.alloc(64, 1)])
    const target = Buffer.alloc(length + 128)
    t.throws(
      () => lz4Decompress(source, 8, 8 + block.length, target, 64, 64 + length),
      { name: 'Lz4Error', message: new RegExp(message) },
      message,
    )
  }
})

void t.test('the end of every block is as the format wants it', async (t) => {
  for (const { name, bytes } of samples()) {
    const block = compress(bytes)
    let at = 4
    let out = 0
    let matchStart = -1
    for (;;) {
      const token = block[at++]
      let literals = token >>> 4
      if (literals === 15)
        do literals += block[at]
        while (block[at++] === 255)
      at += literals
      out += literals
      if (at === block.length) {
        if (matchStart >= 0 && literals < 5) t.fail(`${name}: ${literals} last literals`)
        break
      }
      at += 2
      let match = token & 15
      if (match === 15)
        do match += block[at]
        while (block[at++] === 255)
      matchStart = out
      out += match + 4
    }
    if (matchStart >= 0 && matchStart > bytes.length - 12)
      t.fail(`${name}: a match starts at ${matchStart}`)
  }
})

void t.test('a match does not reach in front of the source range', async (t) => {
  const text = 'Zabcdefghijklmnop'
  const source = Buffer.from(text + text + '-'.repeat(20))
  const target = Buffer.alloc(200)
  const end = lz4Compress(source, 1, source.length, target, 0)
  const output = decompress(target.subarray(0, end), source.length - 1)
  t.ok(output.equals(source.subarray(1)))
})
