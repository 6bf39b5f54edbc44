/**
 * Who holds a directory: what the `LOCK` file says, and what the machine tells of this process.
 */
import * as nodeFs from 'node:fs'
import { hostname } from 'node:os'
import { threadId } from 'node:worker_threads'
import { systemRandomBytes } from '../base/random-bytes.js'
import { systemCode } from './errors.js'

/** One holder of a directory, or one who wants to be. Stands in the file as JSON. */
export interface LockOwner {
  /** 32 hexadecimal digits that no other lock ever has; part of file names. */
  readonly id: string
  readonly pid: number
  readonly threadId: number
  readonly hostname: string
  /** Start of the process in clock ticks since boot, where the system tells. */
  readonly startTime?: string | undefined
  /** Of the running kernel; all containers of a machine have the same. */
  readonly bootId?: string | undefined
  /** Process ids mean something only within one. */
  readonly pidNamespace?: string | undefined
  /** Of the directory that is held: a copy of the directory has another one. */
  readonly inode: string
  /** Whether the owner listens on the socket of its id beside the file. */
  readonly socket: boolean
  /** For people. */
  readonly runtime: string
}

/** Facts about this thread that an owner has. */
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

/** What a file says, or undefined if it is no description of an owner. */
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

/** What is known of a process of this machine and of this process namespace. */
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

/** Field 22 of the process's stat; `ended` for one that waits for its parent only. */
function startTimeOf(pid: number): string | undefined {
  const text = readText(`/proc/${pid}/stat`)
  if (text === undefined) return undefined
  // The second field, the program's name, may hold spaces and parentheses itself.
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

/** More than any file about an owner. */
const textBytesMax = 4096

/** The beginning of a small text file, or undefined if it cannot be read. */
export function readText(path: string): string | undefined {
  const flags = nodeFs.constants.O_RDONLY | (nodeFs.constants.O_NOFOLLOW ?? 0)
  let descriptor: number
  try {
    descriptor = nodeFs.openSync(path, flags | (nodeFs.constants.O_NONBLOCK ?? 0))
  } catch {
    return undefined
  }
  try {
    const buffer = Buffer.alloc(textBytesMax)
    return buffer.toString('utf8', 0, nodeFs.readSync(descriptor, buffer, 0, buffer.length, 0))
  } catch {
    return undefined
  } finally {
    nodeFs.closeSync(descriptor)
  }
}
