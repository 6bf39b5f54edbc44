/**
 * Asynchronous iterators with the standard iterator helpers.
 *
 * The helpers have the names, arguments and laziness of JavaScript's own (`Iterator.prototype`).
 * Callbacks may return promises, which are awaited. If a helper ends early, also because a callback
 * throws, it closes the iterator from which it takes its elements.
 */
import { checkCallback, checkResultCount } from './row-arguments.js'

/** A callback that receives an element and its index, from 0. */
export type ElementCallback<T, U> = (value: T, index: number) => U | Promise<U>

/** The iterator from which a helper takes its elements. */
type Source<T> = AsyncIterable<T> & { return(): Promise<unknown> }

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
    return new DerivedRows(this, mapped(this, callback))
  }

  /** The elements for which `callback` returns a true value. */
  filter(callback: ElementCallback<T, unknown>): AsyncRows<T> {
    checkCallback(callback, 'filter')
    return new DerivedRows(this, filtered(this, callback))
  }

  /** The elements of the lists that `callback` returns for each element. */
  flatMap<U>(callback: ElementCallback<T, Iterable<U> | AsyncIterable<U>>): AsyncRows<U> {
    checkCallback(callback, 'flatMap')
    return new DerivedRows(this, flattened(this, callback))
  }

  /** The first `count` elements; Infinity for all. Throws `ERR_INVALID_ARGUMENT`. */
  take(count: number): AsyncRows<T> {
    checkResultCount(count)
    return new DerivedRows(this, taken(this, count))
  }

  /** The elements after the first `count`. Throws `ERR_INVALID_ARGUMENT`. */
  drop(count: number): AsyncRows<T> {
    checkResultCount(count)
    return new DerivedRows(this, dropped(this, count))
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
    let index = 0
    for await (const element of this) if (!(await callback(element, index++))) return false
    return true
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
    let so = initial
    let index = 0
    for await (const element of this) so = await callback(so, element, index++)
    return so
  }
}

/**
 * The elements of a generator. Ending it also closes its source, even if the generator never began.
 */
class DerivedRows<T> extends AsyncRows<T> {
  readonly #source: Source<unknown>
  readonly #elements: AsyncGenerator<T, undefined>

  constructor(source: Source<unknown>, elements: AsyncGenerator<T, undefined>) {
    super()
    this.#source = source
    this.#elements = elements
  }

  next(): Promise<IteratorResult<T, undefined>> {
    return this.#elements.next()
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    await this.#elements.return(undefined)
    await this.#source.return()
    return { done: true, value: undefined }
  }
}

async function* mapped<T, U>(
  rows: Source<T>,
  callback: ElementCallback<T, U>,
): AsyncGenerator<U, undefined> {
  let index = 0
  for await (const element of rows) yield callback(element, index++)
}

async function* filtered<T>(
  rows: Source<T>,
  callback: ElementCallback<T, unknown>,
): AsyncGenerator<T, undefined> {
  let index = 0
  for await (const element of rows) if (await callback(element, index++)) yield element
}

async function* flattened<T, U>(
  rows: Source<T>,
  callback: ElementCallback<T, Iterable<U> | AsyncIterable<U>>,
): AsyncGenerator<U, undefined> {
  let index = 0
  for await (const element of rows) yield* await callback(element, index++)
}

async function* taken<T>(rows: Source<T>, count: number): AsyncGenerator<T, undefined> {
  let left = count
  if (left === 0) {
    await rows.return()
    return
  }
  for await (const element of rows) {
    yield element
    if (--left === 0) return
  }
}

async function* dropped<T>(rows: Source<T>, count: number): AsyncGenerator<T, undefined> {
  let left = count
  for await (const element of rows) {
    if (left > 0) left--
    else yield element
  }
}
