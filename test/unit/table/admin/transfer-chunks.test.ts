/**
 * What chunks of an export hold, and what an import makes of forged ones with good checksums.
 *
 * @runs long
 */
import t from 'tap'
import type { Admin, BytesLike } from '../../../../src/entries/index.js'
import { writeVarint } from '../../../../src/base/varint.js'
import {
  keyBytesBound,
  writeKeySuffix,
  writeTerminator,
} from '../../../../src/storage/cell/cell-key.js'
import { loadCodecs } from '../../../../src/storage/codec/codec.js'
import { FaultyFileSystem } from '../../../doubles/faulty-fs.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import {
  ChunkDecoder,
  ChunkEncoder,
  ChunkKind,
  exportMagic,
} from '../../../../src/table/transfer/export-format.js'
import { lengthOf } from '../../../helpers/length.js'
import { TestDatabase } from '../../../helpers/test-database.js'
import { randomFrom, seed } from '../../storage/version/fixtures.js'
import { contentOf, makeTable } from './support.js'

const codecs = loadCodecs()

interface Payload {
  readonly kind: number
  readonly payload: Buffer
}

async function exported(admin: Admin, options = {}): Promise<Buffer[]> {
  const pieces: Buffer[] = []
  for await (const piece of admin.exportTable('t', options)) pieces.push(piece)
  return pieces
}

function decode(pieces: readonly Buffer[]): Payload[] {
  const decoder = new ChunkDecoder(codecs, 'test')
  for (const piece of pieces) decoder.add(piece)
  const found: Payload[] = []
  for (let chunk = decoder.next(); chunk !== undefined; chunk = decoder.next()) {
    found.push({ kind: chunk.kind, payload: Buffer.from(chunk.payload) })
  }
  return found
}

function encode(chunks: readonly Payload[]): Buffer {
  const encoder = new ChunkEncoder(codecs.byName('lz4'))
  const pieces = chunks.map(({ kind, payload }) => encoder.encode(kind, payload))
  return Buffer.concat([exportMagic, ...pieces])
}

interface ForgedCell {
  readonly row: string
  readonly qualifier?: string
  readonly timestamp?: number
  readonly type?: number
  readonly sequence?: number
  readonly value?: Buffer
}

/** A section of cells as EXPORT.md says. */
function section(family: number, cells: readonly ForgedCell[]): Buffer {
  const list = cells.map((cell) => {
    const { row, qualifier = 'x', timestamp = 1, type = 4, sequence = 0 } = cell
    const { value = Buffer.from('\0v') } = cell
    const key = Buffer.alloc(keyBytesBound(row.length, qualifier.length))
    let at = writeTerminator(key, key.write(row, 0, 'latin1'))
    at = writeTerminator(key, at + key.write(qualifier, at, 'latin1'))
    const end = writeKeySuffix(key, at, 0, timestamp, type, sequence, row.length)
    const header = Buffer.alloc(10)
    const headerEnd = writeVarint(header, writeVarint(header, 0, end), value.length)
    return Buffer.concat([header.subarray(0, headerEnd), key.subarray(0, end), value])
  })
  const content = Buffer.concat(list)
  const head = Buffer.alloc(5)
  head[0] = family
  head.writeUInt32LE(content.length, 1)
  return Buffer.concat([head, content])
}

void t.test('forged chunks are told, nothing is imported', async (t) => {
  const test = await TestDatabase.open()
  const { admin } = test.database
  await makeTable(test.database)
  const [head] = decode(await exported(admin))
  const importing = (sections: readonly Buffer[][], counts: object): Promise<unknown> => {
    const cells = sections.map((list) => ({ kind: ChunkKind.cells, payload: Buffer.concat(list) }))
    const end = { kind: ChunkKind.end, payload: Buffer.from(JSON.stringify(counts)) }
    return admin.importTable([encode([head, ...cells, end])], { table: 'copy' })
  }
  const good = section(0, [{ row: 'b' }])
  const damaged: Record<string, Buffer[][]> = {
    'a row before the last': [[section(0, [{ row: 'b' }, { row: 'a' }])]],
    'a row before the last of the chunk before': [[good], [section(0, [{ row: 'a' }])]],
    'the same cell twice': [[section(0, [{ row: 'b' }, { row: 'b' }])]],
    'the same cell in two chunks': [[good], [good]],
    'a family before the last in a row': [[section(1, [{ row: 'b' }]), good]],
    'a row before that of another family': [[good, section(1, [{ row: 'a' }])]],
    'an unknown family': [[section(2, [{ row: 'b' }])]],
    'a section that is too long': [[good, Buffer.from([0, 1, 0, 0, 0])]],
    'a section without length': [[good, Buffer.from([0, 0, 0])]],
    'a cell that is cut': [[Buffer.from([0, 2, 0, 0, 0, 40, 1])]],
    'a sequence': [[section(0, [{ row: 'b', sequence: 7 }])]],
    'an unknown type': [[section(0, [{ row: 'b', type: 77 }])]],
    'a reference to a value file': [
      [section(0, [{ row: 'b', value: Buffer.concat([Buffer.from([2]), Buffer.alloc(24)]) }])],
    ],
    'an empty row': [[section(0, [{ row: '' }])]],
    'a row with a bare zero': [[section(0, [{ row: 'a' }, { row: 'b\0c' }])]],
    'a qualifier with a bare zero in a row that is known': [
      [section(0, [{ row: 'b' }, { row: 'b', qualifier: 'x\0y' }])],
    ],
  }
  for (const [what, sections] of Object.entries(damaged)) {
    const error = await importing(sections, {}).then(
      () => undefined,
      (reason: unknown) => reason as { code: string; corruption: { expected: string } },
    )
    t.equal(error?.code, 'ERR_CORRUPTION', what)
    // Found where it stands, not by the counts at the end.
    t.notMatch(error?.corruption.expected, '{}', what)
  }
  const counts = { rows: 1, cells: 1, bytes: 26 }
  await t.rejects(importing([[good]], { ...counts, rows: 2 }), { code: 'ERR_CORRUPTION' })
  t.notOk(admin.tableExists('copy'))
  const bytes = 2 + 2 + 1 + 1 + 18 + 2
  await importing([[good]], { rows: 1, cells: 1, bytes })
  t.strictSame(contentOf(test.database.table('copy')), ['b/a:x@1=v'])
  await test.close()
})

void t.test(`chunks keep to their sizes, whatever the cells (seed ${seed})`, async (t) => {
  const test = await TestDatabase.open()
  const { admin } = test.database
  const table = await makeTable(test.database)
  const random = randomFrom(seed)
  const lengths = [0, 1, 100, 3000, 60_000, 130_000, 200_000, 250_000, 262_144, 400_000]
  for (let i = 0; i < lengthOf('CELLAR_TRANSFER_ROWS', 45, 90); i++) {
    const cells: Record<string, BytesLike> = {}
    for (let column = 0; column <= random() * 4; column++) {
      const length = lengths[Math.floor(random() * lengths.length)]
      cells[`${random() < 0.5 ? 'a' : 'b'}:${column}`] = Buffer.alloc(length, `${i}`)
    }
    const row = `r${Math.floor(random() * 60)}`
    await table.put({ row, cells, ...(i % 7 === 0 && { ttlMilliseconds: 1e9 }) })
    if (i % 40 === 20) await test.database.flush()
  }
  await table.put({ row: 'wide', cells: columns(3000) })
  for (const state of ['flushed and in memory', 'compacted']) {
    const before = contentOf(table)
    const pieces = await exported(admin)
    let large = 0
    for (const { kind, payload } of decode(pieces)) {
      if (kind !== ChunkKind.cells || payload.length <= 256 * 1024) continue
      large++
      // Header of the section, of the cell, key and flags.
      t.ok([262_144, 400_000].some((length) => Math.abs(payload.length - length) < 100))
    }
    t.ok(large > 3, `${large} chunks of one large cell, ${state}`)
    await admin.importTable(pieces, { table: 'copy' })
    t.strictSame(contentOf(test.database.table('copy')), before, state)
    await test.database.dropTable('copy')
    await test.database.compact('t')
  }
  await test.close()
})

function columns(count: number): Record<string, BytesLike> {
  const names = Array.from({ length: count }, (_, i) => `a:c${i}`)
  return Object.fromEntries(names.map((name) => [name, `value of ${name}`.repeat(10)]))
}

void t.test('of equal cells in a raw export the last counts, also over chunks', async (t) => {
  const test = await TestDatabase.open({ options: { compactionEnabled: false } })
  const { admin } = test.database
  const table = await makeTable(test.database)
  for (const mark of ['one', 'two', 'three']) {
    for (let i = 0; i < 60; i++) {
      const value = `${mark}${i}`.padEnd(9000, '.')
      await table.put({ row: 'row', cells: { [`a:${i}`]: value }, timestamp: 5 })
    }
    await test.database.flush()
  }
  await table.delete({ row: 'row', columns: ['a:7'], timestamp: 6 })
  const pieces = await exported(admin, { raw: true, versions: 'all' })
  t.ok(decode(pieces).length > 5)
  t.match(await admin.importTable(pieces, { table: 'copy' }), { rows: 1, cells: 61 })
  t.strictSame(contentOf(test.database.table('copy')), contentOf(table))
  await test.close()
})

void t.test('an import whose sync fails on the way imports nothing', async (t) => {
  const source = await TestDatabase.open()
  const table = await makeTable(source.database)
  // More than the import syncs at once, twice.
  for (let i = 0; i < 20; i++) {
    await table.put({ row: `r${i}`, cells: { 'a:x': Buffer.alloc(1_000_000, `${i}`) } })
  }
  const pieces = await exported(source.database.admin)
  await source.close()
  let calls = 0
  for (let failAt = 1; failAt <= 3; failAt++) {
    const fileSystem = new FaultyFileSystem(new SimulatedDisk())
    const test = await TestDatabase.open({ fileSystem })
    fileSystem.arm({
      failAt,
      errno: 'EIO',
      only: ({ kind, path }) => kind === 'sync' && path.endsWith('.sst') && ++calls > 0,
    })
    const importing = test.database.admin.importTable(pieces, { table: 'copy' })
    await t.rejects(importing, { code: 'ERR_IO' }, `sync ${failAt}`)
    t.notOk(test.database.hasTable('copy'))
    t.notOk(fileSystem.listSync(test.directory).some((name) => name.endsWith('.sst')))
    await test.database.admin.importTable(pieces, { table: 'copy' })
    t.equal(contentOf(test.database.table('copy')).length, 20)
    await test.close()
  }
  t.ok(calls > 6, `${calls} syncs`)
})
