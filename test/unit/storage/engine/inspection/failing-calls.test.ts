/**
 * Salvage, repair and verification where a call of the file system fails: what is lost is told, and
 * a failure that says nothing about the files is no damage.
 *
 * @runs campaign
 */
import t from 'tap'
import { Database, MemoryFileSystem } from '../../../../../src/entries/index.js'
import { FaultyFileSystem } from '../../../../doubles/faulty-fs.js'

const directory = '/database'
const options = { executor: 'inline', compactionEnabled: false } as const
const rows = 1500
/** An offset in the blocks of the only SSTable. */
const harmed = 5000

/** A database whose SSTable is longer than the buffer of a writer, and has a damaged block. */
async function damaged(): Promise<FaultyFileSystem> {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open(directory, { ...options, fileSystem })
  const table = await database.createTable('t', {
    families: { f: { blockBytes: 1024, compression: 'NONE' } },
  })
  for (let i = 0; i < rows; i++) {
    table.putSync({ row: String(i).padStart(4, '0'), cells: { 'f:q': 'v'.repeat(500) } })
  }
  await database.flush()
  await database.close()
  const name = fileSystem.listSync(directory).find((each) => each.endsWith('.sst'))!
  const file = fileSystem.openSync(`${directory}/${name}`, 'write')
  const byte = Buffer.alloc(1)
  file.readSync(byte, 0, 1, harmed)
  byte[0] ^= 1
  file.writeSync(byte, 0, 1, harmed)
  file.closeSync()
  return new FaultyFileSystem(fileSystem)
}

async function rowsOf(fileSystem: FaultyFileSystem, place: string): Promise<number> {
  const database = await Database.open(place, { ...options, fileSystem })
  const found = await database.table('t').scan().all()
  await database.close()
  return found.length
}

const works = {
  salvage: (fileSystem: FaultyFileSystem) => Database.salvage(directory, '/saved', { fileSystem }),
  repair: (fileSystem: FaultyFileSystem) => Database.repair(directory, { apply: true, fileSystem }),
}

for (const [name, work] of Object.entries(works)) {
  void t.test(`a ${name} whose write fails says so, and loses no row silently`, async (t) => {
    for (let failAt = 1; ; failAt++) {
      const fileSystem = await damaged()
      fileSystem.arm({ failAt, errno: 'EIO', only: ({ kind }) => kind === 'write' })
      const result = await work(fileSystem).catch((error: unknown) => error)
      const { failures } = fileSystem
      fileSystem.disarm()
      if (failures > 0) {
        t.match(result, { code: 'ERR_IO' }, `write ${failAt} failing`)
        continue
      }
      t.ok(failAt > 4, 'writes of the SSTable have failed')
      const { to, losses } = result as Awaited<ReturnType<typeof work>>
      const lost = losses.reduce((sum, { entriesLost = 0 }) => sum + entriesLost, 0)
      t.equal((await rowsOf(fileSystem, to)) + lost, rows)
      break
    }
  })
}

void t.test('too many open files are no damage', async (t) => {
  const fileSystem = await damaged()
  const armed = (): FaultyFileSystem => {
    fileSystem.arm({ failAt: 1, errno: 'EMFILE', only: ({ kind }) => kind === 'open' })
    return fileSystem
  }
  const failure = { code: 'ERR_IO', message: /EMFILE/ }
  await t.rejects(Database.verify(directory, { fileSystem: armed() }), failure)
  await t.rejects(works.repair(armed()), failure)
  await t.rejects(works.salvage(armed()), failure)
  fileSystem.disarm()
  t.equal(fileSystem.statSync('/saved'), undefined)
})
