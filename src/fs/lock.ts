/**
 * Exclusive ownership of a directory of the machine.
 *
 * The guard, where the system has them (Linux), is an abstract unix socket named by device and
 * inode of the directory: the kernel lets one process listen on it and gives it back however that
 * process dies, and every path to the directory leads to the same name. Beside it a file `LOCK`
 * tells who holds the directory.
 *
 * The `LOCK` file itself is the guard where sockets cannot be had: on other systems, where Node's
 * permission model forbids them, and between openers in different network namespaces, whose
 * abstract sockets do not meet. It then counts as long as its writer may be alive, judged by
 * process id, start time of the process and boot id of the machine; an owner on another machine
 * counts as alive. Two openers that find the same stale file at the same moment are told apart by
 * moving it away and by reading the new one back.
 *
 * Not covered: openers in different network *and* process namespaces (two containers that share a
 * volume), since neither sees the other's socket or process.
 */
import * as nodeFs from 'node:fs'
import { createServer } from 'node:net'
import type { Server } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { threadId } from 'node:worker_threads'
import { CellarError, ErrorCode } from '../base/errors.js'
import { fileError, systemCode } from './errors.js'
import type { DirectoryLock } from './types.js'

/** Name of the informative file in a locked directory. */
export const lockFileName = 'LOCK'

/** How often a file that is still being written is read again, and the pause between in ms. */
const readAttemptsMax = 5
const readPauseMilliseconds = 10
/** Owners that may come and go while one opener tries. */
const takeAttemptsMax = 10
/** How long a taker of a stale file waits before it makes sure that nobody else took it too. */
const confirmPauseMilliseconds = 50
/** More than any LOCK file of ours. */
const lockFileBytesMax = 4096

/** What the LOCK file says, as JSON. */
interface Owner {
  readonly pid: number
  readonly threadId: number
  readonly hostname: string
  /** Start of the process in clock ticks since boot, where the system tells. */
  readonly startTime?: string
  readonly bootId?: string
  readonly networkNamespace?: string
  /** What excludes others while this owner lives. */
  readonly guard: 'socket' | 'file'
  /** Makes every lock of a thread different. */
  readonly number: number
}

type Liveness = 'alive' | 'dead' | 'unknown'

/** Directories that this thread holds or is taking, as device:inode. */
const heldHere = new Set<string>()
let lockCount = 0

/**
 * Takes a directory for this opener alone, or rejects at once with `ERR_LOCKED`, with
 * `ERR_READ_ONLY` if the directory cannot be written, or with `ERR_IO`. The lock does not keep the
 * event loop alive.
 *
 * @param options.sockets false to use the LOCK file alone, as on systems without abstract sockets
 */
export async function lockDirectory(
  directory: string,
  options: { readonly sockets?: boolean } = {},
): Promise<DirectoryLock> {
  const key = directoryKey(directory)
  const path = join(directory, lockFileName)
  if (heldHere.has(key)) throw lockedError(directory, parseOwner(readText(path) ?? ''))
  heldHere.add(key)
  let server: Server | undefined
  try {
    const useSocket = options.sockets ?? process.platform === 'linux'
    const answer = useSocket ? await listen(`\0cellar-${key.replace(':', '-')}`) : 'unavailable'
    if (answer === 'held') throw lockedError(directory, await readOwner(path))
    if (answer !== 'unavailable') server = answer
    const text = await takeLockFile(directory, path, server === undefined ? 'file' : 'socket')
    return new NodeDirectoryLock(key, path, text, server)
  } catch (error) {
    await closeServer(server)
    heldHere.delete(key)
    throw error
  }
}

class NodeDirectoryLock implements DirectoryLock {
  private readonly key: string
  private readonly path: string
  /** Content of our LOCK file, by which we know it again; undefined if the disk was full. */
  private readonly text: string | undefined
  private readonly server: Server | undefined
  private released: Promise<void> | undefined

  constructor(key: string, path: string, text: string | undefined, server: Server | undefined) {
    this.key = key
    this.path = path
    this.text = text
    this.server = server
    this.released = undefined
  }

  release(): Promise<void> {
    this.released ??= this.giveBack()
    return this.released
  }

  /** The file goes first: once the socket is free, a file there belongs to the next owner. */
  private async giveBack(): Promise<void> {
    try {
      if (this.text !== undefined && readText(this.path) === this.text) {
        nodeFs.unlinkSync(this.path)
      }
    } catch (error) {
      // Behind a socket the file only informs; without one it would shut out the next opener.
      if (this.server === undefined && systemCode(error) !== 'ENOENT') {
        throw fileError('unlock', this.path, error)
      }
    } finally {
      await closeServer(this.server)
      heldHere.delete(this.key)
    }
  }
}

function directoryKey(directory: string): string {
  let stat: nodeFs.BigIntStats
  try {
    stat = nodeFs.statSync(directory, { bigint: true })
  } catch (error) {
    throw fileError('lock', directory, error)
  }
  if (!stat.isDirectory()) throw fileError('lock', directory, { code: 'ENOTDIR' })
  return `${stat.dev}:${stat.ino}`
}

/** Listens on an abstract socket; `held` if another process or thread does. */
function listen(name: string): Promise<Server | 'held' | 'unavailable'> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy())
    server.on('error', (error) => {
      resolve(systemCode(error) === 'EADDRINUSE' ? 'held' : 'unavailable')
    })
    try {
      // Exclusive: a worker of node:cluster must not share the socket of the primary process.
      server.listen({ path: name, exclusive: true }, () => resolve(server))
      server.unref()
    } catch {
      resolve('unavailable')
    }
  })
}

function closeServer(server: Server | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (server === undefined) resolve()
    else server.close(() => resolve())
  })
}

/** Writes the LOCK file, in place of a stale one if need be, and returns its text. */
async function takeLockFile(
  directory: string,
  path: string,
  guard: Owner['guard'],
): Promise<string | undefined> {
  const text = ownText(guard)
  let stale = false
  for (let i = 0; i < takeAttemptsMax; i++) {
    const failure = createLockFile(path, text)
    if (failure === undefined) {
      if (!stale || guard === 'socket') return text
      await pause(confirmPauseMilliseconds)
      if (readText(path) === text) return text
    } else if (systemCode(failure) !== 'EEXIST') {
      const code = systemCode(failure)
      // A full disk must not keep anyone from reading; behind a socket the file only informs.
      if (guard === 'socket' && (code === 'ENOSPC' || code === 'EDQUOT')) return undefined
      throw cannotLock(directory, failure)
    }
    const owner = await readOwner(path)
    // Another taker may have moved our file for a moment to look at it.
    if (readText(path) === text) return text
    if (owner !== undefined && excludes(owner, guard)) {
      throw lockedError(directory, owner, livenessOf(owner) === 'unknown' ? path : undefined)
    }
    stale = true
    removeStale(directory, path, owner)
  }
  throw lockedError(directory, undefined)
}

/** Creates the file with its text; returns the error if it could not. */
function createLockFile(path: string, text: string): unknown {
  try {
    nodeFs.writeFileSync(path, text, { flag: 'wx', mode: 0o600 })
    return undefined
  } catch (error) {
    const code = systemCode(error)
    // The name was free, so a file without its text is ours to remove.
    if (code === 'ENOSPC' || code === 'EDQUOT') nodeFs.rmSync(path, { force: true })
    return error
  }
}

/**
 * Moves a stale file away under a name of our own and looks at it again there: if another opener
 * has replaced it meanwhile, that one gets its file back and keeps the lock.
 */
function removeStale(directory: string, path: string, stale: Owner | undefined): void {
  const aside = `${path}.${process.pid}.${threadId}`
  try {
    nodeFs.renameSync(path, aside)
    const moved = parseOwner(readText(aside) ?? '')
    if (JSON.stringify(moved) !== JSON.stringify(stale)) {
      nodeFs.linkSync(aside, path)
      nodeFs.unlinkSync(aside)
      throw lockedError(directory, moved)
    }
    nodeFs.unlinkSync(aside)
  } catch (error) {
    const code = systemCode(error)
    if (error instanceof CellarError) throw error
    if (code !== 'ENOENT' && code !== 'EEXIST') throw cannotLock(directory, error)
  }
}

/** Whether an owner other than ourselves, found in the file, shuts us out. */
function excludes(owner: Owner, guard: Owner['guard']): boolean {
  const liveness = livenessOf(owner)
  if (guard === 'file' || owner.guard === 'file') return liveness !== 'dead'
  const namespace = networkNamespace()
  const apart =
    owner.networkNamespace !== undefined &&
    namespace !== undefined &&
    owner.networkNamespace !== namespace
  // In our own namespace a living owner would have held the socket that we have now.
  return apart && liveness === 'alive'
}

function livenessOf(owner: Owner): Liveness {
  const boot = bootId()
  if (boot === undefined || owner.bootId === undefined) {
    if (owner.hostname !== hostname()) return 'unknown'
  } else if (boot !== owner.bootId) {
    // Another machine, or this one before it was started again.
    return owner.hostname === hostname() ? 'dead' : 'unknown'
  }
  const startTime = startTimeOf(owner.pid)
  if (startTime !== undefined && owner.startTime !== undefined) {
    return startTime === owner.startTime ? 'alive' : 'dead'
  }
  try {
    process.kill(owner.pid, 0)
    return 'unknown'
  } catch (error) {
    return systemCode(error) === 'ESRCH' ? 'dead' : 'unknown'
  }
}

/** Field 22 of the process's stat; `ended` for one that waits for its parent only. */
function startTimeOf(pid: number): string | undefined {
  const text = readText(`/proc/${pid}/stat`)
  if (text === undefined) return undefined
  // The second field, the program's name, may hold spaces and parentheses itself.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' ? 'ended' : fields[19]
}

function bootId(): string | undefined {
  return readText('/proc/sys/kernel/random/boot_id')?.trim()
}

function networkNamespace(): string | undefined {
  try {
    return nodeFs.readlinkSync('/proc/self/ns/net')
  } catch {
    return undefined
  }
}

function ownText(guard: Owner['guard']): string {
  const owner: Owner = {
    pid: process.pid,
    threadId,
    hostname: hostname(),
    startTime: startTimeOf(process.pid),
    bootId: bootId(),
    networkNamespace: networkNamespace(),
    guard,
    number: ++lockCount,
  }
  return `${JSON.stringify(owner)}\n`
}

/** The beginning of a small text file, or undefined if it cannot be read. */
function readText(path: string): string | undefined {
  const flags = nodeFs.constants.O_RDONLY | (nodeFs.constants.O_NOFOLLOW ?? 0)
  let descriptor: number
  try {
    descriptor = nodeFs.openSync(path, flags | (nodeFs.constants.O_NONBLOCK ?? 0))
  } catch {
    return undefined
  }
  try {
    const buffer = Buffer.alloc(lockFileBytesMax)
    return buffer.toString('utf8', 0, nodeFs.readSync(descriptor, buffer, 0, buffer.length, 0))
  } catch {
    return undefined
  } finally {
    nodeFs.closeSync(descriptor)
  }
}

function parseOwner(text: string): Owner | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return undefined
    const owner = value as Partial<Owner>
    if (!Number.isSafeInteger(owner.pid) || owner.pid! <= 0) return undefined
    if (typeof owner.hostname !== 'string') return undefined
    return owner as Owner
  } catch {
    return undefined
  }
}

/** Reads who holds the directory, with patience for a file that is being written. */
async function readOwner(path: string): Promise<Owner | undefined> {
  for (let i = 0; i < readAttemptsMax; i++) {
    if (i > 0) await pause(readPauseMilliseconds)
    const owner = parseOwner(readText(path) ?? '')
    if (owner !== undefined) return owner
  }
  return undefined
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

/** @param staleFile the LOCK file, if it alone says that the owner may be alive */
function lockedError(directory: string, owner: Owner | undefined, staleFile?: string): CellarError {
  let holder = 'another process'
  if (owner !== undefined) {
    const here = owner.pid === process.pid && owner.hostname === hostname()
    const self = here ? ' (this process)' : ''
    holder = `process ${owner.pid}${self}, thread ${owner.threadId} on ${owner.hostname}`
  }
  const advice =
    staleFile === undefined
      ? '; close the database there first, or share one open database'
      : `; if you are sure that no process uses the directory, remove ${staleFile}`
  return new CellarError(ErrorCode.locked, `${directory} is held by ${holder}${advice}`)
}

function cannotLock(directory: string, cause: unknown): CellarError {
  const error = fileError('lock', directory, cause)
  if (error.code !== ErrorCode.readOnly) return error
  const message = `${error.message}; a database needs a directory that it may write to`
  return new CellarError(ErrorCode.readOnly, message, { cause })
}
