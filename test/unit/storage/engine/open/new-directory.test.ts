/** The name of a new directory survives a power cut, whoever made the directory. */
import t from 'tap'
import { Database } from '../../../../../src/entries/index.js'
import { syntheticError, fileError } from '../../../../../src/storage/fs/errors.js'
import { SimulatedDisk } from '../../../../doubles/simulated-disk.js'
import { randomFrom, seed } from '../../version/fixtures.js'

const inline = { executor: 'inline', compactionEnabled: false } as const

void t.test(`a power cut keeps a directory that was made before, seed ${seed}`, async (t) => {
  const fileSystem = new SimulatedDisk()
  for (const directory of ['/db', '/backup', '/again']) fileSystem.makeDirectorySync(directory)
  const database = await Database.open('/db', { ...inline, fileSystem })
  const table = await database.createTable('t', { families: { f: {} } })
  await table.put({ row: 'r', cells: { 'f:q': 'v' }, durability: 'FSYNC_WAL' })
  const image = fileSystem.crash('dropUnsynced', randomFrom(seed))
  const again = await Database.open('/db', { ...inline, fileSystem: image })
  t.equal([...again.table('t').scanSync()].length, 1)
  await again.close()

  await database.backup('/backup')
  await Database.restore('/backup', '/again', { fileSystem })
  const later = fileSystem.crash('dropUnsynced', randomFrom(seed))
  for (const directory of ['/backup', '/again']) {
    const found = await Database.verify(directory, { fileSystem: later })
    t.ok(found.sound, directory)
  }
  await database.close()
})

void t.test('a parent that must not be read is left alone', async (t) => {
  const fileSystem = new SimulatedDisk()
  fileSystem.makeDirectorySync('/db')
  const sync = fileSystem.syncDirectorySync.bind(fileSystem)
  for (const code of ['EACCES', 'EIO'] as const) {
    fileSystem.syncDirectorySync = (directory) => {
      if (directory === '/') throw fileError('syncDirectory', directory, syntheticError(code))
      sync(directory)
    }
    const opening = Database.open('/db', { ...inline, fileSystem, createIfMissing: code === 'EIO' })
    await t.rejects(opening, { code: code === 'EIO' ? 'ERR_IO' : 'ERR_NOT_A_DATABASE' })
  }
})
