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
    return new DerivedRows(this, function* (rows) {
      let index = 0
      for (const element of rows) yield callback(element, index++)
    })
  }

  /** The elements for which `callback` returns a true value. */
  filter(callback: SyncElementCallback<T, unknown>): SyncRows<T> {
    checkCallback(callback, 'filter')
    return new DerivedRows(this, function* (rows) {
      let index = 0
      for (const element of rows) if (callback(element, index++)) yield element
    })
  }

  /** The elements of the lists that `callback` returns for each element. */
  flatMap<U>(callback: SyncElementCallback<T, Iterable<U>>): SyncRows<U> {
    checkCallback(callback, 'flatMap')
    return new DerivedRows(this, function* (rows) {
      let index = 0
      for (const element of rows) yield* callback(element, index++)
    })
  }

  /** The first `count` elements; Infinity for all. Throws `ERR_INVALID_ARGUMENT`. */
  take(count: number): SyncRows<T> {
    checkResultCount(count)
    return new DerivedRows(this, function* (rows) {
      let left = count
      if (left === 0) rows.return()
      else
        for (const element of rows) {
          yield element
          if (--left === 0) return
        }
    })
  }

  /** The elements after the first `count`. Throws `ERR_INVALID_ARGUMENT`. */
  drop(count: number): SyncRows<T> {
    checkResultCount(count)
    return this.filter((_, index) => index >= count)
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
    return !this.some((value, index) => !callback(value, index))
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
 * The elements that a generator makes of those of a source. Ending it also closes the source, even
 * if the generator never began.
 */
class DerivedRows<T, U> extends SyncRows<U> {
  readonly #source: SyncRows<T>
  readonly #elements: Generator<U, void>

  constructor(source: SyncRows<T>, generate: (source: SyncRows<T>) => Generator<U, void>) {
    super()
    this.#source = source
    this.#elements = generate(source)
  }

  next(): IteratorResult<U, undefined> {
    return this.#elements.next() as IteratorResult<U, undefined>
  }

  return(): IteratorReturnResult<undefined> {
    this.#elements.return()
    this.#source.return()
    return { done: true, value: undefined }
  }
}
