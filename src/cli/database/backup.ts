/**
 * `cellar backup` and `cellar restore`: backups of a closed database, with rotation.
 *
 * With `--keep N` the target is a folder of backups that are named by their times, and the oldest
 * ones are removed when a new one is complete. Only folders with such a name that hold a backup are
 * ever removed.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { CellarError, ErrorCode } from '../../api/index.js'
import { systemClock } from '../../base/clock.js'
import { Database, type BackupSummary } from '../../entries/index.js'
import { ExitCode } from '../exit-codes.js'
import { parseCount } from '../../server/database/views.js'
import { writing, type DirectoryWords } from './open.js'
import { Output, shownSize } from './output.js'
import { Progress } from './progress.js'
import { showVerification, verificationToJson } from './verify.js'

/** Options of `cellar backup`. */
export interface BackupWords extends DirectoryWords {
  readonly keep?: string
  readonly verify?: true
}

const stamp = /^\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}\.\d{3}Z$/
const unfinished = '.unfinished'

/** Backs up a directory. */
export async function backup(target: string, words: BackupWords): Promise<void> {
  const output = new Output(words.json === true)
  const keep = words.keep === undefined ? undefined : parseCount(words.keep, '--keep')
  const progress = new Progress('backing up')
  const { place, summary } = await writing(words, (database) => {
    const run = (to: string): Promise<BackupSummary> =>
      database.backup(to, { onProgress: progress.part })
    return keep === undefined ? plain(target, run) : rotating(target, run)
  }).finally(() => progress.end())
  const verification = words.verify ? await Database.verify(place) : undefined
  if (verification?.sound === false) process.exitCode = ExitCode.problems
  // A backup that is damaged must not replace a good one.
  const removed = keep === undefined || verification?.sound === false ? [] : rotate(target, keep)
  if (output.json) {
    const checked = verification && { verification: verificationToJson(verification) }
    await output.value({ directory: place, ...summary, removed, ...checked })
    return
  }
  const { sequence, files, bytes, filesKept, filesLinked, filesCopied } = summary
  const how = `${filesKept} kept, ${filesLinked} linked, ${filesCopied} copied`
  await output.line(
    `${place}: ${files} files of ${shownSize(bytes)} (${how}), sequence ${sequence}`,
  )
  for (const name of removed) await output.line(`removed ${join(target, name)}`)
  if (verification !== undefined) await showVerification(output, verification)
}

interface Made {
  readonly place: string
  readonly summary: BackupSummary
}

async function plain(target: string, run: (to: string) => Promise<BackupSummary>): Promise<Made> {
  return { place: target, summary: await run(target) }
}

/** A backup gets its name when it is complete, so a folder with such a name is whole. */
async function rotating(
  target: string,
  run: (to: string) => Promise<BackupSummary>,
): Promise<Made> {
  mkdirSync(target, { recursive: true, mode: 0o700 })
  const path = join(target, unfinished)
  const summary = await run(path)
  const name = new Date(systemClock.now()).toISOString().replaceAll(':', '-')
  renameSync(path, join(target, name))
  return { place: join(target, name), summary }
}

/** Removes the oldest backups, and returns their names. */
function rotate(target: string, keep: number): string[] {
  const names = readdirSync(target)
    .filter((name) => stamp.test(name) && existsSync(join(target, name, 'BACKUP')))
    .sort()
  const old = names.slice(0, Math.max(0, names.length - keep))
  for (const name of old) rmSync(join(target, name), { recursive: true })
  return old
}

/** Options of `cellar restore`. */
export type RestoreWords = DirectoryWords

/** Restores a backup, or the newest of a folder of backups, into a new directory. */
export async function restore(source: string, words: RestoreWords): Promise<void> {
  const output = new Output(words.json === true)
  const from = newestOf(source)
  const progress = new Progress('restoring')
  await Database.restore(from, words.directory, { onProgress: progress.part }).finally(() => {
    progress.end()
  })
  if (output.json) await output.value({ backup: from, directory: words.directory })
  else await output.line(`${words.directory} holds the backup ${from}`)
}

function newestOf(source: string): string {
  if (!existsSync(source)) {
    throw new CellarError(ErrorCode.notABackup, `${source} does not exist`)
  }
  if (existsSync(join(source, 'BACKUP'))) return source
  let names: string[] = []
  try {
    names = readdirSync(source).filter((name) => stamp.test(name))
  } catch {
    // A file: the restore says that it holds no backup.
  }
  const newest = names.sort().at(-1)
  return newest === undefined ? source : join(source, newest)
}
