/**
 * Whether operations that overlapped could have happened one after the other.
 *
 * Wing and Gong's search, with Lowe's memory of what was tried: take any operation that began
 * before the first of the others ended, see whether the state allows what it saw, and go on with
 * the rest. An operation whose outcome is unknown may be left out.
 */

/** An operation with the times of its call and of its answer, of one counter. */
export interface Timed<O> {
  readonly operation: O
  readonly start: number
  /** Of an operation without an answer: when it was over for certain. */
  readonly end: number
  /** Whether it may also never have happened. Default false. */
  readonly mayBeAbsent?: boolean
}

/** What operations do to a state. */
export interface SequentialModel<S, O> {
  readonly initial: S
  /** The states to which the operation may lead, none if it cannot have seen what it saw. */
  after(state: S, operation: O): readonly S[]
  /** A text that equal states share, and no others. */
  keyOf(state: S): string
}

/** States that a search looks at, at most: a longer one takes all memory. */
const statesMax = 500_000

/**
 * Whether the operations have an order that the model allows. Throws a `RangeError` if that takes
 * too long to find out: then too many operations overlap.
 */
export function hasOrder<S, O>(
  model: SequentialModel<S, O>,
  operations: readonly Timed<O>[],
): boolean {
  const all = [...operations].sort((a, b) => a.start - b.start)
  const done = new Uint8Array(all.length)
  const tried = new Set<string>()
  let certain = all.filter(({ mayBeAbsent }) => mayBeAbsent !== true).length
  /** `latest`: the latest call among those taken. What was over before it cannot come any more. */
  const search = (from: number, latest: number, state: S): boolean => {
    if (certain === 0) return true
    let first = from
    while (done[first] === 1 || (all[first].mayBeAbsent === true && all[first].end < latest)) {
      first++
    }
    // Operations that began after the first answer have to wait; none of them is done yet.
    let firstEnd = Infinity
    let end = first
    for (; end < all.length && all[end].start <= firstEnd; end++) {
      if (done[end] === 0 && all[end].mayBeAbsent !== true) {
        firstEnd = Math.min(firstEnd, all[end].end)
      }
    }
    const key = `${first} ${done.subarray(first, end).join('')} ${model.keyOf(state)}`
    if (tried.has(key)) return false
    if (tried.size === statesMax) throw new RangeError(`over ${statesMax} states, at ${first}`)
    tried.add(key)
    for (let i = first; i < end; i++) {
      const { operation, start, end: over, mayBeAbsent } = all[i]
      if (done[i] === 1 || start > firstEnd || over < latest) continue
      const weight = mayBeAbsent === true ? 0 : 1
      done[i] = 1
      certain -= weight
      for (const next of model.after(state, operation)) {
        if (search(first, Math.max(latest, start), next)) return true
      }
      certain += weight
      done[i] = 0
    }
    return false
  }
  return search(0, -Infinity, model.initial)
}
