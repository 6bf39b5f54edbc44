/**
 * An immutable sorted list of write pointers: a change makes a new list that shares the memory of
 * the old one. Transactions hold such lists, so the start of a transaction costs the same for an
 * empty list of invalid transactions and for a million members.
 *
 * A list is a large base, and few pointers that were added or removed since. A change copies only
 * those few; when they become many, a new base is made.
 *
 * Invariants: `base` and `changed` ascend without repetition. A pointer is a member if it is in
 * exactly one of them.
 */
import { types } from 'node:util'
import { readArguments, assert } from '../../../api/index.js'
import { checkPointer, checkPointers } from '../checks.js'

const none = new BigInt64Array(0)
/** Least number of added or removed pointers at which a new base is made. */
const changesMin = 64
let emptyList: PointerList | undefined

/** An immutable ascending list of write pointers. */
export class PointerList implements Iterable<bigint> {
  /** Number of members. */
  readonly size: number
  readonly #base: BigInt64Array
  readonly #changed: BigInt64Array
  #flat: BigInt64Array | undefined

  private constructor(base: BigInt64Array, changed: BigInt64Array, size: number) {
    this.#base = base
    this.#changed = changed
    this.size = size
    assert(size >= 0, 'only members are removed')
    if (changed.length === 0) this.#flat = base
  }

  /** The list without members. */
  static get empty(): PointerList {
    emptyList ??= new PointerList(none, none, 0)
    return emptyList
  }

  /** A list of pointers in any order, without duplicates. `ERR_INVALID_ARGUMENT`. */
  static of(pointers: Iterable<bigint>): PointerList {
    if (readArguments(() => pointers instanceof PointerList)) return pointers as PointerList
    const members = types.isBigInt64Array(pointers)
      ? new Set(pointers)
      : checkPointers(pointers, 'pointers')
    const sorted = BigInt64Array.from(members).sort()
    return sorted.length === 0 ? PointerList.empty : new PointerList(sorted, none, sorted.length)
  }

  /** Whether the pointer is a member. */
  has(pointer: bigint): boolean {
    if (typeof pointer !== 'bigint') return false
    return contains(this.#base, pointer) !== contains(this.#changed, pointer)
  }

  /** The smallest member, or undefined. */
  get first(): bigint | undefined {
    let at = 0
    while (at < this.#changed.length && this.#base[at] === this.#changed[at]) at++
    const inBase: bigint | undefined = this.#base[at]
    const changed: bigint | undefined = this.#changed[at]
    return changed === undefined || inBase < changed ? inBase : changed
  }

  /** The list with the pointer; the same list if the pointer is a member. */
  with(pointer: bigint): PointerList {
    return this.has(checkPointer(pointer, 'the pointer')) ? this : this.#toggled(pointer, 1)
  }

  /** The list without the pointer; the same list if the pointer is not a member. */
  without(pointer: bigint): PointerList {
    return this.has(pointer) ? this.#toggled(pointer, -1) : this
  }

  /** The members, ascending. The array is shared and must not be changed. */
  toArray(): BigInt64Array {
    this.#flat ??= this.#merge()
    return this.#flat
  }

  /** The pointers in ascending order. */
  [Symbol.iterator](): IterableIterator<bigint> {
    return this.toArray()[Symbol.iterator]()
  }

  #toggled(pointer: bigint, by: 1 | -1): PointerList {
    const changed = toggled(this.#changed, pointer)
    const list = new PointerList(this.#base, changed, this.size + by)
    const changesMax = Math.max(changesMin, Math.sqrt(this.#base.length))
    if (changed.length <= changesMax) return list
    return new PointerList(list.toArray(), none, list.size)
  }

  #merge(): BigInt64Array {
    const base = this.#base
    const changed = this.#changed
    const merged = new BigInt64Array(this.size)
    let at = 0
    let next = 0
    for (const pointer of base) {
      while (changed[next] < pointer) merged[at++] = changed[next++]
      if (changed[next] === pointer) next++
      else merged[at++] = pointer
    }
    merged.set(changed.subarray(next), at)
    return merged
  }
}

/** A list without the members for which `goes` returns true. */
export function withoutMembers(list: PointerList, goes: (pointer: bigint) => boolean): PointerList {
  const kept = list.toArray().filter((pointer) => !goes(pointer))
  return kept.length === list.size ? list : PointerList.of(kept)
}

/** Position of the first member that is not below the pointer. */
function lowerBound(list: BigInt64Array, pointer: bigint): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (list[middle] < pointer) low = middle + 1
    else high = middle
  }
  return low
}

function contains(list: BigInt64Array, pointer: bigint): boolean {
  return list.length > 0 && list[lowerBound(list, pointer)] === pointer
}

/** A list with the pointer if it lacks the pointer, otherwise without. */
function toggled(list: BigInt64Array, pointer: bigint): BigInt64Array {
  const at = lowerBound(list, pointer)
  const isIn = list[at] === pointer
  const result = new BigInt64Array(list.length + (isIn ? -1 : 1))
  result.set(list.subarray(0, at))
  if (!isIn) result[at] = pointer
  result.set(list.subarray(isIn ? at + 1 : at), isIn ? at : at + 1)
  return result
}
