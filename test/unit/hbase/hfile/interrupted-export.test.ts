/**
 * An export to HFiles that fails or dies at any operation of the file system: nothing is left that
 * stops a second one, which then survives a power cut.
 */
import t from 'tap'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { exportHFiles, exportWithId } from '../../../../src/hbase/hfile/export-hfiles.js'
import { finishedExport } from '../../../../src/hbase/hfile/file-list.js'
import { fileError, syntheticError } from '../../../../src/storage/fs/errors.js'
import { FaultyFileSystem } from '../../../doubles/faulty-fs.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { randomFrom, seed } from '../../storage/version/fixtures.js'

const database = await openMemoryDatabase()
await database.createTable('t', { families: { f: {}, g: {} } })
database.table('t').putSync({ row: 'r', cells: { 'f:q': 'x', 'g:q': 'y' } })

const directory = '/out'

/** The files below a path. */
function filesOf(disk: SimulatedDisk, path: string): string[] {
  const kind = disk.statSync(path)?.kind
  if (kind !== 'directory') return kind === undefined ? [] : [path]
  return disk.listSync(path).flatMap((name) => filesOf(disk, disk.join(path, name)))
}

/** The files that HBase would load after a power cut: one of each family. */
function loadable(disk: SimulatedDisk): number {
  const image = disk.crash('dropUnsynced', randomFrom(seed))
  return filesOf(image, directory).filter((path) => !/\/[._][^/]*$/.test(path)).length
}

/** As a move exports, which continues what another call has completed. */
async function exportOrFind(fileSystem: SimulatedDisk | FaultyFileSystem): Promise<void> {
  if (finishedExport(fileSystem, directory, 'id') !== undefined) return
  await exportWithId(database, 't', directory, 'id', { fileSystem })
}

/** As a caller of the function. */
async function exportOnce(fileSystem: SimulatedDisk | FaultyFileSystem): Promise<void> {
  await exportHFiles(database, 't', directory, { fileSystem })
}

void t.test('an export that fails leaves no file', async (t) => {
  for (const run of [exportOnce, exportOrFind]) {
    for (let failAt = 1, failures = 1; failures > 0; failAt++) {
      const disk = new SimulatedDisk()
      const faulty = new FaultyFileSystem(disk, { failAt, errno: 'EIO' })
      const outcome = await run(faulty).then(
        () => 'done',
        () => 'failed',
      )
      failures = faulty.failures
      if (outcome === 'done') continue
      t.strictSame(filesOf(disk, directory), [], `call ${failAt}`)
      await run(disk)
      t.equal(loadable(disk), 2, `call ${failAt}`)
    }
  }
})

void t.test('an export that dies is made again, or completed', async (t) => {
  for (const run of [exportOnce, exportOrFind]) {
    for (let dieAt = 1, isDone = false; !isDone; dieAt++) {
      const disk = new SimulatedDisk()
      let operations = 0
      disk.beforeOperation = ({ kind, path }) => {
        // Not even a cleanup works any more.
        if (++operations >= dieAt) throw fileError(kind, path, syntheticError('EIO'))
      }
      await run(disk).catch(() => undefined)
      disk.beforeOperation = undefined
      isDone = operations < dieAt
      const named = filesOf(disk, directory).filter((path) => /\/[0-9a-f]{32}$/.test(path))
      if (run === exportOrFind || named.length < 2) await run(disk)
      else await t.rejects(run(disk), { code: 'ERR_DIRECTORY_NOT_EMPTY' }, 'all have their names')
      if (run === exportOrFind || named.length < 2) t.equal(loadable(disk), 2, `died at ${dieAt}`)
    }
  }
})
