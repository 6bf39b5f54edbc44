/**
 * One place for a call that is under way: its operation, the values it reads, and what its answers
 * add up to.
 */
import { Checksum } from './draws/checksum.js'
import type { Awaitable, RowValues, RowVisitor, Store } from './engine.js'
import type { Operation } from './operation.js'

/** Carries out operations one after the other. */
export class Slot {
  readonly operation: Operation
  readonly checksum = new Checksum()
  /** Gets that found a row, checks that held. */
  successes = 0
  rowsVisited = 0
  /** Rows and values that were handed to the store to be written. */
  bytesGiven = 0
  readonly #values: RowValues
  readonly #visit: RowVisitor

  constructor(operation: Operation, columnCount: number) {
    this.operation = operation
    this.#values = Array<Buffer | undefined>(columnCount).fill(undefined)
    this.#visit = (row, values) => {
      this.rowsVisited++
      this.checksum.addSample(row)
      this.checksum.addRow(values)
    }
  }

  /** Makes the call and folds the answer in, now or when it comes. */
  carryOut(store: Store): Awaitable<void> {
    const { operation } = this
    switch (operation.kind) {
      case 'get':
        return this.#get(store)
      case 'put':
        return this.#put(store)
      case 'putMany':
        for (const { row, values } of operation.rows) this.#countBytes(row, values)
        return store.putMany(operation.rows)
      case 'delete':
        return store.delete(operation.row)
      case 'scan':
        return this.#scan(store)
      case 'readModifyWrite': {
        const done = this.#get(store)
        return done instanceof Promise ? done.then(() => this.#put(store)) : this.#put(store)
      }
      case 'checkAndPut':
        return this.#check(store)
      case 'putAndCheck': {
        const { row, columns, expected } = operation
        const done = store.put(row, [columns[0]], [expected])
        this.bytesGiven += row.length + expected.length
        return done instanceof Promise ? done.then(() => this.#check(store)) : this.#check(store)
      }
      case 'increment':
        return this.#number(store.increment(operation.row, operation.columns[0], operation.amount))
      case 'append': {
        const { row, columns, values } = operation
        this.bytesGiven += row.length + values[0].length
        return store.append(row, columns[0], values[0])
      }
    }
  }

  #get(store: Store): Awaitable<void> {
    const found = store.get(this.operation.row, this.#values)
    if (found instanceof Promise) return found.then((isFound) => this.#got(isFound))
    this.#got(found)
  }

  #got(isFound: boolean): void {
    if (!isFound) {
      this.checksum.addNumber(0)
      return
    }
    this.successes++
    this.checksum.addRow(this.#values)
  }

  #put(store: Store): Awaitable<void> {
    const { row, columns, values } = this.operation
    this.#countBytes(row, values)
    return store.put(row, columns, values)
  }

  #scan(store: Store): Awaitable<void> {
    const { row, stop, limit, reversed, valueEquals } = this.operation
    const range = { start: row, stop, limit, reversed, valueEquals }
    return this.#number(store.scan(range, this.#visit))
  }

  #check(store: Store): Awaitable<void> {
    const { row, columns, expected, value } = this.operation
    const done = store.checkAndPut(row, columns[0], expected, value)
    if (done instanceof Promise) return done.then((isWritten) => this.#checked(isWritten))
    this.#checked(done)
  }

  #checked(isWritten: boolean): void {
    const { row, value } = this.operation
    this.checksum.addNumber(isWritten ? 1 : 0)
    if (!isWritten) return
    this.successes++
    this.bytesGiven += row.length + (value?.length ?? 0)
  }

  #number(answer: Awaitable<number>): Awaitable<void> {
    if (answer instanceof Promise) return answer.then((value) => this.checksum.addNumber(value))
    this.checksum.addNumber(answer)
  }

  #countBytes(row: Buffer, values: readonly Buffer[]): void {
    let bytes = row.length
    for (let at = 0; at < values.length; at++) bytes += values[at].length
    this.bytesGiven += bytes
  }
}
