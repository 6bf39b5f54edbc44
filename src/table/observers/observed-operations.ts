/**
 * The operations of a table, with its observers.
 *
 * An operation that misses a block is repeated when the block is loaded, but observers are asked
 * only once. So an object of this class remembers the operation that it has begun. It serves one
 * call, or the operations of a list one after the other.
 */
import { checkObject, readArguments } from '../../base/arguments.js'
import { copyArguments } from '../../base/copy-arguments.js'
import type { Durability } from '../../storage/wal/log.js'
import type { ReadMode } from '../../storage/store/store-reader.js'
import type { ObserverChain, ObserverMethod, Prepared, ResultKind } from './observer-chain.js'
import { CheckJudgement, nothing, ObservedBatch, RowsJudgement } from './observed-batch.js'
import { Result } from '../../api/results/result.js'
import { isBlockMissing } from '../reads/block-loading.js'
import type { ScanSession } from '../reads/scan-session.js'
import type { ListOutcome } from '../operations/list-outcome.js'
import type { PlainOperations } from '../operations/plain-operations.js'
import type { Applied, TableOperations } from '../operations/table-operations.js'
import { openObservedScan } from './observed-scan.js'
import type {
  Append,
  Check,
  CheckAction,
  CheckAndMutateResult,
  Delete,
  Get,
  Increment,
  MultiRowMutations,
  Mutation,
  Put,
  RowMutations,
  Scan,
} from '../../api/index.js'
import { checkForm } from '../../checks/forms.js'

/** Carries out an operation. Called again after it threw `BlockMissing`. */
type Step<T> = (mode: ReadMode) => T

const aResult: ResultKind<Result> = {
  what: 'a Result',
  is: (value) => value instanceof Result,
}
const aBoolean: ResultKind<boolean> = {
  what: 'true or false',
  is: (value) => typeof value === 'boolean',
}
const allLeftOut = Result.of([], { exists: true })

/** Carries out the table's own action. */
type Action<O, T> = (operation: O, mode: ReadMode, batch: ObservedBatch) => T

/** Whether an observer has replaced an action, and its result. */
type Bypassed<T> = Omit<Prepared<object, T>, 'operation'>
/** Asks the observers between the read of the row and the action. */
type Locked<O, T> = (operation: O, mode: ReadMode) => Bypassed<T>

/** Operations that call observers; see the file header. */
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

  get(get: Get, mode: ReadMode): Result {
    return this.run(() => this.getStep(get), mode)
  }

  exists(get: Get, mode: ReadMode): boolean {
    return this.run(() => this.existsStep(get), mode)
  }

  openScan(scan: Scan, mayBlock: boolean): ScanSession {
    const { engine } = this.plain
    return openObservedScan(engine, this.plain.state(), this.chain, scan, mayBlock)
  }

  put(put: Put, mode: ReadMode): Durability {
    return this.run(() => this.putStep(put), mode).durability
  }

  putGroup(puts: readonly Put[], from: number, mode: ReadMode, outcome: ListOutcome): number {
    return outcome.attempt(from, () => this.put(puts[from], mode))
  }

  delete(deletion: Delete, mode: ReadMode): Durability {
    return this.run(() => this.deleteStep(deletion), mode).durability
  }

  increment(increment: Increment, mode: ReadMode): Applied<Result> {
    return this.run(() => this.incrementStep(increment), mode)
  }

  append(append: Append, mode: ReadMode): Applied<Result> {
    return this.run(() => this.appendStep(append), mode)
  }

  mutateRow(mutations: RowMutations, mode: ReadMode): Applied<Result> {
    return this.run(() => this.mutateRowStep(mutations), mode)
  }

  mutateRows(request: MultiRowMutations, mode: ReadMode): Applied<boolean> {
    return this.run(() => this.mutateRowsStep(request), mode)
  }

  checkAndMutate(check: Check, action: CheckAction, mode: ReadMode): Applied<CheckAndMutateResult> {
    return this.run(() => this.checkStep(check, action), mode)
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

  private getStep(get: Get): Step<Result> {
    checkForm(get, 'get')
    let prepared: Prepared<Get, Result> | undefined
    return (mode) => {
      prepared ??= this.chain.pre('preGet', get, aResult)
      if (prepared.bypassed) return prepared.result
      const result = this.plain.get(prepared.operation, mode)
      return this.chain.post('postGet', [prepared.operation], result, aResult)
    }
  }

  private existsStep(get: Get): Step<boolean> {
    checkForm(get, 'get')
    let prepared: Prepared<Get, boolean> | undefined
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

  private putStep(put: Put): Step<Applied<void>> {
    return this.mutation<Put, void>(
      put,
      ['prePut', 'postPut'],
      nothing,
      (changed) => [{ put: changed }],
      (changed, mode, intervention) => asApplied(this.plain.put(changed, mode, intervention)),
    )
  }

  private deleteStep(deletion: Delete): Step<Applied<void>> {
    return this.mutation<Delete, void>(
      deletion,
      ['preDelete', 'postDelete'],
      nothing,
      (changed) => [{ delete: changed }],
      (changed, mode, intervention) => asApplied(this.plain.delete(changed, mode, intervention)),
    )
  }

  private incrementStep(increment: Increment): Step<Applied<Result>> {
    return this.mutation<Increment, Result>(
      increment,
      ['preIncrement', 'postIncrement'],
      aResult,
      (changed) => [{ increment: changed }],
      (changed, mode, intervention) => this.plain.increment(changed, mode, intervention),
      this.afterRowLock('preIncrementAfterRowLock', (changed, mode) =>
        this.plain.rehearseIncrement(changed, mode),
      ),
    )
  }

  private appendStep(append: Append): Step<Applied<Result>> {
    return this.mutation<Append, Result>(
      append,
      ['preAppend', 'postAppend'],
      aResult,
      (changed) => [{ append: changed }],
      (changed, mode, intervention) => this.plain.append(changed, mode, intervention),
      this.afterRowLock('preAppendAfterRowLock', (changed, mode) =>
        this.plain.rehearseAppend(changed, mode),
      ),
    )
  }

  private mutateRowStep(mutations: RowMutations): Step<Applied<Result>> {
    return this.mutation<RowMutations, Result>(
      mutations,
      ['preMutateRow', 'postMutateRow'],
      aResult,
      (changed, batch) => batch.askMembers(changed.row, changed.mutations),
      (changed, mode, batch) => {
        const { mutations } = batch
        const asked = readArguments(() => {
          return mutations === changed.mutations ? changed : { ...changed, mutations }
        })
        if (asked === changed) return this.plain.mutateRow(changed, mode, batch)
        if (mutations.length === 0) return { value: allLeftOut, durability: 'ASYNC_WAL' }
        return this.plain.mutateRow(asked, mode, batch)
      },
    )
  }

  private mutateRowsStep(request: MultiRowMutations): Step<Applied<boolean>> {
    const judgement = new RowsJudgement(
      this.chain,
      this.plain.engine,
      checkForm(request, 'mutateRows'),
    )
    const { batch } = judgement
    return (mode) => {
      const applied = batch.around(() => this.plain.mutateRows(request, mode, judgement))
      if (applied.value) batch.tellMembers()
      return applied
    }
  }

  private checkStep(check: Check, action: CheckAction): Step<Applied<CheckAndMutateResult>> {
    const { chain, plain } = this
    checkForm(check, 'check')
    checkForm(action, 'the action of a check')
    const judgement = new CheckJudgement(chain, plain.engine, check, action)
    let asked = false
    return (mode) => {
      if (!asked) {
        asked = true
        judgement.bypassed()
      }
      if (judgement.result !== undefined) {
        return { value: judgement.result, durability: 'ASYNC_WAL' }
      }
      const { value, durability } = judgement.batch.around(() =>
        plain.checkAndMutate(check, action, mode, judgement),
      )
      // An observer may have replaced the action after the row was read.
      if (judgement.result !== undefined) return { value: judgement.result, durability }
      return { value: judgement.finish(value), durability }
    }
  }

  /**
   * Asks the observers when the row is in memory. The action that follows in the same turn finds
   * the row there. Undefined if no observer has the method.
   */
  private afterRowLock<O extends object>(
    method: ObserverMethod,
    rehearse: (operation: O, mode: ReadMode) => void,
  ): Locked<O, Result> | undefined {
    const { chain } = this
    if (!chain.has(method)) return undefined
    return (operation, mode) => {
      rehearse(operation, mode)
      return chain.mayBypass(method, [operation], aResult)
    }
  }

  private mutation<O extends object, T>(
    operation: O,
    [pre, post]: readonly [ObserverMethod, ObserverMethod],
    kind: ResultKind<T>,
    mutationsOf: (operation: O, batch: ObservedBatch) => readonly Mutation[],
    act: Action<O, Applied<T>>,
    lock?: Locked<O, T>,
  ): Step<Applied<T>> {
    const { chain } = this
    checkObject(operation, 'the operation')
    let prepared: Prepared<O, T> | undefined
    let locked: Bypassed<T> | undefined
    let batch: ObservedBatch | undefined
    return (mode) => {
      prepared ??= chain.pre(pre, operation, kind)
      if (prepared.bypassed) return { value: prepared.result, durability: 'ASYNC_WAL' }
      const current = prepared.operation
      locked ??= lock?.(current, mode)
      if (locked?.bypassed === true) return { value: locked.result, durability: 'ASYNC_WAL' }
      const own = (batch ??= new ObservedBatch(chain))
      const { value, durability } = own.around(() => {
        own.begin(() => mutationsOf(current, own))
        return act(current, mode, own)
      })
      own.tellMembers()
      if (value === undefined) chain.tell(post, [current])
      else
        return {
          value: chain.post(post, [current], value, kind as ResultKind<NonNullable<T>>),
          durability,
        }
      return { value, durability }
    }
  }
}

function asApplied(durability: Durability): Applied<void> {
  return { value: undefined, durability }
}
