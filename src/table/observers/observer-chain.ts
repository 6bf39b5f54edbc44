/**
 * The observers of one table in order. The methods of each kind are collected when the observers
 * change, so an operation without observers costs one comparison.
 *
 * Errors: see `observer.ts`. Results of observers are checked: a promise, or a value that is not an
 * object where an operation is expected, is an `ERR_COPROCESSOR`.
 */
import { CellarError } from '../../base/errors.js'
import {
  badAnswer,
  coprocessorError,
  refusePromise,
} from '../../storage/coprocessor/coprocessor-error.js'
import type { BypassContext, Observer, ObserverContext } from '../../api/observer.js'
import type { CheckAndMutateResult, SyncTable, Table, Timestamp } from '../../api/index.js'
import { Result } from '../../api/results/result.js'
import type { PlainOperations } from '../operations/plain-operations.js'
import type { WriteHook } from '../operations/intervention.js'
import type { MutationWriter } from '../operations/mutation-writer.js'
import type { ReadMode } from '../../storage/store/store-reader.js'
import { isBlockMissing } from '../reads/block-loading.js'
import { WrittenRows } from './written-rows.js'

/** Name of a method of an observer. */
export type ObserverMethod = keyof Observer

/** An observer, if there is one, with the name of its coprocessor. */
export interface ObserverEntry {
  readonly name: string
  readonly observer: Observer | undefined
}

type Method = (...values: unknown[]) => unknown

interface Handler {
  readonly name: string
  readonly call: Method
}

/** Describes the result of an operation, to check values of observers. */
export interface ResultKind<R> {
  readonly what: string
  is(value: unknown): value is R
}

function kind<R>(what: string, is: (value: unknown) => boolean): ResultKind<R> {
  return { what, is: is as ResultKind<R>['is'] }
}

const isResult = (value: unknown): boolean => value instanceof Result

/** The results that observers may give. */
export const resultKinds = {
  nothing: kind<undefined>('nothing', (value) => value === undefined),
  result: kind<Result>('a Result', isResult),
  resultOrEnd: kind<Result | undefined>('a Result, or undefined to end the scan', (value) => {
    return value === undefined || isResult(value)
  }),
  boolean: kind<boolean>('true or false', (value) => typeof value === 'boolean'),
  timestamp: kind<Timestamp>('a timestamp', (value) => {
    return typeof value === 'number' || typeof value === 'bigint'
  }),
  outcome: kind<CheckAndMutateResult>('an object { success, result }', (value) => {
    return typeof (value as CheckAndMutateResult | null)?.success === 'boolean'
  }),
}

/** The outcome of the `pre` methods of an operation. */
export interface Prepared<O, R> {
  /** The operation to carry out, unless `bypassed`. */
  readonly operation: O
  readonly bypassed: boolean
  /** The result of the operation if `bypassed`. */
  readonly result: R
}

/** Methods for operations; the others are for jobs and for the life of the table. */
const operationMethods: readonly ObserverMethod[] = [
  'preGet',
  'postGet',
  'preExists',
  'postExists',
  'preScannerOpen',
  'postScannerOpen',
  'preScannerNext',
  'postScannerNext',
  'postScannerFilterRow',
  'preScannerClose',
  'postScannerClose',
  'prePut',
  'postPut',
  'preDelete',
  'postDelete',
  'prePrepareTimeStampForDeleteVersion',
  'preIncrement',
  'preIncrementAfterRowLock',
  'postIncrement',
  'preAppend',
  'preAppendAfterRowLock',
  'postAppend',
  'preMutateRow',
  'postMutateRow',
  'preBatchMutate',
  'postBatchMutate',
  'postBatchMutateIndispensably',
  'preCheckAndMutate',
  'preCheckAndMutateAfterRowLock',
  'postCheckAndMutate',
]

/** Finds the operations of a table by its name. Throws `ERR_TABLE_NOT_FOUND`. */
export type FindOperations = (table: string) => PlainOperations

export class ObserverChain implements WriteHook {
  /** Whether any observer observes operations. */
  active = false
  isActive = false
  private readonly operationsOf: FindOperations
  private readonly table: () => Table & SyncTable
  private readonly warn: (error: unknown) => void
  private entries: readonly ObserverEntry[] = []
  private readonly handlers = new Map<ObserverMethod, readonly Handler[]>()

  /**
   * `table` returns the observers' own handle of the table, made when first needed. `warn` receives
   * the errors that {@link tellSafely} catches.
   */
  constructor(
    table: () => Table & SyncTable,
    operationsOf: FindOperations,
    warn: (error: unknown) => void,
  ) {
    this.table = table
    this.operationsOf = operationsOf
    this.warn = warn
  }

  /** The context that observers receive. */
  get context(): ObserverContext {
    return { table: this.table() }
  }

  /** Replaces the observers; `entries` are in order. */
  set(entries: readonly ObserverEntry[]): void {
    this.entries = entries
    this.handlers.clear()
    this.active = operationMethods.filter((method) => this.has(method)).length > 0
    this.isActive = this.has('preWrite')
  }

  /** A chain of other observers of the table. */
  of(entries: readonly ObserverEntry[]): ObserverChain {
    const chain = new ObserverChain(this.table, this.operationsOf, this.warn)
    chain.set(entries)
    return chain
  }

  complete(operations: PlainOperations, writer: MutationWriter, mode: ReadMode): MutationWriter {
    const written = new WrittenRows(operations, this.operationsOf, mode)
    if (written.isEmpty) return writer
    this.tell('preWrite', [written])
    return written.addTo(writer)
  }

  /** The observers' implementations of a method; collected when first needed. */
  private handlersOf(method: ObserverMethod): readonly Handler[] {
    let found = this.handlers.get(method)
    if (found === undefined) {
      found = this.entries
        .filter(({ observer }) => observer?.[method] !== undefined)
        .map(({ name, observer }): Handler => {
          const methods = observer as unknown as Record<string, Method>
          return { name, call: (...values) => methods[method](...values) }
        })
      this.handlers.set(method, found)
    }
    return found
  }

  /** Whether any observer has the method. */
  has(method: ObserverMethod): boolean {
    return this.handlersOf(method).length > 0
  }

  /** Calls a method that may change or replace the operation. */
  pre<O extends object, R>(
    method: ObserverMethod,
    operation: O,
    kind: ResultKind<R>,
  ): Prepared<O, R> {
    const context = new Bypass<R>(this.table)
    let current = operation
    for (const { name, call } of this.handlersOf(method)) {
      const answer = run(name, method, call, [context, current])
      if (context.stopsAt(name, method, kind)) break
      if (answer === undefined) continue
      if (typeof answer !== 'object' || answer === null) {
        throw badAnswer(name, method, 'return an operation or nothing')
      }
      current = answer as O
    }
    return { operation: current, bypassed: context.bypassed, result: context.result }
  }

  /** Calls a method that may replace a step, but change nothing. */
  mayBypass<R>(
    method: ObserverMethod,
    values: readonly unknown[],
    kind: ResultKind<R>,
  ): Omit<Prepared<object, R>, 'operation'> {
    const context = new Bypass<R>(this.table)
    for (const { name, call } of this.handlersOf(method)) {
      run(name, method, call, [context, ...values])
      if (context.stopsAt(name, method, kind)) break
    }
    return context
  }

  /** Calls a method that may change the result, which is its last argument. */
  post<R>(
    method: ObserverMethod,
    values: readonly unknown[],
    result: R,
    kind: ResultKind<NonNullable<R>>,
  ): R {
    let current = result
    for (const { name, call } of this.handlersOf(method)) {
      const answer = run(name, method, call, [this.context, ...values, current])
      if (answer === undefined) continue
      if (!kind.is(answer)) throw badAnswer(name, method, `return ${kind.what} or nothing`)
      current = answer
    }
    return current
  }

  /**
   * Calls a method without a context. `stop` is called with each coprocessor's name; true ends the
   * calls.
   */
  tellWithoutContext(
    method: ObserverMethod,
    values: readonly unknown[],
    stop?: (name: string) => boolean,
  ): void {
    for (const { name, call } of this.handlersOf(method)) {
      run(name, method, call, values)
      if (stop?.(name) === true) return
    }
  }

  /** Calls a method that only observes. */
  tell(method: ObserverMethod, values: readonly unknown[]): void {
    for (const { name, call } of this.handlersOf(method)) {
      run(name, method, call, [this.context, ...values])
    }
  }

  /**
   * Calls a method that only observes when nothing can fail any more: its error is a warning.
   * Without `values` the method gets no context.
   */
  tellSafely(method: ObserverMethod, values?: readonly unknown[]): void {
    try {
      if (values === undefined) this.tellWithoutContext(method, [])
      else this.tell(method, values)
    } catch (error) {
      this.warn(error)
    }
  }
}

/** The context of a method that may bypass. */
class Bypass<R> implements BypassContext<R> {
  bypassed = false
  result!: R
  private readonly handle: () => Table & SyncTable

  constructor(table: () => Table & SyncTable) {
    this.handle = table
  }

  get table(): Table & SyncTable {
    return this.handle()
  }

  bypass(result: R): void {
    this.bypassed = true
    this.result = result
  }

  /** Whether an observer has bypassed. Throws if it passed a wrong value. */
  stopsAt(name: string, method: string, kind: ResultKind<R>): boolean {
    if (!this.bypassed) return false
    if (kind.is(this.result)) return true
    throw badAnswer(name, method, `call bypass with ${kind.what}`)
  }
}

function run(name: string, method: string, call: Method, values: readonly unknown[]): unknown {
  let answer: unknown
  try {
    answer = call(...values)
  } catch (error) {
    if (isBlockMissing(error)) throw error
    throw error instanceof CellarError ? error : coprocessorError(name, method, error)
  }
  refusePromise(name, method, answer)
  return answer
}
