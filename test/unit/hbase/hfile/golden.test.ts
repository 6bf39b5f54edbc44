/**
 * Files that HBase 2.6.4 has flushed (`test/data/hfile`, one a compression, with Bloom filters,
 * sequences, a TTL and markers of all kinds), files of its writer with other settings, and files of
 * Cellar that must not change.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { CellarError } from '../../../../src/base/errors.js'
import { CellBlock } from '../../../../src/hbase/hfile/cell-reading.js'
import { HFileReader } from '../../../../src/hbase/hfile/hfile-reader.js'
import { HFileWriter } from '../../../../src/hbase/hfile/hfile-writer.js'
import { CellType, cellTypeName } from '../../../../src/storage/cell/cell-type.js'
import { CellView } from '../../../../src/storage/cell/cell-view.js'
import { MemoryFileSystem } from '../../../../src/storage/fs/memory-fs.js'
import { NodeFileSystem } from '../../../../src/storage/fs/node-fs.js'
import { readWholeFileSync } from '../../../../src/storage/fs/whole-file.js'
import { projectRoot } from '../../../helpers/project-root.js'

const home = join(projectRoot, 'test/data/hfile')
const x = 'x'.repeat(40)

/** What the flushed files hold: a flush of HBase drops what markers mask. */
const cells = [
  `a/ 1000 Put - ${x}`,
  'a/q 2000 Put - newer',
  'a/q 1500 DeleteColumn - ',
  'b/ 1002 DeleteFamilyVersion - ',
  `b/ 1001 Put - ${x}`,
  'b/q 1001 Delete - ',
  `c\0\x01/ 1002 Put - ${x}`,
  'c\0\x01/q 1002 Put - value 2',
  `d/ttl 1700000000000 Put ${2 ** 43} lives long`,
  'e/ 1500 DeleteFamily - ',
]

function linesOf(path: string): string[] {
  const reader = HFileReader.open(new NodeFileSystem(), path, 'f', undefined)
  const view = new CellView()
  const lines: string[] = []
  while (reader.next()) {
    view.set(reader)
    const { type, timestampExact, ttlMilliseconds } = view
    const name = `${view.copyRow().toString('latin1')}/${view.copyQualifier().toString('latin1')}`
    const kind = cellTypeName(type as Parameters<typeof cellTypeName>[0])
    const ttl = ttlMilliseconds === 0 ? '-' : ttlMilliseconds
    lines.push(`${name} ${timestampExact} ${kind} ${ttl} ${view.copyValue().toString()}`)
  }
  reader.close()
  return lines
}

void t.test('files of HBase', (t) => {
  for (const name of ['none', 'gz', 'lz4']) {
    t.strictSame(linesOf(join(home, `hbase-2.6.4-${name}.hfile`)), cells, name)
  }
  t.strictSame(linesOf(join(home, 'hbase-2.6.4-empty.hfile')), [], 'all cells had expired')
  t.end()
})

void t.test('a file of HBase with a checksum for 100 bytes', (t) => {
  const lines = linesOf(join(home, 'hbase-2.6.4-checksums.hfile'))
  const wanted = Array.from({ length: 40 }, (_, i) => {
    return `row${String(i).padStart(2, '0')}/q ${100 + i} Put - value ${i}`
  })
  t.strictSame(lines, wanted)
  t.end()
})

void t.test('what Cellar does not read of sound files is named', (t) => {
  const refused = { code: 'ERR_UNSUPPORTED' }
  t.throws(() => linesOf(join(home, 'hbase-2.6.4-index-encoding.hfile')), {
    ...refused,
    message: /has the INDEX_BLOCK_ENCODING PREFIX_TREE/,
  })
  t.throws(() => linesOf(join(home, 'hbase-2.6.4-ttl.hfile')), {
    ...refused,
    message: /has a TTL of 281474976710656 ms/,
  })
  t.end()
})

void t.test('sound cells that Cellar cannot hold are unsupported, not damaged', (t) => {
  // A cell of HBase: lengths of key and value, row, family, qualifier, time, type, value.
  const cell = (time: bigint, type: number): Buffer => {
    const bytes = Buffer.alloc(8 + 2 + 1 + 1 + 1 + 1 + 8 + 1)
    bytes.writeUInt32BE(bytes.length - 8)
    bytes.write('\0\x01r\x01fq', 8, 'latin1')
    bytes.writeBigInt64BE(time, 14)
    bytes[22] = type
    return bytes
  }
  const flags = { hasTags: false, hasSequences: false }
  const format = { path: '/f', family: Buffer.from('f'), ...flags, sequence: 1 }
  const faultOf = (bytes: Buffer): unknown => {
    try {
      new CellBlock(format).read(bytes, 7)
      return 'none'
    } catch (error) {
      const { code, message } = error as CellarError
      return [code, message]
    }
  }
  const unsupported = (found: string): readonly string[] => {
    return ['ERR_UNSUPPORTED', `/f has ${found}: the cell at 0 of its block at 7`]
  }
  const marker = unsupported('a marker of the family with a qualifier')
  t.equal(faultOf(cell(1n, CellType.put)), 'none')
  t.strictSame(faultOf(cell(-1n, CellType.put)), unsupported('a negative time'))
  t.strictSame(faultOf(cell(1n, CellType.deleteFamily)), marker)
  t.strictSame(faultOf(cell(1n, CellType.deleteFamilyVersion)), marker)
  const damage =
    'damaged HFile in /f at offset 7, expected a type of cells, ' +
    'found 99, the cell at 0 of its block'
  t.strictSame(faultOf(cell(1n, 99)), ['ERR_CORRUPTION', damage], 'an unknown type is damage')
  t.end()
})

void t.test('files of Cellar stay the same', (t) => {
  const source = join(home, 'hbase-2.6.4-none.hfile')
  for (const compression of ['NONE', 'LZ4'] as const) {
    const fileSystem = new MemoryFileSystem()
    fileSystem.makeDirectorySync('/out')
    const format = { family: 'f', compression, blockBytes: 1024, indexBytes: 256, created: 1 }
    const writer = new HFileWriter(fileSystem, '/out/file', format)
    const reader = HFileReader.open(new NodeFileSystem(), source, 'f', undefined)
    const view = new CellView()
    while (reader.next()) {
      view.set(reader)
      writer.add(view)
    }
    reader.close()
    writer.finish()
    const bytes = readWholeFileSync(fileSystem, '/out/file')
    const golden = join(home, `cellar-${compression.toLowerCase()}.hfile`)
    t.ok(bytes.equals(readFileSync(golden)), compression)
    t.strictSame(linesOf(golden), cells)
  }
  t.end()
})
