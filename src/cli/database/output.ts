/**
 * Output of the verbs: lines and columns for people, JSON for programs.
 *
 * Results go to the standard output, and everything else to the standard error.
 */
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { toJson } from '../../server/database/json.js'

/** A cell of a table for people. */
export type Shown = string | number | boolean | undefined

/** Takes the results of a verb. */
export class Output {
  /** Whether programs read the results. */
  readonly json: boolean
  private readonly stream: Writable
  private readonly notes: Writable

  constructor(json: boolean, stream: Writable = process.stdout, notes: Writable = process.stderr) {
    this.json = json
    this.stream = stream
    this.notes = notes
  }

  /** Writes a line; resolves when the reader has room for the next. */
  async line(text: string): Promise<void> {
    if (this.stream.write(`${text}\n`)) return
    if (this.stream.errored) throw this.stream.errored
    await once(this.stream, 'drain')
  }

  /** Writes a value as JSON on one line. */
  async value(value: unknown): Promise<void> {
    await this.line(toJson(value))
  }

  /** Writes rows in columns under their names; numbers stand on the right. */
  async table(names: readonly string[], rows: readonly (readonly Shown[])[]): Promise<void> {
    const cells = rows.map((row) => row.map((cell) => String(cell ?? '')))
    const widths = names.map((name, i) =>
      cells.reduce((width, row) => Math.max(width, row[i].length), name.length),
    )
    const isNumber = names.map((_, i) => rows.every((row) => typeof row[i] === 'number'))
    const format = (row: readonly string[]): string =>
      row
        .map((cell, i) => (isNumber[i] ? cell.padStart(widths[i]) : cell.padEnd(widths[i])))
        .join('  ')
        .trimEnd()
    await this.line(format(names))
    for (const row of cells) await this.line(format(row))
  }

  /** Tells people about the work; programs that read the results do not see it. */
  note(text: string): void {
    this.notes.write(`cellar: ${text}\n`)
  }
}

/** A line of text in which control characters, which a terminal would obey, are `\xNN`. */
export function escapeControls(line: string): string {
  return line.replace(/\p{Cc}/gu, (control) => {
    return `\\x${control.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
  })
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

/** A size for people, such as `1.5 MiB`. */
export function shownSize(bytes: number): string {
  let size = bytes
  let unit = 0
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024
    unit++
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`
}
