/**
 * Decides who owns a directory, with files alone: hard links, renames and unique names.
 *
 * - `LOCK` describes the owner. An opener that finds no `LOCK` links its own description to that
 *   name.
 * - An opener that finds a dead owner links its description to `LOCK.<id of the dead owner>.heir`.
 *   Only one opener succeeds, because ids are never used twice. If such an heir dies at once, it
 *   can have an heir itself, and so on. The last heir of that chain is then the owner.
 * - An heir that still finds the same `LOCK` as before becomes the owner, and renames its
 *   description to `LOCK`. If `LOCK` has changed, another opener was faster, and the heir removes
 *   its claim.
 *
 * Only the owner changes or removes `LOCK`. So there are never two living owners, however the steps
 * of openers interleave and wherever one of them dies. REQUIRES that no living owner is judged
 * dead. On a file system without hard links the description is copied. A copy that is still
 * incomplete after 40 ms counts as left by a crash.
 */
import * as nodeFs from 'node:fs'
import { join } from 'node:path'
import type { CellarError } from '../../base/errors.js'
import { refusesLinks, systemCode } from './errors.js'
import { parseOwner, readText, readTextOrThrow, type LockOwner } from './lock-owner.js'
import { quietly } from './quietly.js'

/** Name of the file that says who holds a directory. */
export const lockFileName = 'LOCK'

/**
 * Attempts of one opener; each fails if another opener takes or releases the directory meanwhile.
 */
const attemptsMax = 20
/** How often an incomplete file is read, and the pause between two reads. */
const readAttemptsMax = 5
const readPauseMilliseconds = 10

/** A file that describes an owner, as it was read. */
export interface LockEntry {
  /** The owner's id; for a file without a readable description, made of inode and time. */
  readonly id: string
  readonly inode: bigint
  readonly text: string
  /** Undefined if the file is damaged, or was written empty because its disk was full. */
  readonly owner: LockOwner | undefined
}

/** Whether the owner of a file still holds the directory. */
export type Liveness = 'alive' | 'dead' | 'unknown'

/** The judgement that the rules need from their caller. */
export interface LockHost {
  /** Must return `dead` only for owners that will never act again. */
  judge(entry: LockEntry): Promise<Liveness>
  /** Makes the error for a directory that another opener holds. */
  held(owner: LockOwner | undefined, liveness: Liveness): CellarError
  /** For tests: called before each step, to interleave openers. */
  step?(): Promise<void>
}

/** Path of the socket of an owner. */
export function socketPathOf(directory: string, id: string): string {
  return join(directory, `${lockFileName}.${id}.socket`)
}

function heirPathOf(directory: string, id: string): string {
  return join(directory, `${lockFileName}.${id}.heir`)
}

/**
 * Makes `id` the owner of the directory, with the description `text`. Returns the contents of
 * `LOCK` afterwards. Throws the error of {@link LockHost.held}, or one of the system.
 */
export async function takeLockFile(
  directory: string,
  id: string,
  text: string,
  host: LockHost,
): Promise<LockEntry> {
  const draft = join(directory, `${lockFileName}.${id}.new`)
  writeDraft(draft, text)
  try {
    for (let i = 0; i < attemptsMax; i++) {
      if (await attempt(directory, draft, host)) return ownEntry(directory, id, text)
    }
    throw host.held(undefined, 'unknown')
  } finally {
    remove(draft)
  }
}

async function attempt(directory: string, draft: string, host: LockHost): Promise<boolean> {
  const path = join(directory, lockFileName)
  await host.step?.()
  const root = await readEntry(path)
  if (root === undefined) {
    await host.step?.()
    return publish(draft, path)
  }
  let last = root
  for (;;) {
    await host.step?.()
    const heir = await readEntry(heirPathOf(directory, last.id))
    if (heir === undefined) break
    last = heir
  }
  const liveness = await host.judge(last)
  if (liveness !== 'dead') {
    await host.step?.()
    // The owner has released the directory meanwhile, so this opener tries again.
    if ((await readEntry(path))?.id !== root.id) return false
    throw host.held(last.owner, liveness)
  }
  await host.step?.()
  const claim = heirPathOf(directory, last.id)
  if (!publish(draft, claim)) return false
  let isOwner = false
  try {
    await host.step?.()
    if ((await readEntry(path))?.id === root.id) {
      await host.step?.()
      nodeFs.renameSync(claim, path)
      isOwner = true
    }
  } finally {
    // A claim that stays excludes other processes for as long as this one lives.
    if (!isOwner) remove(claim)
  }
  return isOwner
}

/** Removes `LOCK` if it is still the file of this owner. */
export function dropLockFile(directory: string, own: LockEntry): void {
  const path = join(directory, lockFileName)
  const found = lookAt(path)
  if (found?.inode === own.inode && found.text === own.text) nodeFs.unlinkSync(path)
}

/** Removes files that dead openers have left, as far as possible. Only the owner may call this. */
export async function removeLeftovers(
  directory: string,
  ownId: string,
  isDead: (id: string, owner: LockOwner | undefined) => Promise<boolean>,
): Promise<void> {
  for (const name of nodeFs.readdirSync(directory)) {
    const match = /^LOCK\.([\w-]+)\.(new|heir|socket)$/.exec(name)
    if (match === null || match[1] === ownId) continue
    const path = join(directory, name)
    // The claim of an heir is of no use once its predecessor is not in LOCK: the heir will give
    // up.
    if (match[2] === 'heir') remove(path)
    else if (match[2] === 'socket') {
      if (await isDead(match[1], undefined)) remove(path)
    } else {
      const owner = parseOwner(readText(path) ?? '')
      if (owner !== undefined && (await isDead(match[1], owner))) remove(path)
    }
  }
}

/** Ids of all sockets in the directory. */
export function listSockets(directory: string): string[] {
  const ids: string[] = []
  for (const name of nodeFs.readdirSync(directory)) {
    const match = /^LOCK\.([0-9a-f]{32})\.socket$/.exec(name)
    if (match !== null) ids.push(match[1])
  }
  return ids
}

function writeDraft(path: string, text: string): void {
  try {
    nodeFs.writeFileSync(path, text, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    remove(path)
    throw error
  }
}

/**
 * Gives the draft the name `to`, if no file has that name. Returns whether the name is the draft's.
 */
function publish(draft: string, to: string): boolean {
  try {
    nodeFs.linkSync(draft, to)
    return true
  } catch (error) {
    const code = systemCode(error)
    // A network file system may have linked, lost the answer and repeated the request.
    if (code === 'EEXIST') return lookAt(to)?.inode === lookAt(draft)?.inode
    if (!refusesLinks(error)) throw error
  }
  try {
    nodeFs.copyFileSync(draft, to, nodeFs.constants.COPYFILE_EXCL)
    return true
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false
    throw error
  }
}

/** Reads a description, and waits for one that is incomplete; undefined if there is no file. */
async function readEntry(path: string): Promise<LockEntry | undefined> {
  let entry: LockEntry | undefined
  for (let i = 0; i < readAttemptsMax; i++) {
    if (i > 0) await pause(readPauseMilliseconds)
    entry = lookAt(path)
    if (entry === undefined || entry.owner !== undefined) break
  }
  return entry
}

/**
 * Looks at a description; undefined if there is no file. Throws the error of the system for a file
 * that cannot be read: it may be that of a living owner, and is not damaged.
 */
function lookAt(path: string): LockEntry | undefined {
  const stat = nodeFs.lstatSync(path, { bigint: true, throwIfNoEntry: false })
  if (stat === undefined) return undefined
  let text = ''
  try {
    if (stat.isFile()) text = readTextOrThrow(path)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
  const owner = parseOwner(text)
  const id = owner?.id ?? `damaged-${stat.ino}-${stat.mtimeNs}`
  return { id, inode: stat.ino, text, owner }
}

/** `LOCK` after it got the description `text`. An error gives the directory back. */
function ownEntry(directory: string, id: string, text: string): LockEntry {
  const path = join(directory, lockFileName)
  try {
    const stat = nodeFs.lstatSync(path, { bigint: true, throwIfNoEntry: false })
    return { id, inode: stat?.ino ?? 0n, text, owner: parseOwner(text) }
  } catch (error) {
    remove(path)
    throw error
  }
}

/**
 * Removes a file if possible. A file that stays is harmless, because no other lock ever uses its
 * name.
 */
function remove(path: string): void {
  quietly(() => nodeFs.unlinkSync(path))
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
