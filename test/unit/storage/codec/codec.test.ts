/** @runs alone */
import * as zlib from 'node:zlib'
import t from 'tap'
import { ErrorCode, hasCode } from '../../../../src/base/errors.js'
import { CodecId, loadCodecs } from '../../../../src/storage/codec/codec.js'
import type { Codec, CodecName } from '../../../../src/storage/codec/codec.js'
import { blockContent, incompressible, seed, seededRandom } from '../../native-free/lz4-samples.js'

const corruption = { code: ErrorCode.corruption }
const modes = [loadCodecs({ nativeFree: true }), loadCodecs({ nativeFree: false })]
const zstdHere = 'zstdCompressSync' in zlib
const names: CodecName[] = zstdHere ? ['lz4', 'gz', 'zstd'] : ['lz4', 'gz']

function unpack(codec: Codec, block: Buffer, length: number): Buffer {
  const target = Buffer.alloc(length + 8, 0xcc)
  codec.decompress(block, 0, block.length, target, length)
  if (target.readBigUInt64LE(length) !== 0xccccccccccccccccn) throw new Error('wrote behind')
  return target.subarray(0, length)
}

void t.test('the numbers on disk are what they always were', async (t) => {
  t.strictSame(CodecId, { none: 1, lz4: 2, gz: 3, zstd: 4 })
  for (const id of [0, -1, 5, 255, 1.5]) t.equal(modes[0].byId(id), undefined, `id ${id}`)
  for (const name of names) {
    t.equal(modes[0].byName(name).id, CodecId[name])
    t.equal(modes[0].byId(CodecId[name]), modes[0].byName(name))
  }
})

void t.test('the option and the environment keep lz4-napi out', async (t) => {
  t.equal(modes[0].lz4Implementation, 'native-free')
  const before = process.env['CELLAR_NATIVE_FREE']
  t.teardown(() => {
    if (before === undefined) delete process.env['CELLAR_NATIVE_FREE']
    else process.env['CELLAR_NATIVE_FREE'] = before
  })
  process.env['CELLAR_NATIVE_FREE'] = '1'
  t.equal(loadCodecs().lz4Implementation, 'native-free')
  process.env['CELLAR_NATIVE_FREE'] = '0'
  t.equal(loadCodecs().lz4Implementation, modes[1].lz4Implementation)
})

void t.test('a codec this Node lacks is named in the error', { skip: zstdHere }, async (t) => {
  t.equal(modes[0].byId(CodecId.zstd), undefined)
  t.throws(() => modes[0].byName('zstd'), { code: ErrorCode.missingPackage })
})

void t.test(`each mode reads what each mode writes, seed ${seed}`, async (t) => {
  const random = seededRandom(seed)
  for (const length of [100, 4096, 8191, 8192, 16_384, 65_536, 300_000]) {
    const bytes = blockContent(length, random)
    const source = Buffer.concat([Buffer.alloc(3), bytes, Buffer.alloc(3)])
    for (const name of names) {
      for (const writer of modes) {
        const borrowed = writer.byName(name).compress(source, 3, 3 + length)
        if (borrowed === undefined) {
          t.equal(length, 100, `${name} found ${length} bytes too hard`)
          continue
        }
        t.ok(borrowed.length < length)
        const block = Buffer.from(borrowed)
        for (const reader of modes) {
          t.ok(unpack(reader.byName(name), block, length).equals(bytes), `${name} ${length}`)
        }
      }
    }
  }
})

void t.test('both modes write the same lz4 bytes', async (t) => {
  const bytes = blockContent(50_000, seededRandom(seed))
  const [first, second] = modes.map((mode) => {
    return Buffer.from(mode.byName('lz4').compress(bytes, 0, bytes.length)!)
  })
  t.ok(first.equals(second))
})

void t.test('what does not get smaller is not compressed', async (t) => {
  const random = seededRandom(seed)
  for (const name of [...names, 'none'] as CodecName[]) {
    const codec = modes[1].byName(name)
    for (const length of [0, 1, 5, 1000, 100_000]) {
      t.equal(codec.compress(incompressible(length, random), 0, length), undefined)
    }
  }
})

void t.test('none takes exactly the expected length', async (t) => {
  const none = modes[0].byName('none')
  t.equal(unpack(none, Buffer.from('abc'), 3).toString(), 'abc')
  t.throws(() => unpack(none, Buffer.from('abc'), 2), corruption)
  t.throws(() => unpack(none, Buffer.from('abc'), 4), corruption)
})

void t.test('a wrong expected length is corruption in every mode', async (t) => {
  const bytes = blockContent(20_000, seededRandom(seed))
  for (const mode of modes) {
    for (const name of names) {
      const codec = mode.byName(name)
      const block = Buffer.from(codec.compress(bytes, 0, bytes.length)!)
      for (const length of [0, 1, 8192, 19_999, 20_001, 40_000]) {
        t.throws(() => unpack(codec, block, length), corruption, `${name} as ${length}`)
      }
    }
  }
})

void t.test('every truncation is corruption in every mode', async (t) => {
  const bytes = blockContent(9000, seededRandom(seed))
  const target = Buffer.alloc(9000)
  for (const mode of modes) {
    for (const name of names) {
      const codec = mode.byName(name)
      const block = Buffer.from(codec.compress(bytes, 0, bytes.length)!)
      for (let end = 0; end < block.length; end += 7) {
        try {
          codec.decompress(block, 0, end, target, 9000)
          t.fail(`${name} cut to ${end} passed`)
        } catch (error) {
          if (!hasCode(error, ErrorCode.corruption)) throw error
        }
      }
    }
  }
})

void t.test('a damaged lz4 block reads alike with and without the addon', async (t) => {
  const bytes = blockContent(9000, seededRandom(seed))
  const block = Buffer.from(modes[0].byName('lz4').compress(bytes, 0, bytes.length)!)
  for (let i = 0; i < block.length; i += 3) {
    block[i] ^= 0x11
    const [own, native] = modes.map((mode) => {
      try {
        return unpack(mode.byName('lz4'), block, 9000)
      } catch (error) {
        if (!hasCode(error, ErrorCode.corruption)) throw error
        return undefined
      }
    })
    block[i] ^= 0x11
    if (own === undefined ? native !== undefined : !native?.equals(own)) t.fail(`byte ${i}`)
  }
})

void t.test('a bomb is stopped at the expected length', async (t) => {
  const bomb = zlib.deflateSync(Buffer.alloc(64 * 1024 * 1024))
  t.throws(() => unpack(modes[1].byName('gz'), bomb, 4096), corruption)
  const lie = Buffer.alloc(100, 0xff)
  t.throws(() => unpack(modes[1].byName('lz4'), lie, 16_384), corruption, 'a prefix of 4 GiB')
  lie.writeUInt32LE(16_384, 0)
  t.throws(() => unpack(modes[1].byName('lz4'), lie, 16_384), corruption)
})

void t.test('a result of just the input length does not count as smaller', async (t) => {
  const codec = modes[0].byName('lz4')
  const random = seededRandom(seed)
  let tooLong = 0
  for (let repeated = 0; repeated < 60; repeated++) {
    const word = incompressible(60, random)
    const rest = incompressible(13, random)
    const bytes = Buffer.concat([word, word.subarray(0, repeated), rest])
    const block = codec.compress(bytes, 0, bytes.length)
    if (block === undefined) tooLong++
    else if (block.length >= bytes.length) t.fail(`${block.length} of ${bytes.length}`)
  }
  t.ok(tooLong > 5 && tooLong < 30, `${tooLong} of 60 stay as they are`)
})
