/**
 * The operations of a table, with its observers.
 *
 * An operation that misses a block is repeated when the block is loaded, but observers are asked
 * only once. So an object of this class remembers the operation that it has begun. It serves one
 * call, or the operations of a list one after the other.
 */
import { checkObject, readArguments } from '../../base/arguments.js'
import { copyArguments } from '../../base/copy-arguments.js'
import type { ReadMode } from '../../storage/store/store-reader.js'
import {
  resultKinds,
  type ObserverChain,
  type ObserverMethod,
  type Prepared,
  type ResultKind,
} from './observer-chain.js'
import { CheckDecision, ObservedBatch, RowsDecision } from './observed-batch.js'
import { Result } from '../../api/results/result.js'
import { isBlockMissing } from '../reads/block-loading.js'
import type { ScanSession } from '../reads/scan-session.js'
import type { ListOutcome } from '../operations/list-outcome.js'
import type { PlainOperations } from '../operations/plain-operations.js'
import type {
  Applied,
  MutationKind,
  TableOperations,
  Given,
  Value,
} from '../operations/table-operations.js'
import { openObservedScan } from './observed-scan.js'
import { emptyReceipt } from '../../api/put-receipt.js'
import type * as api from '../../api/index.js'
import { checkForm } from '../../checks/forms.js'

/** Carries out an operation. Called again after it threw `BlockMissing`. */
type Step<T> = (mode: ReadMode) => T

const allLeftOut = Result.of([], { exists: true })

/** Whether an observer has replaced an action, and its result. */
type Bypassed<T> = Omit<Prepared<object, T>, 'operation'>

/** How observers take part in a kind of mutation. */
interface ObservedCall<K extends RowKind> {
  readonly pre: ObserverMethod
  /** Called when the row is in memory. The action that follows in the same turn finds it there. */
  readonly locked?: ObserverMethod
  readonly post: ObserverMethod
  readonly result: ResultKind<Value<K>> | typeof nothing
}

/** The mutations of one row without a condition. */
type RowKind = Exclude<MutationKind, 'mutateRows' | 'checkAndMutate'>

const { nothing, result: aResult, boolean: aBoolean } = resultKinds

const observedCalls: { readonly [K in RowKind]: ObservedCall<K> } = {
  put: { pre: 'prePut', post: 'postPut', result: nothing },
  delete: { pre: 'preDelete', post: 'postDelete', result: nothing },
  increment: {
    pre: 'preIncrement',
    locked: 'preIncrementAfterRowLock',
    post: 'postIncrement',
    result: aResult,
  },
  append: {
    pre: 'preAppend',
    locked: 'preAppendAfterRowLock',
    post: 'postAppend',
    result: aResult,
  },
  mutateRow: { pre: 'preMutateRow', post: 'postMutateRow', result: aResult },
}

export class ObservedOperations implements TableOperations {
  private readonly plain: PlainOperations
  private readonly chain: ObserverChain
  /** The operation that has begun and is not finished. */
  private begun: Step<unknown> | undefined = undefined

  constructor(plain: PlainOperations, chain: ObserverChain) {
    this.plain = plain
    this.chain = chain
  }

  own<T>(operation: T): T {
    return copyArguments(operation).value
  }

  forNextCall(): ObservedOperations {
    return new ObservedOperations(this.plain, this.chain)
  }

  get(get: api.Get, mode: ReadMode): Result {
    return this.run(() => this.getStep(get), mode)
  }

  getter(): undefined {
    return undefined
  }

  exists(get: api.Get, mode: ReadMode): boolean {
    return this.run(() => this.existsStep(get), mode)
  }

  openScan(scan: api.Scan, mayBlock: boolean): ScanSession {
    const { parts } = this.plain
    return openObservedScan(parts, this.plain.state(), this.chain, scan, mayBlock)
  }

  putGroup(puts: readonly api.Put[], from: number, mode: ReadMode, outcome: ListOutcome): number {
    return outcome.attempt(from, () => this.mutate('put', puts[from], mode).durability)
  }

  mutate<K extends MutationKind>(kind: K, operation: Given<K>, mode: ReadMode): Applied<Value<K>> {
    const applied = this.run(() => this.mutation(kind, operation as never), mode)
    return applied as Applied<Value<K>>
  }

  private mutation(kind: MutationKind, operation: never): Step<Applied<unknown>> {
    if (kind === 'mutateRows') return this.mutateRows(operation)
    if (kind === 'checkAndMutate') return this.checkAndMutate(operation)
    return this.mutateOne(kind, operation)
  }

  /** Begins an operation, or continues the one that the caller repeats. */
  private run<T>(begin: () => Step<T>, mode: ReadMode): T {
    try {
      const step = (this.begun ??= begin()) as Step<T>
      const value = step(mode)
      this.begun = undefined
      return value
    } catch (error) {
      if (!isBlockMissing(error)) this.begun = undefined
      throw error
    }
  }

  private getStep(get: api.Get): Step<Result> {
    checkForm(get, 'get')
    let prepared: Prepared<api.Get, Result> | undefined
    return (mode) => {
      prepared ??= this.chain.pre('preGet', get, aResult)
      if (prepared.bypassed) return prepared.result
      const result = this.plain.get(prepared.operation, mode)
      return this.chain.post('postGet', [prepared.operation], result, aResult)
    }
  }

  private existsStep(get: api.Get): Step<boolean> {
    checkForm(get, 'get')
    let prepared: Prepared<api.Get, boolean> | undefined
    let read: Step<Result> | undefined
    return (mode) => {
      prepared ??= this.chain.pre('preExists', get, aBoolean)
      if (prepared.bypassed) return prepared.result
      read ??= this.getStep(prepared.operation)
      const found = read(mode)
      const exists = found.exists ?? !found.isEmpty
      return this.chain.post('postExists', [prepared.operation], exists, aBoolean)
    }
  }

  private mutateRows(request: api.MultiRowMutations): Step<Applied<boolean>> {
    const decision = new RowsDecision(
      this.chain,
      this.plain.parts.readPoints,
      checkForm(request, 'mutateRows'),
    )
    const { batch } = decision
    return (mode) => {
      const applied = batch.around(() => this.plain.mutate('mutateRows', request, mode, decision))
      if (applied.value) batch.tellMembers()
      return applied
    }
  }

  private checkAndMutate({
    check,
    action,
  }: api.CheckedAction): Step<Applied<api.CheckAndMutateResult>> {
    const { chain, plain } = this
    checkForm(check, 'check')
    checkForm(action, 'the action of a check')
    const decision = new CheckDecision(chain, plain.parts.readPoints, check, action)
    let asked = false
    return (mode) => {
      if (!asked) {
        asked = true
        decision.bypassed()
      }
      if (decision.result !== undefined) {
        return { value: decision.result, durability: 'ASYNC_WAL' }
      }
      const { value, durability } = decision.batch.around(() =>
        plain.mutate('checkAndMutate', { check, action }, mode, decision),
      )
      // An observer may have replaced the action after the row was read.
      if (decision.result !== undefined) return { value: decision.result, durability }
      return { value: decision.finish(value), durability }
    }
  }

  private mutateOne<K extends RowKind>(kind: K, operation: Given<K>): Step<Applied<Value<K>>> {
    const { chain } = this
    const { pre, post, result } = observedCalls[kind] as ObservedCall<K>
    checkObject(operation, 'the operation')
    let prepared: Prepared<Given<K>, Value<K>> | undefined
    let locked: Bypassed<Value<K>> | undefined
    let batch: ObservedBatch | undefined
    return (mode) => {
      prepared ??= chain.pre(pre, operation, result)
      if (prepared.bypassed) return unwritten(kind, prepared.result)
      const current = prepared.operation
      locked ??= this.lock(kind, current, mode)
      if (locked?.bypassed === true) return unwritten(kind, locked.result)
      const own = (batch ??= new ObservedBatch(chain))
      const { value, durability } = own.around(() => this.act(kind, current, mode, own))
      own.tellMembers()
      if (result === nothing) {
        chain.tell(post, [current])
        return { value, durability }
      }
      const kindOfResult = result as ResultKind<NonNullable<Value<K>>>
      return { value: chain.post(post, [current], value!, kindOfResult), durability }
    }
  }

  /** Asks the observers when the row is in memory; undefined if no observer has the method. */
  private lock<K extends RowKind>(
    kind: K,
    operation: Given<K>,
    mode: ReadMode,
  ): Bypassed<Value<K>> | undefined {
    const { locked, result } = observedCalls[kind] as ObservedCall<K>
    if (locked === undefined || !this.chain.has(locked)) return undefined
    this.plain.rehearse(kind as 'increment', operation as api.Increment, mode)
    return this.chain.mayBypass(locked, [operation], result)
  }

  /** Carries out the table's own action, with the mutations that the observers left. */
  private act<K extends RowKind>(
    kind: K,
    operation: Given<K>,
    mode: ReadMode,
    batch: ObservedBatch,
  ): Applied<Value<K>> {
    if (kind !== 'mutateRow') {
      batch.begin(() => [{ [kind]: operation } as unknown as api.Mutation])
      return this.plain.mutate(kind, operation, mode, batch)
    }
    const given = operation as api.RowMutations
    batch.begin(() => batch.askMembers(given.row, given.mutations))
    const { mutations } = batch
    const asked = readArguments(() => {
      return mutations === given.mutations ? given : { ...given, mutations }
    })
    if (asked !== given && mutations.length === 0) {
      return { value: allLeftOut, durability: 'ASYNC_WAL' }
    }
    return this.plain.mutate(kind, asked, mode, batch)
  }
}

/** The outcome of an operation that an observer has replaced. */
function unwritten<K extends RowKind>(kind: K, given: Value<K>): Applied<Value<K>> {
  const value = kind === 'put' ? (emptyReceipt as Value<K>) : given
  return { value, durability: 'ASYNC_WAL' }
}
