import t from 'tap'
import { InvariantError } from '../../../../src/base/assert.js'
import {
  codecError,
  CodecId,
  type Codec,
  type Codecs,
} from '../../../../src/storage/codec/codec.js'
import { decompressSection } from '../../../../src/storage/sstable/blocks/section.js'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { SectionWriter } from '../../../../src/storage/sstable/blocks/section-writer.js'
import { trailerBytes } from '../../../../src/storage/sstable/format.js'

t.before(loadChecksums)

void t.test('sections that do not become shorter are tried less and less often', (t) => {
  const tried: number[] = []
  let shorter = false
  let section = 0
  const codec: Codec = {
    id: CodecId.lz4,
    name: 'lz4',
    compress(source, start) {
      tried.push(section)
      return shorter ? source.subarray(start, start + 1) : undefined
    },
    decompress: () => undefined,
  }
  const file = new SimulatedDisk().openSync('/file', 'create')
  const writer = new SectionWriter(file, 1)
  const payload = Buffer.alloc(100)
  const add = (): number => writer.addCompressed(payload, 0, payload.length, codec)
  for (; section < 32; section++) t.equal(add(), payload.length + trailerBytes)
  t.same(tried, [0, 1, 3, 7, 15, 23, 31])
  shorter = true
  tried.length = 0
  for (; section < 45; section++) add()
  t.same(tried, [39, 40, 41, 42, 43, 44], 'the next try counts for the sections behind')
  shorter = false
  tried.length = 0
  for (; section < 50; section++) add()
  t.same(tried, [45, 46, 48], 'as at the beginning')
  file.closeSync()
  t.end()
})

void t.test('a section is stored compressed if that saves an eighth', (t) => {
  let stored = 0
  const codec: Codec = {
    id: CodecId.lz4,
    name: 'lz4',
    compress: (source, start) => source.subarray(start, start + stored),
    decompress: () => undefined,
  }
  const writer = new SectionWriter(new SimulatedDisk().openSync('/file', 'create'), 1)
  const payload = Buffer.alloc(801)
  stored = 701
  t.equal(writer.addCompressed(payload, 0, payload.length, codec), 701 + trailerBytes)
  stored = 702
  t.equal(writer.addCompressed(payload, 0, payload.length, codec), 801 + trailerBytes)
  t.end()
})

void t.test('a codec that breaks an assertion is a bug, and no damage', (t) => {
  const codecOf = (error: Error): Codecs => {
    const decompress = (): never => {
      throw error
    }
    return { byId: () => ({ name: 'LZ4', decompress }) } as unknown as Codecs
  }
  const stored = Buffer.alloc(64)
  const decompress = (error: Error) => (): void => {
    const file = { path: '/f', writtenAs: 1 }
    decompressSection(stored, 0, 64, Buffer.alloc(8), 8, file, 5, codecOf(error))
  }
  t.throws(decompress(new InvariantError('target too short')), { name: 'InvariantError' })
  const damage = { file: '/f', offset: 5, found: 'no block' }
  t.throws(decompress(codecError('no block')), { code: 'ERR_CORRUPTION', corruption: damage })
  t.end()
})
