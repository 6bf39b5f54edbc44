/** @runs alone */
import { execFileSync } from 'node:child_process'
import t from 'tap'
import { InvariantError } from '../../../../src/base/assert.js'
import {
  checksumLength,
  checksumMatches,
  loadChecksums,
  placeSeed,
  writeChecksum,
  xxh64,
} from '../../../../src/storage/codec/checksum.js'
import { childEnvironment } from '../../../helpers/child-environment.js'
import { incompressible, seed, seededRandom } from '../../native-free/lz4-samples.js'

void t.test('a checksum before loading is a broken invariant, loading twice is not', async (t) => {
  t.throws(() => xxh64(Buffer.from('a'), 0n), InvariantError)
  t.equal(loadChecksums(), loadChecksums())
  await loadChecksums()
})

void t.test('a runtime without WebAssembly is refused before anything is made', (t) => {
  const entry = new URL('../../../../src/entries/index.js', import.meta.url).href
  const program = `
    import { readdirSync } from 'node:fs'
    import { Database } from '${entry}'
    try {
      await Database.open('made')
    } catch (error) {
      console.log(error.code, error.message, error.cause.name, readdirSync('.').length)
    }`
  const words = ['--jitless', '--input-type=module', '--eval', program]
  const options = { timeout: 20_000, env: childEnvironment, cwd: t.testdir({}) }
  const answer = String(execFileSync(process.execPath, words, options))
  t.match(answer, /^ERR_UNSUPPORTED .*without --jitless ReferenceError 0$/m)
  t.end()
})

void t.test('xxh64 gives the published values', async (t) => {
  await loadChecksums()
  t.equal(xxh64(Buffer.alloc(0), 0n), 0xef46db3751d8e999n)
  t.equal(xxh64(Buffer.from('a'), 0n), 0xd24ec4f1a98c6e5bn)
  t.equal(xxh64(Buffer.from('abc'), 0n), 0x44bc2cf5ad770999n)
})

void t.test('long inputs in steps give what one piece gives', async (t) => {
  await loadChecksums()
  const { default: start } = await import('xxhash-wasm')
  const reference = await start()
  const bytes = incompressible(3 * 1024 * 1024 + 17, seededRandom(seed))
  const step = 1024 * 1024
  for (const length of [step - 1, step, step + 1, 2 * step, 2 * step + 31, bytes.length]) {
    const part = bytes.subarray(0, length)
    t.equal(xxh64(part, 77n), reference.h64Raw(part, 77n), `${length} bytes`)
  }
})

void t.test('a written checksum matches its bytes, its seed and its place only', async (t) => {
  await loadChecksums()
  const bytes = Buffer.from('some block')
  const target = Buffer.alloc(20, 0xcc)
  const place = placeSeed(7, 4096)
  writeChecksum(target, 5, bytes, place)
  t.equal(target.readBigUInt64LE(5), xxh64(bytes, place))
  t.ok(checksumMatches(target, 5, bytes, place))
  t.notOk(checksumMatches(target, 4, bytes, place))
  t.notOk(checksumMatches(target, 5, bytes, placeSeed(7, 4097)))
  t.notOk(checksumMatches(target, 5, bytes, placeSeed(8, 4096)))
  t.notOk(checksumMatches(target, 5, Buffer.from('some blocl'), place))
  t.notOk(checksumMatches(target, 20 - checksumLength + 1, bytes, place), 'cut off')
  t.notOk(checksumMatches(target, -1, bytes, place))
  target[9] ^= 1
  t.notOk(checksumMatches(target, 5, bytes, place))
})

void t.test('placeSeed gives the documented numbers', async (t) => {
  t.equal(placeSeed(0, 0), 0n)
  t.equal(placeSeed(7, 4096), 0x538453d7_00001000n)
  t.equal(placeSeed(1, 0x2_0000_0005), 0x9e3779b3_00000005n)
  t.equal(placeSeed(0x3_0000_0000, 1), 2n)
})

void t.test('placeSeed differs between near files and offsets', async (t) => {
  const seen = new Set<bigint>()
  for (let file = 0; file < 300; file++) {
    for (let block = 0; block < 300; block++) seen.add(placeSeed(file, block * 4096))
  }
  t.equal(seen.size, 90_000)
})
