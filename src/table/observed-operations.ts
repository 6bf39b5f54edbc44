/**
 * The operations of a table with its observers around them.
 *
 * Each method makes a step that carries one operation out. A step that misses a block is called
 * again when the block is there (see `TableCore`), so it remembers which observers it has called:
 * `pre` methods are called once per operation, however often its step runs.
 */
import { CellarError, ErrorCode } from '../base/errors.js'
import type { Durability } from '../wal/log.js'
import type { ReadMode } from '../store/store-reader.js'
import { isBlockMissing } from './block-loading.js'
import { checkBytesLike } from '../cell/column-name.js'
import type { ObserverChain, ObserverMethod, Prepared, ResultKind } from './observer-chain.js'
import type { MutationBatch } from './observer.js'
import { Result } from './result.js'
import {
  checkObject,
  type Applied,
  type Intervention,
  type RowAddition,
  type TableCore,
} from './table-core.js'
import type {
  Append,
  Check,
  CheckAction,
  CheckAndMutateResult,
  Delete,
  Get,
  Increment,
  Mutation,
  Put,
  RowMutations,
} from './types.js'

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
const nothing: ResultKind<void> = { what: 'nothing', is: (value) => value === undefined }
const anOutcome: ResultKind<CheckAndMutateResult> = {
  what: 'an object { success, result }',
  is: (value): value is CheckAndMutateResult =>
    typeof value === 'object' &&
    value !== null &&
    typeof (value as CheckAndMutateResult).success === 'boolean',
}

/** Carries out the table's own action. */
type Action<O, T> = (operation: O, mode: ReadMode, intervention: Intervention) => T

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
      (changed) => changed.mutations,
      (changed, mode, intervention) => this.core.mutateRow(changed, mode, intervention),
    )
  }

  checkAndMutate(check: Check, action: CheckAction): Step<Applied<CheckAndMutateResult>> {
    const { chain, core } = this
    checkObject(check, 'check')
    checkObject(action, 'the action of a check')
    const judgement = new Judgement(chain, core, check, action)
    let asked = false
    return (mode) => {
      if (!asked) {
        asked = true
        const before = chain.mayBypass('preCheckAndMutate', [check, action], anOutcome)
        if (before.bypassed) judgement.result = before.result
      }
      if (judgement.result !== undefined) {
        return { value: judgement.result, durability: 'ASYNC_WAL' }
      }
      const { value, durability } = judgement.batch.around(() =>
        core.checkAndMutate(check, action, mode, judgement),
      )
      // The hook behind the reading of the row may have taken the action's place.
      if (judgement.result !== undefined) return { value: judgement.result, durability }
      const outcome: CheckAndMutateResult = value
      return {
        value: chain.post('postCheckAndMutate', [check, action], outcome, anOutcome),
        durability,
      }
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
    mutationsOf: (operation: O) => readonly Mutation[],
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
      batch ??= new ObservedBatch(chain, mutationsOf(current))
      const { value, durability } = batch.around((own) => {
        own.begin()
        return act(current, mode, own)
      })
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

/** The mutations that are applied under one sequence, and those that observers add. */
class ObservedBatch implements MutationBatch, Intervention {
  readonly mutations: readonly Mutation[]
  readonly additions: RowAddition[] = []
  private readonly chain: ObserverChain
  private begun = false
  private open = false

  constructor(chain: ObserverChain, mutations: readonly Mutation[]) {
    this.chain = chain
    this.mutations = mutations
  }

  /** Asks the observers, if that was not done. */
  begin(): void {
    if (this.begun) return
    this.begun = true
    this.open = true
    this.chain.tell('preBatchMutate', [this])
    this.open = false
  }

  /** Runs the table's action and tells the observers what became of it. */
  around<T>(action: (batch: this) => T): T {
    let value: T
    try {
      value = action(this)
    } catch (error) {
      if (!isBlockMissing(error) && this.begun) {
        this.chain.tell('postBatchMutateIndispensably', [this, false])
      }
      throw error
    }
    if (!this.begun) return value
    try {
      this.chain.tell('postBatchMutate', [this])
    } finally {
      this.chain.tell('postBatchMutateIndispensably', [this, true])
    }
    return value
  }

  add(mutation: RowAddition): void {
    if (!this.open) {
      const message = 'mutations can be added to a batch in preBatchMutate only'
      throw new CellarError(ErrorCode.invalidArgument, message)
    }
    checkObject(mutation, 'an added mutation')
    const operation = 'put' in mutation ? mutation.put : mutation.delete
    checkBytesLike(checkObject(operation, 'an added put or delete').row, 'the row of a mutation')
    this.additions.push(mutation)
  }

  judged(): boolean {
    return false
  }
}

/** What observers do between the check of a checkAndMutate and its action. */
class Judgement implements Intervention {
  readonly batch: ObservedBatch
  /** What the operation returns because an observer has taken its place. */
  result: CheckAndMutateResult | undefined = undefined
  private readonly chain: ObserverChain
  private readonly core: TableCore
  private readonly check: Check
  private readonly action: CheckAction
  private toldOf: boolean | undefined = undefined

  constructor(chain: ObserverChain, core: TableCore, check: Check, action: CheckAction) {
    this.chain = chain
    this.core = core
    this.check = check
    this.action = action
    const mutations = 'mutations' in action ? action.mutations : [action]
    this.batch = new ObservedBatch(chain, mutations)
  }

  get additions(): readonly RowAddition[] {
    return this.batch.additions
  }

  judged(matched: boolean): boolean {
    // Repeated for a block: the observers know, unless the row has changed meanwhile.
    if (this.toldOf === matched) return false
    this.toldOf = matched
    const { engine } = this.core
    const sequence = engine.lastSequence
    const answer = this.chain.mayBypass(
      'preCheckAndMutateAfterRowLock',
      [this.check, this.action, matched],
      anOutcome,
    )
    if (answer.bypassed) this.result = answer.result
    else if (matched) this.batch.begin()
    if (engine.lastSequence === sequence) return answer.bypassed
    const message = 'an observer wrote between the check and the mutation of a checkAndMutate'
    throw new CellarError(ErrorCode.coprocessor, message)
  }
}
