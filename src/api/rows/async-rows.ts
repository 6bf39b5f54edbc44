/**
 * Asynchronous iterators with the standard iterator helpers.
 *
 * The helpers have the names, arguments and laziness of JavaScript's own (`Iterator.prototype`).
 * Callbacks may return promises, which are awaited. If a helper ends early, also because a callback
 * throws, it closes the iterator from which it takes its elements.
 */
import { readArguments } from '../../base/arguments.js'
import { checkCallback, checkResultCount } from './row-arguments.js'

/** A callback that receives an element and its index, from 0. */
export type ElementCallback<T, U> = (value: T, index: number) => U | Promise<U>

/** An async iterator with the standard iterator helpers. */
export abstract class AsyncRows<T> implements AsyncIterableIterator<T, undefined> {
  /** The next element. */
  abstract next(): Promise<IteratorResult<T, undefined>>

  /** Ends the iteration early. */
  abstract return(): Promise<IteratorReturnResult<undefined>>

  /** Returns this object, for `for await`. */
  [Symbol.asyncIterator](): this {
    return this
  }

  /** Ends the iteration early: for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  /** All remaining elements, as {@link toArray}. */
  all(): Promise<T[]> {
    return this.toArray()
  }

  /** All remaining elements. */
  async toArray(): Promise<T[]> {
    const elements: T[] = []
    for await (const element of this) elements.push(element)
    return elements
  }

  /** The results of `callback` for each element. */
  map<U>(callback: ElementCallback<T, U>): AsyncRows<U> {
    checkCallback(callback, 'map')
    return new DerivedRows(this, async function* (rows) {
      let index = 0
      for await (const element of rows) yield callback(element, index++)
    })
  }

  /** The elements for which `callback` returns a true value. */
  filter(callback: ElementCallback<T, unknown>): AsyncRows<T> {
    checkCallback(callback, 'filter')
    return new DerivedRows(this, async function* (rows) {
      let index = 0
      for await (const element of rows) if (await callback(element, index++)) yield element
    })
  }

  /** The elements of the lists that `callback` returns for each element. */
  flatMap<U>(callback: ElementCallback<T, Iterable<U> | AsyncIterable<U>>): AsyncRows<U> {
    checkCallback(callback, 'flatMap')
    return new DerivedRows(this, async function* (rows) {
      let index = 0
      for await (const element of rows) yield* await callback(element, index++)
    })
  }

  /** The first `count` elements; Infinity for all. Throws `ERR_INVALID_ARGUMENT`. */
  take(count: number): AsyncRows<T> {
    checkResultCount(count)
    return new DerivedRows(this, async function* (rows) {
      let left = count
      if (left === 0) await rows.return()
      else
        for await (const element of rows) {
          yield element
          if (--left === 0) return
        }
    })
  }

  /** The elements after the first `count`. Throws `ERR_INVALID_ARGUMENT`. */
  drop(count: number): AsyncRows<T> {
    checkResultCount(count)
    return this.filter((_, index) => index >= count)
  }

  /** Calls `callback` with each element. */
  async forEach(callback: ElementCallback<T, unknown>): Promise<void> {
    checkCallback(callback, 'forEach')
    let index = 0
    for await (const element of this) await callback(element, index++)
  }

  /** Whether `callback` returns a true value for some element. Ends with the first such element. */
  async some(callback: ElementCallback<T, unknown>): Promise<boolean> {
    checkCallback(callback, 'some')
    let index = 0
    for await (const element of this) if (await callback(element, index++)) return true
    return false
  }

  /**
   * Whether `callback` returns a true value for all elements. Ends with the first other element.
   */
  async every(callback: ElementCallback<T, unknown>): Promise<boolean> {
    checkCallback(callback, 'every')
    return !(await this.some(async (value, index) => !(await callback(value, index))))
  }

  /** The first element for which `callback` returns a true value; undefined if there is none. */
  async find(callback: ElementCallback<T, unknown>): Promise<T | undefined> {
    checkCallback(callback, 'find')
    let index = 0
    for await (const element of this) if (await callback(element, index++)) return element
    return undefined
  }

  /** Folds the elements into one value, beginning with `initial`. */
  async reduce<U>(
    callback: (so: U, value: T, index: number) => U | Promise<U>,
    initial: U,
  ): Promise<U> {
    checkCallback(callback, 'reduce')
    // The promise of this call looks for a `then`, which a revoked proxy refuses.
    readArguments(() => (initial as Partial<PromiseLike<U>> | null | undefined)?.then)
    let so = initial
    let index = 0
    for await (const element of this) so = await callback(so, element, index++)
    return so
  }
}

/**
 * The elements that a generator makes of those of a source. Ending it also closes the source, even
 * if the generator never began.
 */
class DerivedRows<T, U> extends AsyncRows<U> {
  readonly #source: AsyncRows<T>
  readonly #elements: AsyncGenerator<U, void>

  constructor(source: AsyncRows<T>, generate: (source: AsyncRows<T>) => AsyncGenerator<U, void>) {
    super()
    this.#source = source
    this.#elements = generate(source)
  }

  next(): Promise<IteratorResult<U, undefined>> {
    return this.#elements.next() as Promise<IteratorResult<U, undefined>>
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    await this.#elements.return()
    await this.#source.return()
    return { done: true, value: undefined }
  }
}
