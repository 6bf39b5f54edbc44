/**
 * The operations of a table with its observers around them.
 *
 * Each method makes a step that carries one operation out. A step that misses a block is called
 * again when the block is there (see `TableCore`), so it remembers which observers it has called:
 * `pre` methods are called once per operation, however often its step runs.
 */
import { checkObject, readArguments } from '../../base/arguments.js'
import type { Durability } from '../../wal/log.js'
import type { ReadMode } from '../../store/store-reader.js'
import type { ObserverChain, ObserverMethod, Prepared, ResultKind } from './observer-chain.js'
import { CheckJudgement, nothing, ObservedBatch, RowsJudgement } from './observed-batch.js'
import { Result } from '../../api/result.js'
import { PageResult } from '../reads/page-result.js'
import { type Applied, type TableCore } from '../table-core.js'
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
} from '../../api/index.js'

/** Carries an operation out; called again after it threw `BlockMissing`. */
export type Step<T> = (mode: ReadMode) => T

const aResult: ResultKind<Result> = {
  what: 'a Result',
  is: (value) => value instanceof Result,
}
const aBoolean: ResultKind<boolean> = {
  what: 'true or false',
  is: (value) => typeof value === 'boolean',
}
const allLeftOut = new PageResult({ page: Buffer.alloc(0), cells: [], partial: false }, [], {
  exists: true,
})

/** Carries out the table's own action. */
type Action<O, T> = (operation: O, mode: ReadMode, batch: ObservedBatch) => T

/** Whether an observer has taken the place of an action, and what it gave. */
type Bypassed<T> = Omit<Prepared<object, T>, 'operation'>
/** Asks the observers between the reading of the row and the action. */
type Locked<O, T> = (operation: O, mode: ReadMode) => Bypassed<T>

export class ObservedOperations {
  private readonly core: TableCore
  private readonly chain: ObserverChain

  constructor(core: TableCore, chain: ObserverChain) {
    this.core = core
    this.chain = chain
  }

  get(get: Get): Step<Result> {
    checkObject(get, 'get')
    let prepared: Prepared<Get, Result> | undefined
    return (mode) => {
      prepared ??= this.chain.pre('preGet', get, aResult)
      if (prepared.bypassed) return prepared.result
      const result = this.core.get(prepared.operation, mode)
      return this.chain.post('postGet', [prepared.operation], result, aResult)
    }
  }

  exists(get: Get): Step<boolean> {
    checkObject(get, 'get')
    let prepared: Prepared<Get, boolean> | undefined
    let read: Step<Result> | undefined
    return (mode) => {
      prepared ??= this.chain.pre('preExists', get, aBoolean)
      if (prepared.bypassed) return prepared.result
      read ??= this.get(prepared.operation)
      const found = read(mode)
      const exists = found.exists ?? !found.isEmpty
      return this.chain.post('postExists', [prepared.operation], exists, aBoolean)
    }
  }

  put(put: Put): Step<Applied<void>> {
    return this.mutation<Put, void>(
      put,
      ['prePut', 'postPut'],
      nothing,
      (changed) => [{ put: changed }],
      (changed, mode, intervention) => asApplied(this.core.put(changed, mode, intervention)),
    )
  }

  delete(deletion: Delete): Step<Applied<void>> {
    return this.mutation<Delete, void>(
      deletion,
      ['preDelete', 'postDelete'],
      nothing,
      (changed) => [{ delete: changed }],
      (changed, mode, intervention) => asApplied(this.core.delete(changed, mode, intervention)),
    )
  }

  increment(increment: Increment): Step<Applied<Result>> {
    return this.mutation<Increment, Result>(
      increment,
      ['preIncrement', 'postIncrement'],
      aResult,
      (changed) => [{ increment: changed }],
      (changed, mode, intervention) => this.core.increment(changed, mode, intervention),
      this.afterRowLock('preIncrementAfterRowLock', (changed, mode) =>
        this.core.rehearseIncrement(changed, mode),
      ),
    )
  }

  append(append: Append): Step<Applied<Result>> {
    return this.mutation<Append, Result>(
      append,
      ['preAppend', 'postAppend'],
      aResult,
      (changed) => [{ append: changed }],
      (changed, mode, intervention) => this.core.append(changed, mode, intervention),
      this.afterRowLock('preAppendAfterRowLock', (changed, mode) =>
        this.core.rehearseAppend(changed, mode),
      ),
    )
  }

  mutateRow(mutations: RowMutations): Step<Applied<Result>> {
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
        if (asked === changed) return this.core.mutateRow(changed, mode, batch)
        if (mutations.length === 0) return { value: allLeftOut, durability: 'ASYNC_WAL' }
        return this.core.mutateRow(asked, mode, batch)
      },
    )
  }

  mutateRows(request: MultiRowMutations): Step<Applied<boolean>> {
    const judgement = new RowsJudgement(this.chain, this.core, checkObject(request, 'mutateRows'))
    const { batch } = judgement
    return (mode) => {
      const applied = batch.around(() => this.core.mutateRows(request, mode, judgement))
      if (applied.value) batch.tellMembers()
      return applied
    }
  }

  checkAndMutate(check: Check, action: CheckAction): Step<Applied<CheckAndMutateResult>> {
    const { chain, core } = this
    checkObject(check, 'check')
    checkObject(action, 'the action of a check')
    const judgement = new CheckJudgement(chain, core, check, action)
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
        core.checkAndMutate(check, action, mode, judgement),
      )
      // The hook behind the reading of the row may have taken the action's place.
      if (judgement.result !== undefined) return { value: judgement.result, durability }
      return { value: judgement.finish(value), durability }
    }
  }

  /**
   * Asks the observers when the row is in memory: the action that follows in the same turn finds it
   * there. Undefined if nobody is to be asked.
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
