/**
 * A database of a few rows as an object that carries out one operation at a time, and what an end
 * of its process or of its machine may take back: the newest writes that nobody was told of.
 */
import type { SequentialModel } from '../../helpers/linearizability.js'

/** The rows of a history: table and row. */
export const rowNames = ['a:1', 'a:2', 'b:1', 'b:2'] as const
export type RowName = (typeof rowNames)[number]

/** What a row shows: a value, the same in all families, and a counter. */
export interface Shown {
  readonly value: string | undefined
  readonly count: number
}

/** A call of a client. `expected` undefined: the row has no value. */
export type Call =
  | { readonly kind: 'get'; readonly row: RowName }
  | { readonly kind: 'put'; readonly row: RowName; readonly value: string }
  | {
      readonly kind: 'compareAndSet'
      readonly row: RowName
      readonly expected: string | undefined
      readonly value: string
    }
  | { readonly kind: 'increment'; readonly row: RowName; readonly amount: number }
  | { readonly kind: 'delete'; readonly row: RowName }
  /** Puts the value in all of the rows if the first of them has what is expected. */
  | {
      readonly kind: 'batch'
      readonly rows: readonly RowName[]
      readonly expected: string | undefined
      readonly value: string
    }
  /** Reads rows in one scan or one snapshot. */
  | { readonly kind: 'scan'; readonly rows: readonly RowName[] }

/** What a call answered: rows, whether a condition held, a count. */
export type Answer = readonly Shown[] | boolean | number

/** A call and its answer, `unknown` if it failed and may have happened; or the end of a process. */
export type Happening =
  | { readonly call: Call; readonly answer: Answer | 'unknown' }
  | { readonly call: { readonly kind: 'crash' } }

type Rows = readonly Shown[]

interface State {
  readonly rows: Rows
  /** The states that a crash may leave, oldest first; the last one is `rows`. */
  readonly afterCrash: readonly Rows[]
}

const absent: Shown = { value: undefined, count: 0 }
const indexOf = (row: RowName): number => rowNames.indexOf(row)
const isSame = (a: Shown, b: Shown): boolean => a.value === b.value && a.count === b.count

/** The rows after a call, and what the call must have answered. */
function carryOut(rows: Rows, call: Call): { readonly rows: Rows; readonly answer: Answer } {
  const changed = (names: readonly RowName[], change: (row: Shown) => Shown): Rows => {
    return rows.map((row, i) => (names.includes(rowNames[i]) ? change(row) : row))
  }
  switch (call.kind) {
    case 'get':
      return { rows, answer: [rows[indexOf(call.row)]] }
    case 'scan':
      return { rows, answer: call.rows.map((name) => rows[indexOf(name)]) }
    case 'put':
      return { rows: changed([call.row], (row) => ({ ...row, value: call.value })), answer: true }
    case 'delete':
      return { rows: changed([call.row], () => absent), answer: true }
    case 'increment': {
      const count = rows[indexOf(call.row)].count + call.amount
      return { rows: changed([call.row], (row) => ({ ...row, count })), answer: count }
    }
    case 'compareAndSet':
    case 'batch': {
      const names = call.kind === 'batch' ? call.rows : [call.row]
      if (rows[indexOf(names[0])].value !== call.expected) return { rows, answer: false }
      return { rows: changed(names, (row) => ({ ...row, value: call.value })), answer: true }
    }
  }
}

function isAnswer(answer: Answer, expected: Answer): boolean {
  if (typeof answer !== 'object' || typeof expected !== 'object') return answer === expected
  return answer.length === expected.length && answer.every((row, i) => isSame(row, expected[i]))
}

const nothing = rowNames.map(() => absent)

/** See the file header. */
export const historyModel: SequentialModel<State, Happening> = {
  initial: { rows: nothing, afterCrash: [nothing] },
  after(state, happening) {
    if (!('answer' in happening)) {
      return state.afterCrash.map((rows) => ({ rows, afterCrash: [rows] }))
    }
    const { call, answer } = happening
    const { rows, answer: expected } = carryOut(state.rows, call)
    if (answer !== 'unknown' && !isAnswer(answer, expected)) return []
    if (rows === state.rows) return [state]
    // Writes are durable in their order: an acknowledged one carries those before it.
    const before = answer === 'unknown' ? state.afterCrash : []
    return [{ rows, afterCrash: [...before, rows] }]
  },
  keyOf: ({ rows, afterCrash }) => {
    const key = (each: Rows): string => each.map(({ value, count }) => `${value}/${count}`).join()
    return `${key(rows)};${afterCrash.map(key).join(';')}`
  },
}
