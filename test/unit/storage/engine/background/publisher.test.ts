/** Publishing: the stores exchange their files in the moment of the new version, or all stops. */
import t from 'tap'
import { loadChecksums } from '../../../../../src/storage/codec/checksum.js'
import type { CellarError } from '../../../../../src/base/errors.js'
import { Publisher } from '../../../../../src/storage/engine/background/publisher.js'
import type { ReadPoints } from '../../../../../src/storage/engine/catalog/read-points.js'
import type { SsTableReaders } from '../../../../../src/storage/files/sstable-readers.js'
import { SimulatedDisk } from '../../../../doubles/simulated-disk.js'
import type { LeveledTables, Store } from '../../../../../src/storage/store/store.js'
import type { FileMetadata } from '../../../../../src/storage/version/file-metadata.js'
import { formatFileName } from '../../../../../src/storage/version/file-names.js'
import { openVersionSet } from '../../../../doubles/version-set.js'

const storeId = 8

function file(fileNumber: number, level = 0): FileMetadata {
  return {
    fileNumber,
    fileBytes: 100,
    level,
    entryCount: 1,
    deleteCount: 0,
    familyDeleteCount: 0,
    firstKey: Buffer.from('a'),
    lastKey: Buffer.from('z'),
    minSequence: 1,
    maxSequence: 2,
    minTimestamp: 1n,
    maxTimestamp: 2n,
    earliestPutTimestamp: 1n,
    createdMilliseconds: 1,
  }
}

/** A store with two files, and what becomes of it. */
async function make(installTables: (levels: LeveledTables) => void) {
  await loadChecksums()
  const fileSystem = new SimulatedDisk()
  fileSystem.makeDirectorySync('/db')
  const warnings: unknown[] = []
  const poisoned: CellarError[] = []
  const versions = openVersionSet(fileSystem, '/db', {
    onError: (error) => warnings.push(error),
    onFailure: (failure) => poisoned.push(failure),
  })
  while (versions.allocateId() < storeId);
  const numbers = [0, 0, 0].map(() => versions.allocateFileNumber())
  // A file that a version drops is removed, so the replaced ones exist.
  for (const number of numbers.slice(0, 2)) {
    fileSystem.openSync(`/db/${formatFileName('table', number)}`, 'create').closeSync()
  }
  const families = [{ name: 'f', storeId, options: {} }]
  const table = { tableId: 7, name: 't', families, options: {} }
  const first = numbers.slice(0, 2).map((number) => ({ storeId, file: file(number) }))
  await versions.publish({ tablesCreated: [table], filesAdded: first })
  const replaced: number[][] = []
  const publisher = new Publisher({
    versions,
    catalog: {
      stores: new Map([[storeId, { storeId, installTables } as unknown as Store]]),
    },
    readers: { openLevels: (levels: unknown) => levels } as unknown as SsTableReaders,
    readPoints: {
      filesReplaced: (_store: Store, before: FileMetadata[], after: FileMetadata[]) => {
        for (const side of [before, after]) replaced.push(side.map(({ fileNumber }) => fileNumber))
      },
    } as unknown as ReadPoints,
  })
  const merge = {
    filesRemoved: first.map(({ file }) => ({ storeId, fileNumber: file.fileNumber })),
    filesAdded: [{ storeId, file: file(numbers[2]) }],
  }
  return { versions, publisher, merge, numbers, replaced, poisoned, warnings }
}

void t.test('stores have the new files before the caller is told', async (t) => {
  const order: string[] = []
  const made = await make(() => order.push('store'))
  await made.publisher.publish(made.merge, (version, before) => {
    order.push(`current ${version.versionNumber - before.versionNumber}`)
  })
  order.push('published')
  t.same(order, ['store', 'current 1', 'published'])
  t.same(made.replaced, [made.numbers.slice(0, 2).reverse(), made.numbers.slice(2)])
  t.same([made.poisoned, made.warnings], [[], []])
})

void t.test('a store that cannot take its new files stops all writes', async (t) => {
  for (const form of ['promise', 'synchronous']) {
    const broken = new Error('no reader')
    const made = await make(() => {
      throw broken
    })
    const { publisher, merge, poisoned, versions } = made
    if (form === 'promise') await t.rejects(publisher.publish(merge), { cause: broken })
    else t.throws(() => publisher.publishSync(merge), { cause: broken })
    t.match(poisoned, [{ cause: broken }], form)
    t.same(versions.removeObsoleteFiles(), [], 'the files that the store reads stay')
    t.throws(() => publisher.publishSync({}), { code: 'ERR_POISONED' })
  }
})
