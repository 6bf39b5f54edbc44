/**
 * Exclusive ownership of a directory of the machine.
 *
 * The file `LOCK` decides (lock-file.ts), by the same steps in every runtime. Its owner counts as
 * long as the owner's process lives. Process id, start time, process namespace and boot id identify
 * the process. A socket in the directory (lock-socket.ts) answers where process ids cannot: for
 * owners in other containers of the machine, and for threads of this process that have ended.
 *
 * An owner that cannot be judged counts as alive; the error says how to remove its file.
 */
import * as nodeFs from 'node:fs'
import { hostname } from 'node:os'
import { CellarError, ErrorCode } from '../../base/errors.js'
import { DirectoryHandle, type DirectoryBinding } from './directory-handle.js'
import { fileError, systemCode } from './errors.js'
import {
  dropLockFile,
  listSockets,
  lockFileName,
  removeLeftovers,
  socketPathOf,
  takeLockFile,
  type Liveness,
  type LockEntry,
  type LockHost,
} from './lock-file.js'
import { describeSelf, parseOwner, processState, readText, type LockOwner } from './lock-owner.js'
import { askSocket, LockSocket, type SocketAnswer } from './lock-socket.js'
import { quietly } from './quietly.js'
import type { DirectoryLock } from './types.js'

/**
 * How often a socket is made again after another process removed it; then the lock goes without.
 */
const socketAttemptsMax = 3

/**
 * Numbers of file systems that only one running kernel mounts at a time: ext, XFS, Btrfs, tmpfs,
 * ramfs, overlay, ZFS, F2FS, bcachefs. On these, an owner of another boot is dead.
 */
const localFileSystems: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x858458f6, 0x794c7630, 0x2fc12fc1, 0xf2f52010,
  0xca451a4e,
])

/** Settings for tests. */
export interface LockOptions {
  /** False: no sockets, as on systems other than Linux. Default: by platform. */
  readonly sockets?: boolean
  /** False: no paths through descriptors, as on systems other than Linux. Default: by platform. */
  readonly descriptors?: boolean
  /** Whether only this machine uses the disk. Default: by the type of the file system. */
  readonly localDisk?: boolean
}

/** Directories that this thread holds or is taking, as `device:inode`. */
const heldHere = new Set<string>()

/**
 * Takes a directory for this opener alone. Rejects without waiting for the owner: with
 * `ERR_LOCKED`; with `ERR_READ_ONLY` if the directory cannot be written; with `ERR_IO` for other
 * errors. The lock does not keep the event loop alive.
 */
export async function lockDirectory(
  directory: string,
  options: LockOptions = {},
): Promise<NodeDirectoryLock> {
  const linux = process.platform === 'linux'
  const handle = DirectoryHandle.openSync(directory, options.descriptors ?? linux)
  const { key } = handle
  if (heldHere.has(key)) {
    const owner = parseOwner(readText(`${handle.path}/${lockFileName}`) ?? '')
    handle.closeSync()
    throw lockedError(directory, owner, 'alive')
  }
  heldHere.add(key)
  try {
    const attempt = new LockAttempt(handle, options)
    for (let i = 1; ; i++) {
      const useSocket = (options.sockets ?? linux) && i <= socketAttemptsMax
      const parts = await attempt.run(useSocket)
      if (parts !== undefined) return new NodeDirectoryLock(handle, parts)
    }
  } catch (error) {
    heldHere.delete(key)
    handle.closeSync()
    throw error instanceof CellarError ? error : cannotLock(directory, error)
  }
}

/** The file and the socket of a lock. */
interface LockParts {
  readonly entry: LockEntry
  readonly socket: LockSocket | undefined
}

/** A locked directory. The lock ends with the thread that made it. */
export class NodeDirectoryLock implements DirectoryLock {
  private readonly handle: DirectoryHandle
  private readonly parts: LockParts
  private released: Promise<void> | undefined = undefined

  constructor(handle: DirectoryHandle, parts: LockParts) {
    this.handle = handle
    this.parts = parts
  }

  /** How to reach the directory while it is held, also from worker threads. */
  get binding(): DirectoryBinding {
    return this.handle.binding
  }

  /** False once {@link release} has begun. */
  get isHeld(): boolean {
    return this.released === undefined
  }

  release(): Promise<void> {
    this.released ??= this.giveBack()
    return this.released
  }

  /** Removes the file first: as long as the file exists, its owner must answer on its socket. */
  private async giveBack(): Promise<void> {
    const { handle, parts } = this
    try {
      dropLockFile(handle.path, parts.entry)
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') {
        throw fileError('unlock', handle.binding.directory, error)
      }
    } finally {
      await parts.socket?.close()
      heldHere.delete(handle.key)
      handle.closeSync()
    }
  }
}

/** One attempt to take the lock. */
class LockAttempt {
  private readonly handle: DirectoryHandle
  private readonly options: LockOptions

  constructor(handle: DirectoryHandle, options: LockOptions) {
    this.handle = handle
    this.options = options
  }

  /**
   * Takes the directory. Returns undefined if the attempt lost its own socket and released the
   * lock.
   */
  async run(useSocket: boolean): Promise<LockParts | undefined> {
    const { path, binding } = this.handle
    const self = describeSelf(binding.inode, useSocket)
    const socketPath = socketPathOf(path, self.id)
    const socket = useSocket ? await LockSocket.listen(socketPath) : undefined
    let entry: LockEntry | undefined
    try {
      const own: LockOwner = { ...self, socket: socket !== undefined }
      entry = await this.take(own)
      await removeLeftovers(path, own.id, (id, owner) => this.isDead(own, id, owner))
      // An earlier owner may have removed the new socket as a leftover before this opener
      // listened.
      if (socket === undefined || (await socket.ask()) === 'alive') return { entry, socket }
      dropLockFile(path, entry)
    } catch (error) {
      // Else the file would exclude other processes for as long as this one lives.
      const taken = entry
      if (taken !== undefined) quietly(() => dropLockFile(path, taken))
      await socket?.close()
      throw error
    }
    await socket.close()
    return undefined
  }

  private async take(own: LockOwner): Promise<LockEntry> {
    const { path, binding } = this.handle
    const host: LockHost = {
      judge: (entry) => this.judge(own, entry),
      held: (owner, liveness) => lockedError(binding.directory, owner, liveness),
    }
    try {
      return await takeLockFile(path, own.id, `${JSON.stringify(own)}\n`, host)
    } catch (error) {
      const code = systemCode(error)
      if (!own.socket || (code !== 'ENOSPC' && code !== 'EDQUOT')) throw error
      // A full disk must not prevent reads. An empty file needs no space, and the socket
      // answers.
      return takeLockFile(path, own.id, '', host)
    }
  }

  private async isDead(own: LockOwner, id: string, owner?: LockOwner): Promise<boolean> {
    if (owner !== undefined) return (await this.judgeOwner(own, owner)) === 'dead'
    return (await this.ask(id)) === 'dead'
  }

  private ask(id: string): Promise<SocketAnswer> {
    return askSocket(socketPathOf(this.handle.path, id))
  }

  private async judge(own: LockOwner, { owner }: LockEntry): Promise<Liveness> {
    if (owner !== undefined) return this.judgeOwner(own, owner)
    // The file is damaged or empty. An owner that had no space for its description has a socket.
    for (const id of listSockets(this.handle.path)) {
      if (id !== own.id && (await this.ask(id)) !== 'dead') return 'alive'
    }
    return 'dead'
  }

  private async judgeOwner(own: LockOwner, owner: LockOwner): Promise<Liveness> {
    const sameName = owner.hostname === own.hostname
    if (owner.bootId === undefined || own.bootId === undefined) {
      if (!sameName) return 'unknown'
    } else if (owner.bootId !== own.bootId) {
      return sameName || this.isLocalDisk() ? 'dead' : 'unknown'
    }
    const answer = owner.socket ? await this.ask(owner.id) : 'unknown'
    if (answer === 'alive') return 'alive'
    const visible = owner.pidNamespace === own.pidNamespace
    const process = visible ? processState(owner) : 'unknown'
    if (process === 'dead') return 'dead'
    if (process === 'unknown') return answer
    // A living process keeps its directory, even if its socket is silent. Two cases explain the
    // silence: an ended thread of this process, and a LOCK file that came with a copy of a
    // directory.
    const explained = owner.pid === own.pid || owner.inode !== own.inode
    return answer === 'dead' && explained ? 'dead' : 'alive'
  }

  private isLocalDisk(): boolean {
    if (this.options.localDisk !== undefined) return this.options.localDisk
    try {
      return localFileSystems.has(nodeFs.statfsSync(this.handle.path).type)
    } catch {
      return false
    }
  }
}

function lockedError(
  directory: string,
  owner: LockOwner | undefined,
  liveness: Liveness,
): CellarError {
  let holder = 'another process'
  if (owner !== undefined) {
    const here = owner.pid === process.pid && owner.hostname === hostname()
    const self = here ? ' (this process)' : ''
    holder = `process ${owner.pid}${self}, thread ${owner.threadId} on ${owner.hostname}`
  }
  const advice =
    liveness !== 'unknown'
      ? '; close the database there first, or share one open database'
      : '; nothing can be seen of that process from here: if you are sure that it does not run, ' +
        `remove ${lockFileName} in the directory`
  return new CellarError(ErrorCode.locked, `${directory} is held by ${holder}${advice}`)
}

function cannotLock(directory: string, cause: unknown): CellarError {
  const error = fileError('lock', directory, cause)
  if (error.code !== ErrorCode.readOnly) return error
  const message = `${error.message}; a database needs a directory that it may write to`
  return new CellarError(ErrorCode.readOnly, message, { cause })
}
