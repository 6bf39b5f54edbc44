/** `cellar backup` and `cellar restore`: backups with rotation, of a directory or by a server. */
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CellarError, ErrorCode } from '../../api/index.js'
import { Database, type BackupSummary } from '../../entries/index.js'
import { isBackupName, makeBackup, type MadeBackup } from './backups.js'
import { RemoteDatabase } from '../../server/database/client.js'
import { withRows } from '../../server/database/json.js'
import { parseCount } from '../../server/database/views.js'
import { ExitCode } from '../exit-codes.js'
import { tokenOf } from '../messaging-cli.js'
import type { LookingWords } from './looking.js'
import { writing, type DirectoryWords } from './open.js'
import { Output, shownSize } from './output.js'
import { Progress } from './progress.js'
import { showVerification, verificationToJson, type JsonVerification } from './verify.js'

/** Options of `cellar backup`. */
export interface BackupWords extends LookingWords {
  readonly keep?: string
  readonly verify?: true
}

type Made = MadeBackup<JsonVerification> & BackupSummary

/** Backs up a directory, or has a server back up its own. */
export async function backup(target: string, words: BackupWords): Promise<void> {
  const output = new Output(words.json === true)
  const { url } = words
  const keep = words.keep === undefined ? undefined : parseCount(words.keep, '--keep')
  const made =
    url === undefined
      ? await backUp(target, keep, words)
      : await new RemoteDatabase(url, await tokenOf(words)).backup<Made>(target, {
          ...{ keep, verify: words.verify },
        })
  if (made.verification?.sound === false) process.exitCode = ExitCode.problems
  if (output.json) {
    await output.value(made)
    return
  }
  const { directory, sequence, files, bytes, filesKept, filesLinked, filesCopied } = made
  const how = `${filesKept} kept, ${filesLinked} linked, ${filesCopied} copied`
  await output.line(
    `${directory}: ${files} files of ${shownSize(bytes)} (${how}), sequence ${sequence}`,
  )
  for (const name of made.removed) await output.line(`removed ${join(dirname(directory), name)}`)
  if (made.verification !== undefined) await showVerification(output, withRows(made.verification))
}

function backUp(target: string, keep: number | undefined, words: BackupWords): Promise<Made> {
  const progress = new Progress('backing up')
  const onProgress = progress.part
  return makeBackup(target, keep, {
    run: (to) =>
      writing(words, (database) => database.backup(to, { onProgress })).finally(() => {
        progress.end()
      }),
    verify: words.verify && (async (path) => verificationToJson(await Database.verify(path))),
  })
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
  if (!existsSync(source)) throw new CellarError(ErrorCode.notABackup, `${source} does not exist`)
  if (existsSync(join(source, 'BACKUP'))) return source
  let names: string[] = []
  try {
    names = readdirSync(source).filter(isBackupName)
  } catch {
    // A file: the restore says that it holds no backup.
  }
  const newest = names.sort().at(-1)
  return newest === undefined ? source : join(source, newest)
}
