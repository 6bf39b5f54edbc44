/** Whether concurrent operations on one row could have happened one after the other. */
import { hasOrder, type SequentialModel } from '../../../helpers/linearizability.js'

/** What an operation expected, did and saw. Times are of a counter. */
export interface Operation {
  readonly kind: 'get' | 'put' | 'remove'
  /** What a put or remove expected: `NEW`, `ANY` or a version. */
  readonly expected?: string
  /** What a put wrote. */
  readonly written?: string
  readonly start: number
  readonly end: number
  /** `OK`, `NoKey`, `KeyExists` or `BadVersion`. */
  readonly outcome: string
  /** The version that a put returned or a get read. */
  readonly version?: string
  /** What a get read. */
  readonly read?: string
}

interface Row {
  readonly version: string
  readonly value: string
}

/** The row after an operation; `impossible` if it cannot have had this outcome. */
function after(row: Row | undefined, operation: Operation): Row | undefined | 'impossible' {
  const { kind, expected, outcome } = operation
  const found = wantedOutcome(row, kind, expected)
  if (found !== outcome) return 'impossible'
  if (outcome !== 'OK') return row
  if (kind === 'remove') return undefined
  if (kind === 'put') return { version: operation.version!, value: operation.written! }
  const same = row!.version === operation.version && row!.value === operation.read
  return same ? row : 'impossible'
}

function wantedOutcome(row: Row | undefined, kind: string, expected: string | undefined): string {
  if (row === undefined) return kind === 'put' && expected === 'NEW' ? 'OK' : 'NoKey'
  if (kind === 'get' || expected === 'ANY' || expected === row.version) return 'OK'
  return kind === 'put' && expected === 'NEW' ? 'KeyExists' : 'BadVersion'
}

const rowModel: SequentialModel<Row | undefined, Operation> = {
  initial: undefined,
  after(row, operation) {
    const next = after(row, operation)
    return next === 'impossible' ? [] : [next]
  },
  keyOf: (row) => `${row?.version} ${row?.value}`,
}

/** Whether the operations on one row, absent at first, have an order. */
export function isLinearizable(operations: readonly Operation[]): boolean {
  const timed = operations.map((operation) => {
    const { start, end } = operation
    return { operation, start, end }
  })
  return hasOrder(rowModel, timed)
}
