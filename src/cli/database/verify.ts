/** `cellar verify`: reads everything and lists all problems. */
import { Database, type LostRows, type Problem, type Verification } from '../../entries/index.js'
import { invalidArgument } from '../../api/index.js'
import { shownBytes } from '../../api/results/display.js'
import { ExitCode } from '../exit-codes.js'
import { RemoteDatabase } from '../../server/database/client.js'
import { bytesToJson, withRows, type JsonBytes } from '../../server/database/json.js'
import { tokenOf } from '../messaging-cli.js'
import { parseCount } from '../../server/database/views.js'
import type { LookingWords } from './looking.js'
import { Output, shownSize } from './output.js'
import { Progress } from './progress.js'

/** Options of `cellar verify`. */
export interface VerifyWords extends LookingWords {
  readonly backup?: string
  readonly bytesPerSecond?: string
}

/** Verifies a directory; the exit code tells whether it is sound. */
export async function verify(words: VerifyWords): Promise<void> {
  const { directory, backup, bytesPerSecond, url } = words
  const output = new Output(words.json === true)
  if (url !== undefined) {
    if (backup !== undefined) throw invalidArgument('--backup is of directories, not of --url')
    const server = new RemoteDatabase(url, await tokenOf(words))
    const found = withRows<Verification>(await server.verify(bytesPerSecond))
    await tell(output, found)
    return
  }
  const progress = new Progress('verifying')
  const verification = await Database.verify(directory, {
    backup,
    ...(bytesPerSecond !== undefined && {
      bytesPerSecondMax: parseCount(bytesPerSecond, '--bytes-per-second'),
    }),
    onProgress: progress.part,
  }).finally(() => progress.end())
  await tell(output, verification)
}

async function tell(output: Output, verification: Verification): Promise<void> {
  // Before the output: `cellar verify | head` ends there.
  if (!verification.sound) process.exitCode = ExitCode.problems
  if (output.json) await output.value(verificationToJson(verification))
  else await showVerification(output, verification)
}

type JsonRows = Record<'firstRow' | 'lastRow', JsonBytes> & Record<'offset' | 'bytes', number>

type JsonProblem = Omit<Problem, 'rows'> & { readonly rows?: readonly JsonRows[] }

/** A verification in JSON. */
export type JsonVerification = Omit<Verification, 'problems'> & {
  readonly problems: readonly JsonProblem[]
}

/** The verification with its rows as JSON can hold them. */
export function verificationToJson(verification: Verification): JsonVerification {
  return { ...verification, problems: verification.problems.map(problemToJson) }
}

/** A problem with its rows as JSON can hold them. */
export function problemToJson({ rows, ...problem }: Problem): JsonProblem {
  return { ...problem, ...(rows !== undefined && { rows: rows.map(rowsToJson) }) }
}

/** Lost rows as JSON can hold them. */
export function rowsToJson({ firstRow, lastRow, offset, bytes }: LostRows): JsonRows {
  return { firstRow: bytesToJson(firstRow), lastRow: bytesToJson(lastRow), offset, bytes }
}

/** Writes a verification for people. */
export async function showVerification(output: Output, found: Verification): Promise<void> {
  for (const problem of found.problems) await showProblem(output, problem)
  for (const remark of found.remarks) await output.line(`note: ${remark}`)
  const { files, bytes, entries, logSegments, mutations, lastSequence, problems } = found
  const log = `${logSegments} log segments with ${mutations} mutations`
  await output.line(`read ${files} files of ${shownSize(bytes)}, ${entries} entries, ${log}`)
  await output.line(
    problems.length === 0
      ? `${found.directory} is sound up to sequence ${lastSequence}`
      : `${found.directory} has ${problems.length} problems`,
  )
}

async function showProblem(output: Output, problem: Problem): Promise<void> {
  const { message, table, family, entriesLost, rows = [] } = problem
  await output.line(`${problem.kind}: ${message}`)
  if (table !== undefined) {
    await output.line(`  of ${table}:${family ?? ''}, ${entriesLost ?? 0} entries cannot be read`)
  }
  for (const { firstRow, lastRow, offset, bytes } of rows) {
    const place = `${bytes} bytes at ${offset}`
    await output.line(`  rows ${shownBytes(firstRow)} to ${shownBytes(lastRow)} (${place})`)
  }
}
