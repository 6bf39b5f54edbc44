/**
 * Whether a history of concurrent operations on one row could have happened one after the other.
 *
 * Wing and Gong's search with a memory of the states that were tried: take any operation that
 * began before the first of the others ended, see whether the row allows its outcome, and go on
 * with the rest.
 */

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

/** Whether the operations on one row, absent at first, have an order. At most 30 operations. */
export function isLinearizable(operations: readonly Operation[]): boolean {
  const count = operations.length
  if (count > 30) throw new RangeError('at most 30 operations')
  const all = 2 ** count - 1
  const tried = new Set<string>()
  const search = (done: number, row: Row | undefined): boolean => {
    if (done === all) return true
    const state = `${done} ${row?.version} ${row?.value}`
    if (tried.has(state)) return false
    tried.add(state)
    let firstEnd = Infinity
    for (let i = 0; i < count; i++) {
      if ((done & (1 << i)) === 0) firstEnd = Math.min(firstEnd, operations[i].end)
    }
    for (let i = 0; i < count; i++) {
      if ((done & (1 << i)) !== 0 || operations[i].start > firstEnd) continue
      const next = after(row, operations[i])
      if (next !== 'impossible' && search(done | (1 << i), next)) return true
    }
    return false
  }
  return search(0, undefined)
}
