/** An import into a database that is poisoned meanwhile. */
import t from 'tap'
import { Database, type File, type OpenMode } from '../../../../src/entries/index.js'
import { fileError, syntheticError } from '../../../../src/storage/fs/errors.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'

/** A disk that knows which files are open. */
class CountingDisk extends SimulatedDisk {
  readonly opened = new Map<File, string>()

  override openSync(path: string, mode: OpenMode): File {
    const file = super.openSync(path, mode)
    const close = file.closeSync.bind(file)
    this.opened.set(file, path)
    return Object.assign(file, {
      closeSync: () => {
        this.opened.delete(file)
        close()
      },
    })
  }
}

void t.test('it leaves no file, and none that is open', async (t) => {
  const fileSystem = new CountingDisk()
  const database = await Database.open('/db', { executor: 'inline', fileSystem })
  const table = await database.createTable('t', { families: { f: {} } })
  for (let i = 0; i < 3_000; i++) {
    table.putSync({ row: `r${i}`, cells: { 'f:q': Buffer.alloc(400) } })
  }
  const pieces: Buffer[] = []
  const exporting = database.admin.exportTable('t', { compression: 'NONE' })
  for await (const piece of exporting) pieces.push(piece)
  const source = async function* (): AsyncGenerator<Buffer, void> {
    // Magic, head and cells, so that a file is open.
    yield* pieces.slice(0, 4)
    fileSystem.beforeOperation = ({ kind, path }) => {
      if (path.endsWith('.log')) throw fileError(kind, path, syntheticError('EIO'))
    }
    await t.rejects(table.put({ row: 'r', cells: { 'f:q': 'v' } }), { code: 'ERR_IO' })
    fileSystem.beforeOperation = undefined
    yield* pieces.slice(4)
  }
  const importing = database.admin.importTable(source(), { table: 'u' })
  await t.rejects(importing, { code: 'ERR_POISONED' })
  const left = fileSystem.listSync('/db').filter((name) => name.endsWith('.sst'))
  t.strictSame(left, [])
  await database.close()
  t.strictSame([...fileSystem.opened.values()], [])
})
