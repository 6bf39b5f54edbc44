/**
 * Backups of an open database, with rotation.
 *
 * With a number of backups to keep, the target is a folder of backups that are named by their
 * times, and the oldest ones are removed when a new one is complete and its name is on the disk.
 * Only folders with such a name that hold a backup are ever removed. They lose their name first, so
 * a folder with such a name is whole, also when a removal is interrupted; the next one ends it.
 */
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { invalidArgument, systemClock } from '../../api/index.js'
import { NodeFileSystem } from '../../entries/index.js'
import { makeDurableDirectory } from '../../storage/engine/open/make-directory.js'

const stamp = /^\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}\.\d{3}Z$/
const unfinished = '.unfinished'
/** Suffix of the name of a backup that is being removed. */
const removing = '.removing'

/** Whether a name is that of a backup in a folder of backups. */
export function isBackupName(name: string): boolean {
  return stamp.test(name)
}

/** The steps of a backup. */
export interface BackupSteps<Summary, Checked> {
  /** Makes the backup, or brings it up to date. */
  readonly run: (directory: string) => Promise<Summary>
  /** Reads the whole backup afterwards; undefined: it is not read. */
  readonly verify: ((directory: string) => Promise<Checked>) | undefined
}

/** Where a backup is, and what was found and done afterwards. */
export interface MadeBackup<Checked> {
  /** Path of the backup. */
  readonly directory: string
  /** Names of older backups that were removed. */
  readonly removed: readonly string[]
  /** Only if the backup was to be verified. */
  readonly verification?: Checked
}

/** Makes a backup in `target`, or with `keep` in a new directory of the folder `target`. */
export async function makeBackup<Summary, Checked extends { readonly sound: boolean }>(
  target: string,
  keep: number | undefined,
  { run, verify }: BackupSteps<Summary, Checked>,
): Promise<MadeBackup<Checked> & Summary> {
  const [directory, summary] =
    keep === undefined ? [target, await run(target)] : await addTo(target, run)
  const verification = await verify?.(directory)
  // A backup that is damaged must not replace a good one.
  const isLast = keep === undefined || verification?.sound === false
  const removed = isLast ? [] : rotate(target, keep)
  return { directory, ...summary, removed, ...(verification !== undefined && { verification }) }
}

/** A backup gets its name when it is complete, so a folder with such a name is whole. */
async function addTo<Summary>(
  folder: string,
  run: (directory: string) => Promise<Summary>,
): Promise<[directory: string, summary: Summary]> {
  const fileSystem = new NodeFileSystem()
  makeDurableDirectory(fileSystem, folder)
  if (existsSync(join(folder, 'BACKUP'))) {
    throw invalidArgument(`${folder} is a backup, not a folder of backups`)
  }
  const path = join(folder, unfinished)
  const summary = await run(path)
  const directory = join(folder, nextName(readdirSync(folder).filter(isBackupName)))
  renameSync(path, directory)
  for (const each of [folder, dirname(folder)]) fileSystem.syncDirectorySync(each)
  return [directory, summary]
}

/** The name of a backup of now; after all others, also if the clock was set back. */
function nextName(names: readonly string[]): string {
  const newest =
    [...names]
      .sort()
      .at(-1)
      ?.replace(/T(\d\d)-(\d\d)-/, 'T$1:$2:') ?? ''
  const after = Number.isNaN(Date.parse(newest)) ? 0 : Date.parse(newest) + 1
  return new Date(Math.max(systemClock.now(), after)).toISOString().replaceAll(':', '-')
}

/** Removes the oldest backups, and returns their names. */
function rotate(folder: string, keep: number): string[] {
  const found = readdirSync(folder)
  const names = found
    .filter((name) => isBackupName(name) && existsSync(join(folder, name, 'BACKUP')))
    .sort()
  const old = names.slice(0, Math.max(0, names.length - keep))
  for (const name of old) renameSync(join(folder, name), join(folder, name + removing))
  const left = found.filter(
    (name) => name.endsWith(removing) && isBackupName(name.slice(0, -removing.length)),
  )
  for (const name of [...left, ...old.map((each) => each + removing)]) {
    rmSync(join(folder, name), { recursive: true })
  }
  return old
}
