/** Files carry the identity of their database, and those of another one are refused. */
import t from 'tap'
import { CellarError } from '../../../../src/base/errors.js'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { noDatabaseId } from '../../../../src/storage/sstable/format.js'
import { ReadCounters } from '../../../../src/storage/sstable/read-counters.js'
import { ValueAhead } from '../../../../src/storage/sstable/values/value-ahead.js'
import { ValueFileReader } from '../../../../src/storage/sstable/values/value-reader.js'
import { ValueFileWriter } from '../../../../src/storage/sstable/values/value-writer.js'
import {
  build,
  bytesOf,
  codecs,
  databaseId,
  fileSystemWith,
  open,
  plainEntries,
} from './helpers.js'

t.before(() => loadChecksums())

const other = Buffer.from('fedcba9876543210fedcba9876543210', 'hex')
const names = { own: databaseId.toString('hex'), other: other.toString('hex') }

function thrownBy(action: () => unknown): CellarError {
  try {
    action()
  } catch (error) {
    if (error instanceof CellarError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

void t.test('an SSTable of another database is refused', async (t) => {
  const fileSystem = new SimulatedDisk()
  const { fileBytes } = build(fileSystem, plainEntries(100))
  open(fileSystem).closeSync()
  const error = thrownBy(() => open(fileSystem, { databaseId: other }))
  t.equal(error.code, 'ERR_CORRUPTION')
  t.match(error.message, 'SSTable of another database')
  t.strictSame(error.corruption, {
    file: '/table',
    offset: fileBytes - 72 + 32,
    expected: `database ${names.other}`,
    found: `database ${names.own}`,
  })
})

void t.test('a file of BulkWriter is no file of a database, and the reverse', async (t) => {
  const bulk = new SimulatedDisk()
  build(bulk, plainEntries(100), { databaseId: noDatabaseId })
  open(bulk, { databaseId: noDatabaseId }).closeSync()
  const refused = thrownBy(() => open(bulk))
  t.equal(refused.code, 'ERR_CORRUPTION')
  t.match(refused.corruption?.found, 'BulkWriter')
  const own = new SimulatedDisk()
  build(own, plainEntries(100))
  const error = thrownBy(() => open(own, { databaseId: noDatabaseId }))
  t.equal(error.code, 'ERR_CORRUPTION')
  t.match(error.corruption?.expected, 'BulkWriter')
})

void t.test('a flipped bit in the identity is damage, not another database', async (t) => {
  const fileSystem = new SimulatedDisk()
  build(fileSystem, plainEntries(100))
  const bytes = bytesOf(fileSystem)
  for (let at = 0; at < 16; at++) {
    const damaged = Buffer.from(bytes)
    damaged[bytes.length - 72 + 32 + at] ^= 1
    const error = thrownBy(() => open(fileSystemWith(damaged)))
    t.equal(error.code, 'ERR_CORRUPTION')
    t.match(error.corruption?.expected, 'footer checksum')
  }
})

void t.test('a value file of another database is refused', async (t) => {
  const fileSystem = new SimulatedDisk()
  const file = fileSystem.openSync('values', 'create')
  const writer = new ValueFileWriter(file, databaseId, 7, codecs.byName('none'))
  writer.add(Buffer.from('a value'), 0, 7)
  const expectedBytes = writer.finish()
  file.closeSync()
  const openValues = (id: Buffer): ValueFileReader =>
    ValueFileReader.openSync(fileSystem, 'values', 7, {
      codecs,
      counters: new ReadCounters(),
      ahead: new ValueAhead(),
      expectedBytes,
      databaseId: id,
    })
  openValues(databaseId).closeSync()
  const error = thrownBy(() => openValues(other))
  t.equal(error.code, 'ERR_CORRUPTION')
  t.match(error.message, 'value file of another database')
  t.strictSame(error.corruption, {
    file: '/values',
    offset: expectedBytes - 64 + 24,
    expected: `database ${names.other}`,
    found: `database ${names.own}`,
  })
})
