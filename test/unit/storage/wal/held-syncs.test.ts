import t from 'tap'
import { deferred, type Deferred } from '../../../../src/base/deferred.js'
import { CellarError, ErrorCode } from '../../../../src/base/errors.js'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import type { FileSystem } from '../../../../src/storage/fs/types.js'
import type { Log } from '../../../../src/storage/wal/log.js'
import { withMembers } from '../../../helpers/planted.js'
import { append, directory, newFileSystem, openLog, recover } from './support.js'

t.before(() => loadChecksums())

/** A file system whose asynchronous syncs end when the test says so, by the path of the file. */
class HeldSyncs {
  readonly memory = newFileSystem()
  readonly fileSystem: FileSystem
  /** Whether a new file is refused. */
  failsToCreate = false
  private readonly held = new Map<string, Deferred<void>>()
  private readonly heldAtEnd = new Set<string>()

  constructor() {
    const { memory } = this
    this.fileSystem = withMembers<FileSystem>(memory, {
      openSync: (path, mode) => {
        if (mode === 'create' && this.failsToCreate) {
          throw new CellarError(ErrorCode.io, `no ${path}`)
        }
        const file = memory.openSync(path, mode)
        const sync = async (): Promise<void> => {
          await this.held.get(path)?.promise
          await file.sync()
        }
        return withMembers(file, { sync })
      },
      syncDirectory: async (path) => {
        // What it covers is what there was at the call, unless it is held from the beginning.
        const isHeldAtEnd = this.heldAtEnd.has(path)
        const synced = isHeldAtEnd ? memory.syncDirectory(path) : undefined
        await this.held.get(path)?.promise
        await (synced ?? memory.syncDirectory(path))
      },
    })
  }

  /** Holds syncs of the path, before they have done anything or when they have done it. */
  hold(path: string, when: 'before' | 'after' = 'before'): void {
    this.held.set(path, deferred<void>())
    if (when === 'after') this.heldAtEnd.add(path)
    else this.heldAtEnd.delete(path)
  }

  release(path: string): void {
    this.held.get(path)!.resolve()
    this.held.delete(path)
  }

  /** What the disk holds if the power fails now. */
  durable(): number[] {
    return recover(this.memory.crash('dropUnsynced', () => 0)).sequences
  }
}

/** What became of a promise, looked at after some turns. */
async function settled(promise: Promise<void>): Promise<'resolved' | 'rejected' | 'waits'> {
  let found: 'resolved' | 'rejected' | 'waits' = 'waits'
  promise.then(
    () => (found = 'resolved'),
    () => (found = 'rejected'),
  )
  await turns()
  return found
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Whether all that was written to the current segment has been synced, its name apart. */
function currentIsSynced(log: Log): boolean {
  const { writer } = log as unknown as { writer: { syncedLength: number; length: number } }
  return writer.syncedLength === writer.length
}

void t.test('FSYNC_WAL without anything new waits for the name of the segment', async (t) => {
  const disk = new HeldSyncs()
  const log = openLog(disk.fileSystem)
  append(log, 1)
  await log.commit('FSYNC_WAL')
  disk.hold(directory, 'after')
  log.roll()
  append(log, 2)
  log.commitSync('FSYNC_WAL')
  log.roll()
  append(log, 3)
  const first = log.commit('FSYNC_WAL')
  // The sync of the second segment's name ends; that of the third one's is the next to be held.
  disk.release(directory)
  disk.hold(directory)
  await turns()
  t.ok(currentIsSynced(log))
  const second = log.commit('FSYNC_WAL')
  t.equal(await settled(first), 'waits')
  t.equal(await settled(second), 'waits')
  t.same(disk.durable(), [1, 2], 'only the name is missing')
  disk.release(directory)
  await Promise.all([first, second])
  t.same(disk.durable(), [1, 2, 3])
  t.equal(await settled(log.commit('FSYNC_WAL')), 'resolved')
  await log.close()
})

void t.test('FSYNC_WAL without anything new waits for older segments', async (t) => {
  const disk = new HeldSyncs()
  const log = openLog(disk.fileSystem)
  const older = `${directory}/000001.log`
  disk.hold(older)
  append(log, 1)
  const first = log.commit('FSYNC_WAL')
  log.roll()
  await turns()
  t.ok(currentIsSynced(log))
  const second = log.commit('FSYNC_WAL')
  t.equal(await settled(first), 'waits')
  t.equal(await settled(second), 'waits')
  t.same(disk.durable(), [], 'only the older segment is missing')
  disk.release(older)
  await Promise.all([first, second])
  t.same(disk.durable(), [1])
  t.equal(await settled(log.commit('FSYNC_WAL')), 'resolved')
  await log.close()
})

void t.test('a group whose sync ends after the log has failed is rejected', async (t) => {
  const disk = new HeldSyncs()
  const log = openLog(disk.fileSystem)
  const current = `${directory}/000001.log`
  disk.hold(current)
  append(log, 1)
  const commit = log.commit('FSYNC_WAL')
  t.equal(await settled(commit), 'waits')
  disk.failsToCreate = true
  t.throws(() => log.roll(), { code: 'ERR_IO' })
  t.match(log.failure, { code: 'ERR_IO' })
  disk.release(current)
  t.equal(await settled(commit), 'rejected')
  await t.rejects(commit, { code: 'ERR_IO' })
  await log.close()
})
