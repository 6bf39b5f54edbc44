/**
 * What the job prints: titles, lines, tables, and progress as a bar on a terminal or as a plain
 * line every ten per cent elsewhere.
 */
import { Presets, SingleBar, type ValueFormatter } from 'cli-progress'
import CliTable from 'cli-table3'

/** Where to print: `process.stdout`, or anything like it. */
export interface Output {
  readonly isTTY?: boolean
  /** Width of a terminal. */
  readonly columns?: number
  write(text: string): unknown
}

/** Shows how far a long step is. */
export interface Progress {
  /** `value` is the total so far. */
  update(value: number): void
  stop(): void
}

/** Numbers stand right, everything else left. */
export type TableRow = readonly (string | number)[]

/** A number with thousands separated. */
export function formatCount(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 0 })
}

/** A moment, for people: `2026-11-22 19:24:05 UTC`. */
export function formatMoment(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** Bytes in a unit that keeps the figure short. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB']
  let unit = 0
  let value = bytes
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}

/** Milliseconds, or seconds above two of them. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 10) return `${milliseconds.toFixed(1)} ms`
  if (milliseconds < 2000) return `${milliseconds.toFixed(0)} ms`
  return `${(milliseconds / 1000).toFixed(1)} s`
}

/** Operations per second. */
export function formatRate(count: number, milliseconds: number): string {
  return milliseconds === 0 ? '-' : formatCount((count * 1000) / milliseconds)
}

export class Reporter {
  private readonly output: Output
  private readonly timings: [string, number][] = []

  constructor(output: Output) {
    this.output = output
  }

  /** Prints paragraphs, wrapped at the width of a terminal. */
  line(text = ''): void {
    const columns = this.output.isTTY === true ? widthOf(this.output) : Infinity
    for (const paragraph of text.split('\n')) this.output.write(`${wrap(paragraph, columns)}\n`)
  }

  /** A line that starts a section. */
  title(text: string): void {
    this.line(`\n== ${text}`)
  }

  /** A small table. */
  table(head: readonly string[], rows: readonly TableRow[]): void {
    const table = new CliTable({
      head: [...head],
      colAligns: head.map((_, i) => (typeof rows[0]?.[i] === 'number' ? 'right' : 'left')),
      style: { head: [], border: [], compact: true },
    })
    for (const row of rows) {
      table.push(row.map((cell) => (typeof cell === 'number' ? formatCount(cell) : cell)))
    }
    this.output.write(`${table.toString()}\n`)
  }

  /** Runs a step and keeps its duration for {@link timingTable}. */
  async time<T>(what: string, step: () => Promise<T>): Promise<T> {
    const start = performance.now()
    const value = await step()
    this.timings.push([what, performance.now() - start])
    return value
  }

  /** Prints what the timed steps took. */
  timingTable(): void {
    const rows = this.timings.map(([what, duration]) => [what, formatDuration(duration)])
    this.table(['step', 'time'], rows)
  }

  /**
   * Progress of a step that starts at `first` of `total`; the unit `%` goes with a total of 100.
   * REQUIRES `total` > 0.
   */
  progress(what: string, unit: string, total: number, first = 0): Progress {
    const isTerminal = this.output.isTTY === true
    return isTerminal
      ? barProgress(what, unit, total, first, widthOf(this.output))
      : this.lineProgress(what, unit, total, first)
  }

  private lineProgress(what: string, unit: string, total: number, first: number): Progress {
    const start = performance.now()
    let nextTenth = Math.floor((first * 10) / total) + 1
    return {
      update: (value) => {
        const tenth = Math.floor((value * 10) / total)
        if (tenth < nextTenth) return
        nextTenth = tenth + 1
        const rate = formatRate(value - first, performance.now() - start)
        const done = unit === '%' ? '' : `, ${formatCount(value)} ${unit}, ${rate}/s`
        this.line(`${what}: ${tenth * 10} %${done}`)
      },
      stop: () => {},
    }
  }
}

/** Width where nothing says how wide it is. */
const columnsDefault = 80

function widthOf({ columns = columnsDefault }: Output): number {
  return columns < 40 ? columnsDefault : columns
}

/** The text in lines of at most `columns`; all but the first are indented. */
function wrap(text: string, columns: number): string {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > columns && line.trim() !== '') {
      lines.push(line)
      line = `  ${word}`
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line].join('\n')
}

const bars = Presets.shades_classic
const barColumnsMin = 8
const barColumnsMax = 40

/** A bar that fits the terminal with all that stands beside it. */
function barProgress(
  what: string,
  unit: string,
  total: number,
  first: number,
  columns: number,
): Progress {
  const counts = unit === '%' ? '' : ` {value}/{total} ${unit} {rate}/s`
  const format = `${what} {bar} {percentage} %${counts} {eta} s left`
  const widest = format
    .replace('{bar}', '')
    .replace('{percentage}', '100')
    .replace('{value}', formatCount(total))
    .replace('{total}', formatCount(total))
    .replace('{rate}', '999,999')
    .replace('{eta}', '999')
  const room = columns - 1 - widest.length
  const barsize = Math.min(barColumnsMax, Math.max(barColumnsMin, room))
  const formatValue: ValueFormatter = (value, _options, type) => {
    return type === 'value' || type === 'total' ? formatCount(value) : String(value)
  }
  const bar = new SingleBar({ format, barsize, formatValue, hideCursor: true }, bars)
  const start = performance.now()
  bar.start(total, first, { rate: '-' })
  return {
    update: (value) => {
      bar.update(value, { rate: formatRate(value - first, performance.now() - start) })
    },
    stop: () => bar.stop(),
  }
}
