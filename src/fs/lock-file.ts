/**
 * Who owns a directory, decided with files alone: hard links, renames and unique names.
 *
 * - `LOCK` describes an owner. Whoever finds no `LOCK` links its own description to that name.
 * - Whoever finds an owner that is dead links its description to `LOCK.<id of the dead>.heir`. Of
 *   many heirs one succeeds, because ids are never used twice. An heir that died at once may have
 *   an heir itself, and so on: the last of that chain is the owner.
 * - An heir that still finds the same `LOCK` as before is the owner, and renames its description to
 *   `LOCK`. If `LOCK` has changed, others have finished meanwhile, and its claim goes.
 *
 * Only the owner changes or removes `LOCK`, so two living owners cannot be, in whatever order the
 * steps of openers mix and wherever one of them dies. REQUIRES that no living owner is judged dead.
 * On a file system without hard links a description is copied; then one that is found half written
 * for 50 ms counts as left by a crash.
 */
import * as nodeFs from 'node:fs'
import { join } from 'node:path'
import { systemCode } from './errors.js'
import { parseOwner, readText, type LockOwner } from './lock-owner.js'

/** Name of the file that says who holds a directory. */
export const lockFileName = 'LOCK'

/** Owners that may come and go while one opener tries. */
const attemptsMax = 20
/** How often a file that is still being written is read again, and the pause between in ms. */
const readAttemptsMax = 5
const readPauseMilliseconds = 10

/** What systems say that have no hard links, or not here. */
const withoutLinks: ReadonlySet<string | undefined> = new Set([
  'EACCES',
  'EMLINK',
  'ENOSYS',
  'ENOTSUP',
  'EOPNOTSUPP',
  'EPERM',
])

/** A file that describes an owner. */
export interface LockEntry {
  /** Of the owner; made of inode and time for a file that nobody can read. */
  readonly id: string
  readonly inode: bigint
  readonly text: string
  /** Undefined if the file is damaged, or its disk was full when it was written. */
  readonly owner: LockOwner | undefined
}

/** Whether somebody may hold the directory. */
export type Liveness = 'alive' | 'dead' | 'unknown'

/** What the rules need to know. */
export interface LockHost {
  /** Must say `dead` only of owners that will never act again. */
  judge(entry: LockEntry): Promise<Liveness>
  /** For tests: called before each step. */
  step?(): Promise<void>
}

/** Thrown if somebody else holds the directory. */
export class HeldElsewhere extends Error {
  override readonly name = 'HeldElsewhere'
  readonly owner: LockOwner | undefined
  readonly liveness: Liveness

  constructor(owner: LockOwner | undefined, liveness: Liveness) {
    super('the directory is held')
    this.owner = owner
    this.liveness = liveness
  }
}

/** Path of the socket of an owner. */
export function socketPathOf(directory: string, id: string): string {
  return join(directory, `${lockFileName}.${id}.socket`)
}

function heirPathOf(directory: string, id: string): string {
  return join(directory, `${lockFileName}.${id}.heir`)
}

/**
 * Makes `id` the owner of the directory with the description `text`; returns what `LOCK` is then.
 * Throws {@link HeldElsewhere}, or the error of the system.
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
      if (await attempt(directory, draft, host)) return readOwn(directory, id)
    }
    throw new HeldElsewhere(undefined, 'unknown')
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
    // Somebody who has given the directory back meanwhile is no reason to refuse.
    if ((await readEntry(path))?.id !== root.id) return false
    throw new HeldElsewhere(last.owner, liveness)
  }
  await host.step?.()
  const claim = heirPathOf(directory, last.id)
  if (!publish(draft, claim)) return false
  await host.step?.()
  if ((await readEntry(path))?.id !== root.id) {
    remove(claim)
    return false
  }
  await host.step?.()
  nodeFs.renameSync(claim, path)
  return true
}

/** Gives the directory back if `LOCK` is still the owner's. */
export function dropLockFile(directory: string, own: LockEntry): void {
  const path = join(directory, lockFileName)
  const found = lookAt(path)
  if (found?.inode === own.inode && found.text === own.text) nodeFs.unlinkSync(path)
}

/** Removes what openers that died have left, as far as it can be removed. Only for the owner. */
export async function removeLeftovers(
  directory: string,
  ownId: string,
  isDead: (id: string, owner: LockOwner | undefined) => Promise<boolean>,
): Promise<void> {
  for (const name of nodeFs.readdirSync(directory)) {
    const match = /^LOCK\.([\w-]+)\.(new|heir|socket)$/.exec(name)
    if (match === null || match[1] === ownId) continue
    const path = join(directory, name)
    // A claim to succeed somebody who is no longer in LOCK fails, so it is nobody's loss.
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

/** Gives the draft the name `to`, if that is free. */
function publish(draft: string, to: string): boolean {
  try {
    nodeFs.linkSync(draft, to)
    return true
  } catch (error) {
    const code = systemCode(error)
    // An answer of a network file system that was lost and asked for again says so as well.
    if (code === 'EEXIST') return lookAt(to)?.inode === lookAt(draft)?.inode
    if (!withoutLinks.has(code)) throw error
  }
  try {
    nodeFs.copyFileSync(draft, to, nodeFs.constants.COPYFILE_EXCL)
    return true
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false
    throw error
  }
}

/** Reads a description, with patience for one that is being written; undefined if none is there. */
async function readEntry(path: string): Promise<LockEntry | undefined> {
  let entry: LockEntry | undefined
  for (let i = 0; i < readAttemptsMax; i++) {
    if (i > 0) await pause(readPauseMilliseconds)
    entry = lookAt(path)
    if (entry === undefined || entry.owner !== undefined) break
  }
  return entry
}

function lookAt(path: string): LockEntry | undefined {
  const stat = nodeFs.lstatSync(path, { bigint: true, throwIfNoEntry: false })
  if (stat === undefined) return undefined
  const text = readText(path) ?? ''
  const owner = parseOwner(text)
  const id = owner?.id ?? `damaged-${stat.ino}-${stat.mtimeNs}`
  return { id, inode: stat.ino, text, owner }
}

function readOwn(directory: string, id: string): LockEntry {
  const entry = lookAt(join(directory, lockFileName))
  if (entry !== undefined) return entry
  return { id, inode: 0n, text: '', owner: undefined }
}

/** What stays harms nobody: no other lock ever has its name. */
function remove(path: string): void {
  try {
    nodeFs.rmSync(path, { force: true })
  } catch {
    return
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
