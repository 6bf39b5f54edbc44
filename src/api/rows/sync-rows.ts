/**
 * Synchronous iterators with the standard iterator helpers.
 *
 * The helpers have the names, arguments and laziness of JavaScript's own (`Iterator.prototype`),
 * which Node has from version 22 on. If a helper ends early, also because a callback throws, it
 * closes the iterator from which it takes its elements.
 */
import { checkCallback, checkResultCount } from './row-arguments.js'

/** A callback that receives an element and its index, from 0. */
export type SyncElementCallback<T, U> = (value: T, index: number) => U

/** The iterator from which a helper takes its elements. */
type Source<T> = Iterable<T> & { return(): unknown }

/** An iterator with the standard iterator helpers. */
export abstract class SyncRows<T> implements IterableIterator<T, undefined> {
  /** The next element. */
  abstract next(): IteratorResult<T, undefined>

  /** Ends the iteration early. */
  abstract return(): IteratorReturnResult<undefined>

  /** Returns this object, for `for of`. */
  [Symbol.iterator](): this {
    return this
  }

  /** Ends the iteration early: for `using`. */
  [Symbol.dispose](): void {
    this.return()
  }

  /** All remaining elements, as {@link toArray}. */
  all(): T[] {
    return this.toArray()
  }

  /** All remaining elements. */
  toArray(): T[] {
    const elements: T[] = []
    for (const element of this) elements.push(element)
    return elements
  }

  /** The results of `callback` for each element. */
  map<U>(callback: SyncElementCallback<T, U>): SyncRows<U> {
    checkCallback(callback, 'map')
    return new DerivedRows(this, mapped(this, callback))
  }

  /** The elements for which `callback` returns a true value. */
  filter(callback: SyncElementCallback<T, unknown>): SyncRows<T> {
    checkCallback(callback, 'filter')
    return new DerivedRows(this, filtered(this, callback))
  }

  /** The elements of the lists that `callback` returns for each element. */
  flatMap<U>(callback: SyncElementCallback<T, Iterable<U>>): SyncRows<U> {
    checkCallback(callback, 'flatMap')
    return new DerivedRows(this, flattened(this, callback))
  }

  /** The first `count` elements; Infinity for all. Throws `ERR_INVALID_ARGUMENT`. */
  take(count: number): SyncRows<T> {
    checkResultCount(count)
    return new DerivedRows(this, taken(this, count))
  }

  /** The elements after the first `count`. Throws `ERR_INVALID_ARGUMENT`. */
  drop(count: number): SyncRows<T> {
    checkResultCount(count)
    return new DerivedRows(this, dropped(this, count))
  }

  /** Calls `callback` with each element. */
  forEach(callback: SyncElementCallback<T, unknown>): void {
    checkCallback(callback, 'forEach')
    let index = 0
    for (const element of this) callback(element, index++)
  }

  /** Whether `callback` returns a true value for some element. Ends with the first such element. */
  some(callback: SyncElementCallback<T, unknown>): boolean {
    checkCallback(callback, 'some')
    let index = 0
    for (const element of this) if (callback(element, index++)) return true
    return false
  }

  /**
   * Whether `callback` returns a true value for all elements. Ends with the first other element.
   */
  every(callback: SyncElementCallback<T, unknown>): boolean {
    checkCallback(callback, 'every')
    let index = 0
    for (const element of this) if (!callback(element, index++)) return false
    return true
  }

  /** The first element for which `callback` returns a true value; undefined if there is none. */
  find(callback: SyncElementCallback<T, unknown>): T | undefined {
    checkCallback(callback, 'find')
    let index = 0
    for (const element of this) if (callback(element, index++)) return element
    return undefined
  }

  /** Folds the elements into one value, beginning with `initial`. */
  reduce<U>(callback: (so: U, value: T, index: number) => U, initial: U): U {
    checkCallback(callback, 'reduce')
    let so = initial
    let index = 0
    for (const element of this) so = callback(so, element, index++)
    return so
  }
}

/**
 * The elements of a generator. Ending it also closes its source, even if the generator never began.
 */
class DerivedRows<T> extends SyncRows<T> {
  readonly #source: Source<unknown>
  readonly #elements: Generator<T, undefined>

  constructor(source: Source<unknown>, elements: Generator<T, undefined>) {
    super()
    this.#source = source
    this.#elements = elements
  }

  next(): IteratorResult<T, undefined> {
    return this.#elements.next()
  }

  return(): IteratorReturnResult<undefined> {
    this.#elements.return(undefined)
    this.#source.return()
    return { done: true, value: undefined }
  }
}

function* mapped<T, U>(
  rows: Source<T>,
  callback: SyncElementCallback<T, U>,
): Generator<U, undefined> {
  let index = 0
  for (const element of rows) yield callback(element, index++)
}

function* filtered<T>(
  rows: Source<T>,
  callback: SyncElementCallback<T, unknown>,
): Generator<T, undefined> {
  let index = 0
  for (const element of rows) if (callback(element, index++)) yield element
}

function* flattened<T, U>(
  rows: Source<T>,
  callback: SyncElementCallback<T, Iterable<U>>,
): Generator<U, undefined> {
  let index = 0
  for (const element of rows) yield* callback(element, index++)
}

function* taken<T>(rows: Source<T>, count: number): Generator<T, undefined> {
  let left = count
  if (left === 0) {
    rows.return()
    return
  }
  for (const element of rows) {
    yield element
    if (--left === 0) return
  }
}

function* dropped<T>(rows: Source<T>, count: number): Generator<T, undefined> {
  let left = count
  for (const element of rows) {
    if (left > 0) left--
    else yield element
  }
}
