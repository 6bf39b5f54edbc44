/**
 * What snapshot isolation means, in maps: the state at the start of each transaction, its own
 * writes over it, and the keys that it wrote. Shares no code with the transaction system, and knows
 * neither versions nor markers nor files.
 */

/** Values by cell; see {@link cellOf}. */
type State = ReadonlyMap<string, string>

/** Names a cell. */
export function cellOf(row: string, column: string): string {
  return `${row}|${column}`
}

interface Write {
  readonly cell: string
  /** Undefined = deleted. */
  readonly value: string | undefined
  /** Number of checkpoints before it. */
  readonly checkpoint: number
}

/** One transaction in the model. */
export class ModelTransaction {
  /** Number of commits before its start. */
  readonly startedAt: number
  readonly keys = new Set<string>()
  readonly #snapshot: State
  readonly #level: 'ROW' | 'COLUMN'
  #writes: Write[] = []
  #checkpoints = 0

  constructor(snapshot: State, startedAt: number, level: 'ROW' | 'COLUMN') {
    this.#snapshot = snapshot
    this.startedAt = startedAt
    this.#level = level
  }

  /** What it sees: everything of its own, or only what lies before its last checkpoint. */
  view(isCurrentExcluded = false): Map<string, string> {
    const state = new Map(this.#snapshot)
    for (const { cell, value, checkpoint } of this.#writes) {
      if (isCurrentExcluded && checkpoint === this.#checkpoints) continue
      if (value === undefined) state.delete(cell)
      else state.set(cell, value)
    }
    return state
  }

  put(row: string, column: string, value: string): void {
    this.#note(row, column, value === '' ? undefined : value)
  }

  deleteColumn(row: string, column: string): void {
    this.#note(row, column, undefined)
  }

  /** Deletes the cells of a row whose columns begin like this. */
  deleteAll(row: string, columnPrefix: string): void {
    if (this.#level === 'ROW') this.keys.add(row)
    for (const cell of [...this.view().keys(), ...this.#writes.map((write) => write.cell)]) {
      if (!cell.startsWith(cellOf(row, columnPrefix))) continue
      this.deleteColumn(row, cell.slice(row.length + 1))
    }
  }

  checkpoint(): void {
    this.#checkpoints++
  }

  /** The state behind its commit. */
  applyTo(state: State): Map<string, string> {
    const next = new Map(state)
    for (const { cell, value } of this.#writes) {
      if (value === undefined) next.delete(cell)
      else next.set(cell, value)
    }
    return next
  }

  #note(row: string, column: string, value: string | undefined): void {
    const cell = cellOf(row, column)
    this.#writes.push({ cell, value, checkpoint: this.#checkpoints })
    this.keys.add(this.#level === 'ROW' ? row : cell)
  }
}

/** The whole table in the model. */
export class IsolationModel {
  readonly #level: 'ROW' | 'COLUMN'
  readonly #commits: ReadonlySet<string>[] = []
  #state: State = new Map()

  constructor(level: 'ROW' | 'COLUMN') {
    this.#level = level
  }

  start(): ModelTransaction {
    return new ModelTransaction(this.#state, this.#commits.length, this.#level)
  }

  /** Whether a transaction that committed since its start wrote one of its keys. */
  conflicts(transaction: ModelTransaction): boolean {
    const since = this.#commits.slice(transaction.startedAt)
    return since.some((keys) => [...transaction.keys].some((key) => keys.has(key)))
  }

  commit(transaction: ModelTransaction): void {
    this.#state = transaction.applyTo(this.#state)
    this.#commits.push(transaction.keys)
  }
}
