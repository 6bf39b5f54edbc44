/** `cellar salvage` and `cellar repair`: save the readable part, and list all losses. */
import { CellarError, ErrorCode } from '../../api/index.js'
import { shownBytes } from '../../api/results/display.js'
import { Database, type Loss, type Salvage } from '../../entries/index.js'
import { ExitCode } from '../exit-codes.js'
import { parseCount } from '../../server/database/views.js'
import type { DirectoryWords } from './open.js'
import { Output } from './output.js'
import { Progress } from './progress.js'
import { problemToJson, rowsToJson } from './verify.js'

/** Options of both verbs. */
export interface SalvageWords extends DirectoryWords {
  readonly backup?: string
  readonly log: 'all' | 'prefix'
  readonly bytesPerSecond?: string
}

function optionsOf({ backup, log, bytesPerSecond }: SalvageWords, progress: Progress) {
  return {
    ...{ backup, log, onProgress: progress.part },
    ...(bytesPerSecond !== undefined && {
      bytesPerSecondMax: parseCount(bytesPerSecond, '--bytes-per-second'),
    }),
  }
}

/** Saves a directory into a new one. The exit code tells whether something is lost. */
export async function salvage(target: string, words: SalvageWords): Promise<void> {
  const progress = new Progress('reading')
  const done = await Database.salvage(words.directory, target, optionsOf(words, progress)).finally(
    () => progress.end(),
  )
  if (done.losses.length > 0) process.exitCode = ExitCode.problems
  await report(done, words)
}

/** Options of `cellar repair`. */
export interface RepairWords extends SalvageWords {
  readonly apply?: true
}

/** Says what a repair would do, and with `--apply` does it. */
export async function repair(words: RepairWords): Promise<void> {
  const progress = new Progress('reading')
  const apply = words.apply === true
  const settings = optionsOf(words, progress)
  const plan = await Database.repair(words.directory, settings).finally(() => progress.end())
  if (!apply) {
    if (plan.problems.length > 0) process.exitCode = ExitCode.problems
    await report(plan, words)
    return
  }
  const output = new Output(words.json === true)
  if (plan.problems.length > 0) {
    output.note(`repairs ${plan.problems.length} problems; ${plan.losses.length} losses are listed`)
  }
  const done = await Database.repair(words.directory, { ...settings, apply }).finally(() => {
    progress.end()
  })
  if (!done.written && done.problems.length > 0) {
    throw new CellarError(ErrorCode.io, `${words.directory} was not repaired`)
  }
  if (done.losses.length > 0) process.exitCode = ExitCode.problems
  await report(done, words)
}

async function report(done: Salvage, { json }: SalvageWords): Promise<void> {
  const output = new Output(json === true)
  if (output.json) {
    const losses = done.losses.map(lossToJson)
    await output.value({ ...done, problems: done.problems.map(problemToJson), losses })
    return
  }
  const { problems, losses, filesKept, filesFromBackup, filesRebuilt, filesMoved } = done
  if (problems.length === 0) await output.line(`${done.from} is sound`)
  for (const { kind, message } of problems) await output.line(`${kind}: ${message}`)
  const verb = done.written ? '' : 'would be '
  const list = async (what: string, names: readonly string[]): Promise<void> => {
    if (names.length > 0) await output.line(`${verb}${what}: ${names.join(', ')}`)
  }
  await list('taken from the backup', filesFromBackup)
  await list('rebuilt from what can be read', filesRebuilt)
  if (problems.length > 0) await list("moved into the folder 'damaged-…'", filesMoved)
  await output.line(
    `${verb}saved: ${filesKept.length} whole SSTables, ${done.entries} entries, ` +
      `${done.mutations} mutations of the log`,
  )
  for (const loss of losses) await showLoss(output, loss)
  if (losses.length === 0) await output.line('nothing is lost')
  if (done.written) await output.line(`${done.to} is a database`)
  else if (problems.length > 0) await output.line("nothing was written; '--apply' does it")
}

function lossToJson({ rows, ...loss }: Loss): object {
  return { ...loss, ...(rows !== undefined && { rows: rows.map(rowsToJson) }) }
}

async function showLoss(output: Output, loss: Loss): Promise<void> {
  const { message, table, family, entriesLost, rows = [], sequences } = loss
  await output.line(`lost: ${message}`)
  if (table !== undefined) {
    await output.line(`  ${entriesLost ?? 0} entries of ${table}:${family ?? ''}`)
  }
  for (const { firstRow, lastRow } of rows) {
    await output.line(`  rows ${shownBytes(firstRow)} to ${shownBytes(lastRow)}`)
  }
  if (sequences === undefined) return
  const [after, before] = sequences
  const end = before === undefined ? '' : ` and before ${before}`
  await output.line(`  mutations after sequence ${after}${end}`)
}
