/**
 * The load of the kill test: what writer `w` does in its n-th operation is a function of the two
 * numbers, so child and parent know it without talking to each other.
 *
 * Each writer has rows of its own and waits for every operation before it starts the next. So after
 * a kill its rows must be in the state after its last acknowledged operation, or one further.
 */

/** Writers that run side by side. */
export const writerCount = 8
/** Puts of one list; each counts as an operation, the list is acknowledged by its last. */
export const listLength = 4

const rowsPerWriter = 24
const periods = 12

/** Tables and their families. Even writers use the first. */
export const tables: Readonly<Record<string, readonly string[]>> = {
  even: ['f', 'g'],
  odd: ['f', 'g', 'h'],
}

export function tableOf(writer: number): string {
  return writer % 2 === 0 ? 'even' : 'odd'
}

/** The table that a writer writes to by atomic batches only. */
export function otherTableOf(writer: number): string {
  return tableOf(writer + 1)
}

/** The row that a writer puts in both tables. */
export function sharedRowOf(writer: number): string {
  return `w${writer} both`
}

/** What an operation is. */
export type Step =
  | { readonly kind: 'put'; readonly row: string }
  | { readonly kind: 'list'; readonly rows: readonly string[] }
  | { readonly kind: 'check'; readonly row: string; readonly previous: number }
  | { readonly kind: 'increment'; readonly row: string }
  | { readonly kind: 'delete'; readonly row: string }
  /** Puts the row in both tables, in one atomic batch. */
  | { readonly kind: 'atomic'; readonly row: string }

/** Operation `number` (1, 2, ...) of a writer; a list takes `listLength` numbers. */
export function stepOf(writer: number, number: number): Step {
  const phase = number % periods
  const rowAt = (index: number): string => `w${writer} ${(index * 7) % rowsPerWriter}`
  if (phase === 1) return { kind: 'atomic', row: sharedRowOf(writer) }
  if (phase === 3) return { kind: 'check', row: `w${writer} check`, previous: number - periods }
  if (phase === 5) return { kind: 'increment', row: `w${writer} count` }
  if (phase === 6) return { kind: 'delete', row: rowAt(number - 4) }
  if (phase === 7) {
    return { kind: 'list', rows: Array.from({ length: listLength }, (_, i) => rowAt(number + i)) }
  }
  return { kind: 'put', row: rowAt(number) }
}

/** Number of the last operation that the one at `number` brings along. */
export function lastOf(writer: number, number: number): number {
  return stepOf(writer, number).kind === 'list' ? number + listLength - 1 : number
}

/** Value that operation `number` writes into every family of a row. */
export function valueOf(writer: number, number: number): string {
  return `${number}.${'abcdefghij'.repeat((number * 13 + writer) % 60)}`
}

/** The rows of one writer after some operations: row to `number` or, of the counter, its sum. */
export class WriterModel {
  readonly writer: number
  readonly rows = new Map<string, number>()
  /** Operations applied. */
  number = 0
  /** Operations up to this one were wiped away by a truncation. */
  base = 0

  constructor(writer: number) {
    this.writer = writer
  }

  /** Applies the next operation; of a list, one put. */
  advance(): void {
    this.number++
    const { writer, number } = this
    const phase = number % periods
    const inList = phase > 7 && phase < 7 + listLength
    const step = inList ? undefined : stepOf(writer, number)
    if (step === undefined) {
      const list = stepOf(writer, number - (phase - 7))
      if (list.kind === 'list') this.rows.set(list.rows[phase - 7], number)
      return
    }
    switch (step.kind) {
      case 'put':
      case 'check':
      case 'atomic':
        this.rows.set(step.row, number)
        break
      case 'list':
        this.rows.set(step.rows[0], number)
        break
      case 'increment':
        this.rows.set(step.row, (this.rows.get(step.row) ?? 0) + 1)
        break
      case 'delete':
        this.rows.delete(step.row)
        break
    }
  }

  /** Counts operations that were never made. REQUIRES that only puts are skipped. */
  skipTo(number: number): void {
    this.number = number
  }

  /** What a truncation leaves. */
  wipe(): void {
    this.rows.clear()
    this.base = this.number
  }

  text(): string {
    return [...this.rows]
      .map(([row, number]) => `${row}=${number}`)
      .sort()
      .join('\n')
  }
}

/** What the parent tells the child. */
export interface ChildPlan {
  readonly directory: string
  /** Operations that each writer has done, and the bases of their models. */
  readonly done: readonly number[]
  readonly bases: readonly number[]
  readonly seed: number
}
