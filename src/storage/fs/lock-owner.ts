/**
 * The owner of a directory: the content of the `LOCK` file, and the facts that identify a process.
 */
import * as nodeFs from 'node:fs'
import { hostname } from 'node:os'
import { threadId } from 'node:worker_threads'
import { systemRandomBytes } from '../../base/random-bytes.js'
import { systemCode } from './errors.js'
import { quietly } from './quietly.js'

/** The holder of a directory, or an opener that wants to be. Stored in the file as JSON. */
export interface LockOwner {
  /** 32 hexadecimal digits that no other lock ever has; part of file names. */
  readonly id: string
  readonly pid: number
  readonly threadId: number
  readonly hostname: string
  /** Start of the process in clock ticks since boot, if the system tells. */
  readonly startTime?: string | undefined
  /** Identifies the boot of the running kernel; equal in all containers of a machine. */
  readonly bootId?: string | undefined
  /** The namespace in which `pid` is valid. */
  readonly pidNamespace?: string | undefined
  /** Inode of the held directory: a copy of the directory has another one. */
  readonly inode: string
  /** Whether the owner listens on the socket of its id in the directory. */
  readonly socket: boolean
  /** Name and version of the runtime, shown to people only. */
  readonly runtime: string
}

/** Describes this thread as an owner. */
export function describeSelf(inode: bigint, socket: boolean): LockOwner {
  return {
    id: Buffer.from(systemRandomBytes(16)).toString('hex'),
    pid: process.pid,
    threadId,
    hostname: hostname(),
    startTime: startTimeOf(process.pid),
    bootId: readText('/proc/sys/kernel/random/boot_id')?.trim(),
    pidNamespace: linkTarget('/proc/self/ns/pid'),
    inode: String(inode),
    socket,
    runtime: runtimeName(),
  }
}

function runtimeName(): string {
  const { bun, deno, node } = process.versions
  if (bun !== undefined) return `Bun ${bun}`
  return deno === undefined ? `Node ${node}` : `Deno ${deno}`
}

/** Parses the text of a file; undefined if the text does not describe an owner. */
export function parseOwner(text: string): LockOwner | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return undefined
    const owner = value as Partial<LockOwner>
    if (typeof owner.id !== 'string' || !/^[0-9a-f]{32}$/.test(owner.id)) return undefined
    if (!Number.isSafeInteger(owner.pid) || owner.pid! <= 0) return undefined
    if (typeof owner.hostname !== 'string' || typeof owner.inode !== 'string') return undefined
    return owner as LockOwner
  } catch {
    return undefined
  }
}

/** State of a process. REQUIRES an owner of this machine and of this process namespace. */
export function processState(owner: LockOwner): 'alive' | 'dead' | 'unknown' {
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

/**
 * Start time of a process, field 22 of its stat file; `ended` for a zombie, undefined if unknown.
 */
function startTimeOf(pid: number): string | undefined {
  const text = readText(`/proc/${pid}/stat`)
  if (text === undefined) return undefined
  // The second field is the program's name, which may hold spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' ? 'ended' : fields[19]
}

function linkTarget(path: string): string | undefined {
  try {
    return nodeFs.readlinkSync(path)
  } catch {
    return undefined
  }
}

/** Larger than any file about an owner. */
const textBytesMax = 4096

/** The beginning of a small text file, or undefined if it cannot be read. */
export function readText(path: string): string | undefined {
  try {
    return readTextOrThrow(path)
  } catch {
    return undefined
  }
}

/** The beginning of a small text file. Throws the error of the system if it cannot be read. */
export function readTextOrThrow(path: string): string {
  const flags = nodeFs.constants.O_RDONLY | (nodeFs.constants.O_NOFOLLOW ?? 0)
  const descriptor = nodeFs.openSync(path, flags | (nodeFs.constants.O_NONBLOCK ?? 0))
  try {
    const buffer = Buffer.alloc(textBytesMax)
    return buffer.toString('utf8', 0, nodeFs.readSync(descriptor, buffer, 0, buffer.length, 0))
  } finally {
    quietly(() => nodeFs.closeSync(descriptor))
  }
}
