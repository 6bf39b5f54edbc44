/** @runs campaign */
import t from 'tap'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import type { CodecName } from '../../../../src/storage/codec/codec.js'
import { CellarError } from '../../../../src/base/errors.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { BlockCache } from '../../../../src/storage/sstable/blocks/block-cache.js'
import {
  footerBytes,
  formatVersion,
  payloadBytesMax,
} from '../../../../src/storage/sstable/format.js'
import {
  build,
  bytesOf,
  fileSystemWith,
  open,
  plainEntries,
  randomFrom,
  readAll,
  resealFooter,
  resealSection,
  sectionPlaces,
  seed,
  verifyAll,
} from './helpers.js'
import type { Entry } from './helpers.js'

t.before(() => loadChecksums())

/**
 * What reading everything from damaged bytes does. `verified` tells whether open and verify passed.
 */
function outcome(
  bytes: Buffer,
  entries: Entry[],
): { read: 'right' | 'refused' | 'wrong'; verified: boolean; codes: Set<unknown> } {
  const fileSystem = fileSystemWith(bytes)
  const codes = new Set<unknown>()
  let read: 'right' | 'refused' | 'wrong' = 'wrong'
  let verified = false
  try {
    const reader = open(fileSystem)
    try {
      const found = readAll(reader)
      const equal =
        found.length === entries.length &&
        found.every(({ key, value }, i) => {
          return key.equals(entries[i].key) && value.equals(entries[i].value)
        })
      if (equal) read = 'right'
    } catch (error) {
      read = note(error)
    }
    verifyAll(reader)
    verified = true
  } catch (error) {
    if (note(error) === 'wrong') read = 'wrong'
    else if (read === 'wrong') read = 'refused'
  }
  return { read, verified, codes }

  function note(error: unknown): 'refused' | 'wrong' {
    const code = error instanceof CellarError ? error.code : String(error)
    codes.add(code)
    return code === 'ERR_CORRUPTION' ? 'refused' : 'wrong'
  }
}

for (const codec of ['none', 'lz4'] as CodecName[]) {
  void t.test(
    `every flipped bit of a ${codec} file is found and never read, seed ${seed}`,
    async (t) => {
      const entries = plainEntries(60, 12)
      const fileSystem = new SimulatedDisk()
      build(fileSystem, entries, { codec, blockBytes: 400 })
      const bytes = bytesOf(fileSystem)
      t.same(outcome(bytes, entries), { read: 'right', verified: true, codes: new Set() })
      const random = randomFrom(seed)
      const wrong: string[] = []
      for (let at = 0; at < bytes.length; at++) {
        const flips = [1 << Math.floor(random() * 8), 0xff]
        for (const flip of flips) {
          bytes[at] ^= flip
          const { read, verified, codes } = outcome(bytes, entries)
          if (read === 'wrong' || verified) wrong.push(`${at}: ${read} ${[...codes].join()}`)
          bytes[at] ^= flip
        }
      }
      t.same(wrong, [])
    },
  )
}

void t.test('every truncation and every extension is refused at open', async (t) => {
  const fileSystem = new SimulatedDisk()
  build(fileSystem, plainEntries(60), { blockBytes: 400 })
  const bytes = bytesOf(fileSystem)
  for (let length = 0; length < bytes.length; length++) {
    const cut = fileSystemWith(bytes.subarray(0, length))
    try {
      open(cut)
      t.fail(`cut to ${length}`)
    } catch (error) {
      if ((error as CellarError).code !== 'ERR_CORRUPTION')
        t.fail(`cut to ${length}: ${String(error)}`)
    }
  }
  for (const more of [Buffer.alloc(1), Buffer.alloc(4096), bytes]) {
    t.throws(() => open(fileSystemWith(Buffer.concat([bytes, more]))), { code: 'ERR_CORRUPTION' })
    t.throws(() => open(fileSystemWith(Buffer.concat([more, bytes]))), { code: 'ERR_CORRUPTION' })
  }
  t.throws(() => open(fileSystem, { expectedBytes: bytes.length + 1 }), { code: 'ERR_CORRUPTION' })
})

void t.test('two swapped blocks are refused', async (t) => {
  const entries = plainEntries(100)
  const fileSystem = new SimulatedDisk()
  build(fileSystem, entries, { codec: 'none' })
  const reader = open(fileSystem)
  const { offsets, blockCount } = reader.index
  const bytes = bytesOf(fileSystem)
  let pairs = 0
  for (let a = 0; a < blockCount; a++) {
    for (let b = a + 1; b < blockCount; b++) {
      const length = offsets[a + 1] - offsets[a]
      if (offsets[b + 1] - offsets[b] !== length) continue
      const swapped = Buffer.from(bytes)
      bytes.copy(swapped, offsets[a], offsets[b], offsets[b] + length)
      bytes.copy(swapped, offsets[b], offsets[a], offsets[a] + length)
      const { read, verified } = outcome(swapped, entries)
      t.same({ read, verified }, { read: 'refused', verified: false })
      pairs++
    }
  }
  t.ok(pairs > 0)
})

void t.test(
  'a block of another file at the same offset is refused, and the error names its place',
  async (t) => {
    const entries = plainEntries(100)
    const one = new SimulatedDisk()
    build(one, entries, { codec: 'none' })
    const other = new SimulatedDisk()
    build(other, entries, { codec: 'none', fileNumber: 10 })
    const bytes = bytesOf(one)
    const { offsets } = open(one).index
    bytesOf(other).copy(bytes, offsets[2], offsets[2], offsets[3])
    const reader = open(fileSystemWith(bytes))
    t.throws(() => readAll(reader), {
      code: 'ERR_CORRUPTION',
      corruption: { file: 'table', offset: offsets[2], expected: String, found: String },
    })
    t.throws(() => open(other), { code: 'ERR_CORRUPTION' }, 'the whole file under a wrong number')
  },
)

void t.test(
  'a newer format version is ERR_FORMAT_VERSION, a damaged one is corruption',
  async (t) => {
    const fileSystem = new SimulatedDisk()
    build(fileSystem, plainEntries(5))
    const bytes = bytesOf(fileSystem)
    const at = bytes.length - 16
    bytes.writeUInt32LE(formatVersion + 1, at)
    t.throws(() => open(fileSystemWith(bytes)), { code: 'ERR_CORRUPTION' })
    bytes.writeUInt32LE(~(formatVersion + 1) >>> 0, at + 4)
    t.throws(() => open(fileSystemWith(bytes)), { code: 'ERR_FORMAT_VERSION' })
    bytes.writeUInt32LE(0, at)
    bytes.writeUInt32LE(0xffff_ffff, at + 4)
    t.throws(() => open(fileSystemWith(bytes)), { code: 'ERR_CORRUPTION' })
  },
)

void t.test(
  'absurd lengths under right checksums are refused without large allocations',
  async (t) => {
    const entries = plainEntries(60, 200)
    const fileSystem = new SimulatedDisk()
    build(fileSystem, entries, { codec: 'lz4', blockBytes: 1000 })
    const intact = bytesOf(fileSystem)
    const { index, properties } = sectionPlaces(intact)
    const { offsets } = open(fileSystem).index
    const footer = intact.length - footerBytes
    const words = [0, 1, 0xff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, payloadBytesMax]
    const changes: [string, (bytes: Buffer, word: number) => void][] = [
      [
        'uncompressed length of a block',
        (bytes, word) => {
          bytes.writeUInt32LE(word, offsets[1] - 12)
          resealSection(bytes, offsets[0], offsets[1])
        },
      ],
      [
        'codec id of a block',
        (bytes, word) => {
          bytes[offsets[1] - 13] = word & 0xff
          resealSection(bytes, offsets[0], offsets[1])
        },
      ],
      ...[0, 4, 8, 12, 16, 20, 24].map((field): [string, (bytes: Buffer, word: number) => void] => [
        `footer word ${field}`,
        (bytes, word) => {
          bytes.writeUInt32LE(word, footer + field)
          if (field === 0 && word === intact.readUInt32LE(footer)) bytes[footer] ^= 1
          resealFooter(bytes)
        },
      ]),
      ...[0, 4, 8, 200].map((field): [string, (bytes: Buffer, word: number) => void] => [
        `index word ${field}`,
        (bytes, word) => {
          bytes.writeUInt32LE(word, index[0] + field)
          resealSection(bytes, ...index)
        },
      ]),
      ...[0, 8, 16, 24, 32, 44, 112, 116].map(
        (field): [string, (bytes: Buffer, word: number) => void] => [
          `properties word ${field}`,
          (bytes, word) => {
            bytes.writeUInt32LE(word, properties[0] + field)
            resealSection(bytes, ...properties)
          },
        ],
      ),
    ]
    const allocations = watchAllocations()
    for (const [what, change] of changes) {
      for (const word of words) {
        const bytes = Buffer.from(intact)
        change(bytes, word)
        if (bytes.equals(intact)) continue
        const { read, verified, codes } = outcome(bytes, entries)
        t.not(read, 'wrong', `${what} ${word}: ${[...codes].join()}`)
        t.equal(verified, false, `${what} ${word} is noticed`)
      }
    }
    t.ok(allocations.stop() <= payloadBytesMax, 'no allocation exceeds the documented maximum')
  },
)

void t.test(
  `random bytes in blocks with right checksums never hang or crash, seed ${seed}`,
  async (t) => {
    const entries = plainEntries(40, 10)
    const fileSystem = new SimulatedDisk()
    build(fileSystem, entries, { codec: 'none', blockBytes: 300 })
    const intact = bytesOf(fileSystem)
    const { offsets, blockCount } = open(fileSystem).index
    const random = randomFrom(seed)
    for (let round = 0; round < 3000; round++) {
      const bytes = Buffer.from(intact)
      const block = Math.floor(random() * blockCount)
      const start = offsets[block]
      const length = offsets[block + 1] - start - 13
      for (let i = 0; i < 3; i++) {
        bytes[start + Math.floor(random() * length)] = Math.floor(random() * 256)
      }
      resealSection(bytes, start, offsets[block + 1])
      const reader = open(fileSystemWith(bytes))
      const cursor = reader.cursor()
      for (const { key } of entries) {
        try {
          cursor.seek(key, key.length)
          for (let steps = 0; cursor.valid && steps < 20; steps++) cursor.next()
          cursor.seekBefore(key, key.length)
          // A seek forward within the block takes another way than one from nowhere.
          cursor.seek(entries[5].key, entries[5].key.length)
          cursor.seek(key, key.length)
        } catch (error) {
          if ((error as CellarError).code !== 'ERR_CORRUPTION') t.fail(String(error))
          if (cursor.valid) t.fail('an error leaves the cursor invalid')
        }
      }
    }
  },
)

/** Records the largest buffer made until `stop`. */
function watchAllocations(): { stop: () => number } {
  const original = Buffer.allocUnsafeSlow.bind(Buffer)
  let largest = 0
  Buffer.allocUnsafeSlow = (size: number) => {
    largest = Math.max(largest, size)
    return original(size)
  }
  return {
    stop: () => {
      Buffer.allocUnsafeSlow = original
      return largest
    },
  }
}

void t.test('a file cut while it is open is corruption, not a short block', async (t) => {
  const fileSystem = new SimulatedDisk()
  build(fileSystem, plainEntries(100))
  const reader = open(fileSystem)
  fileSystem.openSync('table', 'write').truncateSync(700)
  t.throws(() => readAll(reader), { code: 'ERR_CORRUPTION' })
  await t.rejects(reader.loadBlock(3), { code: 'ERR_CORRUPTION' })
  t.throws(() => verifyAll(reader), { code: 'ERR_CORRUPTION' })
})

void t.test('what an earlier read left in memory does not stand in for a cut file', async (t) => {
  const entries = plainEntries(100)
  const fileSystem = new SimulatedDisk()
  build(fileSystem, entries)
  const reader = open(fileSystem, { cache: new BlockCache(0) })
  const { key } = entries[50]
  reader.cursor().seek(key, key.length)
  fileSystem.openSync('table', 'write').truncateSync(0)
  t.throws(() => reader.cursor().seek(key, key.length), {
    code: 'ERR_CORRUPTION',
    corruption: { found: '0' },
  })
})

void t.test('verify finds contradictions that single reads cannot see', async (t) => {
  const fileSystem = new SimulatedDisk()
  build(fileSystem, plainEntries(60), { codec: 'none' })
  const intact = bytesOf(fileSystem)
  const { index } = sectionPlaces(intact)
  const { offsets, blockCount } = open(fileSystem).index
  const payloadEnd = offsets[1] - 13
  const count = intact.readUInt32LE(payloadEnd - 4)
  const changes: [string, (bytes: Buffer) => void][] = [
    ['a slot', (bytes) => bytes.writeUInt16LE(0, payloadEnd - 4 - 2 * (count - 2))],
    ['one entry less in the count', (bytes) => bytes.writeUInt32LE(count - 1, payloadEnd - 4)],
    ['a key out of order', (bytes) => bytes.write('x', bytes.indexOf('row/000003'))],
  ]
  for (const [what, change] of changes) {
    const bytes = Buffer.from(intact)
    change(bytes)
    resealSection(bytes, 0, offsets[1])
    const reader = open(fileSystemWith(bytes))
    t.throws(() => verifyAll(reader), { code: 'ERR_CORRUPTION' }, what)
  }
  // The first separator, below the last key of its block, but still in order with the others.
  const bytes = Buffer.from(intact)
  bytes.write('row/0', index[0] + 4 + blockCount * 8)
  bytes.write('00', index[0] + 4 + blockCount * 8 + 5)
  const length = intact.readUInt32LE(index[0] + 4 + blockCount * 4)
  bytes.fill('0', index[0] + 4 + blockCount * 8 + 7, index[0] + 4 + blockCount * 8 + length)
  resealSection(bytes, ...index)
  const reader = open(fileSystemWith(bytes))
  t.throws(() => verifyAll(reader), { code: 'ERR_CORRUPTION' }, 'a separator')
})

void t.test('an entry that reaches beyond the entries of its block is refused', async (t) => {
  const entries = plainEntries(20)
  const fileSystem = new SimulatedDisk()
  build(fileSystem, entries, { codec: 'none', blockBytes: 4096 })
  const bytes = bytesOf(fileSystem)
  const middle = bytes.indexOf('row/000015')
  bytes[middle - 1] = 127
  const last = bytes.indexOf('row/000018')
  bytes[last - 1] = 120
  resealSection(bytes, 0, open(fileSystem).index.offsets[1])
  const cursor = open(fileSystemWith(bytes)).cursor()
  t.throws(() => cursor.seek(entries[18].key, 10), { code: 'ERR_CORRUPTION' })
  t.equal(cursor.valid, false)
})
