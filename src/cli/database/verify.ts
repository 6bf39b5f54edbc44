/** `cellar verify`: reads everything and lists all problems. */
import { Database, type LostRows, type Problem, type Verification } from '../../entries/index.js'
import { shownBytes } from '../../api/results/display.js'
import { ExitCode } from '../exit-codes.js'
import { bytesToJson } from './binary-text.js'
import { parseCount } from './looking.js'
import type { DirectoryWords } from './open.js'
import { Output, shownSize } from './output.js'
import { Progress } from './progress.js'

/** Options of `cellar verify`. */
export interface VerifyWords extends DirectoryWords {
  readonly backup?: string
  readonly bytesPerSecond?: string
}

/** Verifies a directory; the exit code tells whether it is sound. */
export async function verify(words: VerifyWords): Promise<void> {
  const { directory, backup, bytesPerSecond } = words
  const output = new Output(words.json === true)
  const progress = new Progress('verifying')
  const verification = await Database.verify(directory, {
    backup,
    ...(bytesPerSecond !== undefined && {
      bytesPerSecondMax: parseCount(bytesPerSecond, '--bytes-per-second'),
    }),
    onProgress: progress.part,
  }).finally(() => progress.end())
  if (output.json) await output.value(verificationToJson(verification))
  else await showVerification(output, verification)
  if (!verification.sound) process.exitCode = ExitCode.problems
}

/** The verification with its rows as JSON can hold them. */
export function verificationToJson(verification: Verification): object {
  return { ...verification, problems: verification.problems.map(problemToJson) }
}

/** A problem with its rows as JSON can hold them. */
export function problemToJson({ rows, ...problem }: Problem): object {
  return { ...problem, ...(rows !== undefined && { rows: rows.map(rowsToJson) }) }
}

/** Lost rows as JSON can hold them. */
export function rowsToJson({ firstRow, lastRow, offset, bytes }: LostRows): object {
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
