/**
 * A load of HFiles where a call of the file system fails, once and from then on: it says so with
 * the path, adds nothing and leaves no file open. A close that fails fails nothing.
 */
import t from 'tap'
import { CellarError } from '../../../../src/api/index.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { exportHFiles } from '../../../../src/hbase/hfile/export-hfiles.js'
import { loadHFiles } from '../../../../src/hbase/hfile/load-hfiles.js'
import { MemoryFileSystem } from '../../../../src/storage/fs/memory-fs.js'
import type { File, OpenMode } from '../../../../src/storage/fs/types.js'
import { FaultyFileSystem } from '../../../doubles/faulty-fs.js'

/** Knows which files are open. */
class CountingFileSystem extends MemoryFileSystem {
  readonly opened = new Set<File>()

  override openSync(path: string, mode: OpenMode): File {
    const file = super.openSync(path, mode)
    this.opened.add(file)
    const close = file.closeSync.bind(file)
    file.closeSync = () => {
      this.opened.delete(file)
      close()
    }
    return file
  }
}

const source = await openMemoryDatabase()
await source.createTable('t', { families: { f: {}, g: {}, h: {} } })
source.table('t').putSync({ row: 'r', cells: { 'f:q': 'x', 'g:q': 'y', 'h:q': 'z' } })

for (const persistent of [false, true]) {
  const name = persistent ? 'from a call on' : 'at one call'
  void t.test(`a load of HFiles that fails ${name} adds nothing`, async (t) => {
    const disk = new CountingFileSystem()
    await exportHFiles(source, 't', '/out', { fileSystem: disk })
    const outcomes = { loaded: 0, failed: 0 }
    for (let failAt = 1; ; failAt++) {
      const fault = { failAt, persistent, errno: 'EMFILE' } as const
      const fileSystem = new FaultyFileSystem(disk, fault, { log: true })
      const target = await openMemoryDatabase()
      const outcome = await loadHFiles(target, 't', ['/out'], { fileSystem }).catch(
        (error: unknown) => error,
      )
      if (fileSystem.failures === 0) break
      const { kind, path } = fileSystem.log[failAt - 1]
      t.strictSame([...disk.opened], [], `${kind} ${path}: no file stays open`)
      if (kind === 'close') {
        outcomes.loaded++
        if (!persistent) t.match(outcome, { cells: 3 }, 'a close fails nothing')
      } else {
        outcomes.failed++
        t.ok(outcome instanceof CellarError && outcome.code === 'ERR_IO', String(outcome))
        t.ok((outcome as Error).message.includes(`${kind} of ${path}`), String(outcome))
        t.strictSame(target.admin.listTableNames(), [])
      }
      await target.close()
    }
    t.ok(outcomes.loaded > 3 && outcomes.failed > 20, JSON.stringify(outcomes))
  })
}
