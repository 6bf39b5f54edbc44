/**
 * An immutable sorted list of write pointers: a change makes a new list that shares the memory of
 * the old one. Transactions hold such lists, so the start of a transaction costs the same for an
 * empty list of invalid transactions and for a million members.
 *
 * A list is a large base, with few pointers added and few removed since. A change copies only those
 * few; when they become many, a new base is made.
 *
 * Invariants: `base` and `added` ascend without repetition and have no member in common; `removed`
 * ascends and is part of `base`.
 */
import { types } from 'node:util'
import { readArguments, assert } from '../../../api/index.js'
import { checkPointer, checkPointers } from '../checks.js'

const none = new BigInt64Array(0)
/** Least number of added or removed pointers at which a new base is made. */
const deltaMin = 64
let emptyList: PointerList | undefined

/** An immutable ascending list of write pointers. */
export class PointerList implements Iterable<bigint> {
  readonly #base: BigInt64Array
  readonly #added: BigInt64Array
  readonly #removed: BigInt64Array
  #flat: BigInt64Array | undefined

  private constructor(base: BigInt64Array, added: BigInt64Array, removed: BigInt64Array) {
    this.#base = base
    this.#added = added
    this.#removed = removed
    assert(removed.length <= base.length, 'only members are removed')
    if (added.length === 0 && removed.length === 0) this.#flat = base
  }

  /** The list without members. */
  static get empty(): PointerList {
    emptyList ??= new PointerList(none, none, none)
    return emptyList
  }

  /** A list of pointers in any order, without duplicates. `ERR_INVALID_ARGUMENT`. */
  static of(pointers: Iterable<bigint>): PointerList {
    if (readArguments(() => pointers instanceof PointerList)) return pointers as PointerList
    const members = types.isBigInt64Array(pointers)
      ? new Set(pointers)
      : checkPointers(pointers, 'pointers')
    const sorted = BigInt64Array.from(members).sort()
    return sorted.length === 0 ? PointerList.empty : new PointerList(sorted, none, none)
  }

  /** Number of members. */
  get size(): number {
    return this.#base.length + this.#added.length - this.#removed.length
  }

  /** Whether the pointer is a member. */
  has(pointer: bigint): boolean {
    if (typeof pointer !== 'bigint') return false
    const added = this.#added
    if (added.length > 0 && contains(added, pointer)) return true
    if (!contains(this.#base, pointer)) return false
    return this.#removed.length === 0 || !contains(this.#removed, pointer)
  }

  /** The smallest member, or undefined. */
  get first(): bigint | undefined {
    const removed = this.#removed
    let at = 0
    while (at < removed.length && this.#base[at] === removed[at]) at++
    const inBase = at < this.#base.length ? this.#base[at] : undefined
    const inAdded = this.#added.length > 0 ? this.#added[0] : undefined
    if (inBase === undefined) return inAdded
    return inAdded === undefined || inBase < inAdded ? inBase : inAdded
  }

  /** The list with the pointer; the same list if the pointer is a member. */
  with(pointer: bigint): PointerList {
    if (this.has(checkPointer(pointer, 'the pointer'))) return this
    if (this.#removed.length > 0 && contains(this.#removed, pointer)) {
      return this.#changed(this.#added, without(this.#removed, pointer))
    }
    return this.#changed(inserted(this.#added, pointer), this.#removed)
  }

  /** The list without the pointer; the same list if the pointer is not a member. */
  without(pointer: bigint): PointerList {
    if (!this.has(pointer)) return this
    if (contains(this.#added, pointer)) {
      return this.#changed(without(this.#added, pointer), this.#removed)
    }
    return this.#changed(this.#added, inserted(this.#removed, pointer))
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

  #changed(added: BigInt64Array, removed: BigInt64Array): PointerList {
    const list = new PointerList(this.#base, added, removed)
    const deltaMax = Math.max(deltaMin, Math.sqrt(this.#base.length))
    if (added.length + removed.length <= deltaMax) return list
    return new PointerList(list.toArray(), none, none)
  }

  #merge(): BigInt64Array {
    const base = this.#base
    const added = this.#added
    const removed = this.#removed
    const merged = new BigInt64Array(this.size)
    let at = 0
    let nextAdded = 0
    let nextRemoved = 0
    for (let i = 0; i < base.length; i++) {
      const pointer = base[i]
      if (nextRemoved < removed.length && removed[nextRemoved] === pointer) {
        nextRemoved++
        continue
      }
      while (nextAdded < added.length && added[nextAdded] < pointer) {
        merged[at++] = added[nextAdded++]
      }
      merged[at++] = pointer
    }
    while (nextAdded < added.length) merged[at++] = added[nextAdded++]
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
  const at = lowerBound(list, pointer)
  return at < list.length && list[at] === pointer
}

function inserted(list: BigInt64Array, pointer: bigint): BigInt64Array {
  const at = lowerBound(list, pointer)
  const longer = new BigInt64Array(list.length + 1)
  longer.set(list.subarray(0, at))
  longer[at] = pointer
  longer.set(list.subarray(at), at + 1)
  return longer
}

function without(list: BigInt64Array, pointer: bigint): BigInt64Array {
  const at = lowerBound(list, pointer)
  const shorter = new BigInt64Array(list.length - 1)
  shorter.set(list.subarray(0, at))
  shorter.set(list.subarray(at + 1), at)
  return shorter
}
