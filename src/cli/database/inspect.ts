/** `cellar inspect`: the structure of a directory, its files as a picture; blocks of one file. */
import { invalidArgument } from '../../api/index.js'
import { shownBytes } from '../../api/results/display.js'
import {
  Database,
  type FileDetails,
  type InspectedFamily,
  type InspectedFile,
  type Inspection,
} from '../../entries/index.js'
import { ExitCode } from '../exit-codes.js'
import { RemoteDatabase } from '../../server/database/client.js'
import { bytesToJson, withRows } from '../../server/database/json.js'
import { parseCount } from '../../server/database/views.js'
import { tokenOf } from '../messaging-cli.js'
import type { LookingWords } from './looking.js'
import { Output, shownSize } from './output.js'
import { problemToJson } from './verify.js'

/** Options of `cellar inspect`. */
export interface InspectWords extends LookingWords {
  readonly file?: string
}

/** Shows a directory; the exit code tells whether damage was met. */
export async function inspect(directory: string | undefined, words: InspectWords): Promise<void> {
  const output = new Output(words.json === true)
  const inspection = await inspectionOf(directory, words)
  if (inspection.problems.length > 0) process.exitCode = ExitCode.problems
  if (output.json) await output.value(inspectionToJson(inspection))
  else if (inspection.file !== undefined) await showFile(output, inspection.file)
  else await showInspection(output, inspection)
  if (!output.json) {
    for (const { kind, message } of inspection.problems) await output.line(`${kind}: ${message}`)
    for (const remark of inspection.remarks) await output.line(`note: ${remark}`)
  }
}

async function inspectionOf(
  directory: string | undefined,
  words: InspectWords,
): Promise<Inspection> {
  const { url, file } = words
  if (url === undefined) {
    return Database.inspect(directory ?? words.directory, {
      file: file === undefined ? undefined : parseCount(file, '--file'),
    })
  }
  if (directory !== undefined) throw invalidArgument('--url takes no directory')
  return withRows(await new RemoteDatabase(url, await tokenOf(words)).inspect(file))
}

/** The inspection with its rows as JSON can hold them. */
export function inspectionToJson({ families, file, problems, ...rest }: Inspection): object {
  return {
    ...rest,
    families: families.map(({ levels, ...family }) => {
      return { ...family, levels: levels.map((level) => level.map(rowsToJson)) }
    }),
    ...(file !== undefined && {
      file: {
        ...file,
        described: rowsToJson(file.described),
        blocks: file.blocks.map(rowsToJson),
      },
    }),
    problems: problems.map(problemToJson),
  }
}

/** The same with its rows as JSON can hold them. */
function rowsToJson(bounds: {
  readonly firstRow: Buffer | undefined
  readonly lastRow: Buffer | undefined
}): object {
  const { firstRow, lastRow } = bounds
  return {
    ...bounds,
    ...(firstRow !== undefined && { firstRow: bytesToJson(firstRow) }),
    ...(lastRow !== undefined && { lastRow: bytesToJson(lastRow) }),
  }
}

async function showInspection(output: Output, inspection: Inspection): Promise<void> {
  const { directory, databaseId, manifest, lastSequence, log, families } = inspection
  await output.line(`${directory}: database ${databaseId ?? 'without identity'}`)
  await output.line(`manifest ${manifest.name}, ${shownSize(manifest.bytes)}`)
  await output.line(`sequences up to ${lastSequence}, in SSTables to ${inspection.flushedSequence}`)
  for (const { name, bytes, lastSequence: last } of log) {
    const end = last === undefined ? 'not read by an open' : `up to sequence ${last}`
    await output.line(`log ${name}, ${shownSize(bytes)}, ${end}`)
  }
  for (const family of families) await showFamily(output, family)
  for (const { name, bytes, bytesUsed } of inspection.valueFiles) {
    await output.line(`values ${name}, ${shownSize(bytes)}, ${shownSize(bytesUsed)} used`)
  }
}

async function showFamily(output: Output, family: InspectedFamily): Promise<void> {
  const { table, snapshot, family: name, levels } = family
  const files = levels.flat()
  const size = shownSize(files.reduce((sum, { bytes }) => sum + bytes, 0))
  const of = snapshot === undefined ? '' : ` of the snapshot ${snapshot}`
  await output.line('')
  await output.line(`${table}:${name}${of}: ${files.length} files, ${size}`)
  for (const [number, level] of levels.entries()) {
    if (level.length === 0) continue
    const bytes = shownSize(level.reduce((sum, file) => sum + file.bytes, 0))
    await output.line(`  level ${number}: ${level.length} files, ${bytes}`)
    for (const line of boxes(level)) await output.line(`  ${line}`)
  }
}

/** Most characters of a row in a box, and of a line of boxes. */
const rowCharactersMax = 24
const lineCharactersMax = 96

/** Draws files as boxes side by side: name, size, entries, first and last row. */
function boxes(files: readonly InspectedFile[]): string[] {
  const lines: string[] = []
  let group: string[] = ['', '', '', '', '', '']
  const drawn = files.map(({ name, bytes, entryCount, firstRow, lastRow }) => {
    const texts = [`${shownSize(bytes)}, ${entryCount}`, shortRow(firstRow), shortRow(lastRow)]
    const width = Math.max(name.length, ...texts.map(({ length }) => length))
    const middle = [name, ...texts].map((text) => `│ ${text.padEnd(width)} │`)
    return [`┌${'─'.repeat(width + 2)}┐`, ...middle, `└${'─'.repeat(width + 2)}┘`]
  })
  for (const box of drawn) {
    if (group[0] !== '' && group[0].length + box[0].length + 1 > lineCharactersMax) {
      lines.push(...group)
      group = box
    } else group = group.map((line, at) => (line === '' ? box[at] : `${line} ${box[at]}`))
  }
  return [...lines, ...group]
}

function shortRow(row: Buffer): string {
  const text = shownBytes(row)
  return text.length <= rowCharactersMax ? text : `${text.slice(0, rowCharactersMax - 1)}…`
}

async function showFile(output: Output, file: FileDetails): Promise<void> {
  const { table, family, described, codec, keyBytes, valueBytes, blocks } = file
  const { name, level, bytes, entryCount, deleteCount, minSequence, maxSequence } = described
  await output.line(`${name} of ${table}:${family}, level ${level}, ${shownSize(bytes)}`)
  await output.line(`entries    ${entryCount}, ${deleteCount} of them delete markers`)
  await output.line(`sequences  ${minSequence} to ${maxSequence}`)
  await output.line(`timestamps ${described.minTimestamp} to ${described.maxTimestamp}`)
  await output.line(
    `rows       ${shownBytes(described.firstRow)} to ${shownBytes(described.lastRow)}`,
  )
  if (codec === undefined) return
  await output.line(`codec      ${codec}`)
  await output.line(`contents   keys ${shownSize(keyBytes)}, values ${shownSize(valueBytes)}`)
  await output.table(
    ['offset', 'bytes', 'entries', 'first row', 'last row'],
    blocks.map((block) => {
      const [first, last] = [block.firstRow, block.lastRow].map((row) => row && shortRow(row))
      return [block.offset, block.bytes, block.entries, first, last]
    }),
  )
}
