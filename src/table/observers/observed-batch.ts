/**
 * What observers see and do inside of mutations: the batch that shares one sequence, the puts and
 * deletes in it one by one, and the moment between a check and its mutation.
 */
import { checkArray, checkBytesLike, checkObject, readArguments } from '../../base/arguments.js'
import { CellarError, ErrorCode } from '../../base/errors.js'
import type { Timestamp } from '../../cell/timestamp.js'
import { rowNames } from '../../api/checks/operations.js'
import { isBlockMissing } from '../reads/block-loading.js'
import type { ChooseVersion } from '../operations/deletes.js'
import type { ObserverChain, ResultKind } from './observer-chain.js'
import type { MutationBatch } from '../../api/observer.js'
import type { Intervention, RowAddition } from '../operations/intervention.js'
import type { Engine } from '../../engine/engine.js'
import type {
  BytesLike,
  Check,
  CheckAction,
  CheckAndMutateResult,
  Delete,
  MultiRowMutations,
  Mutation,
  Put,
  RowOperation,
} from '../../api/index.js'

/** Nothing may be given to `bypass`. */
export const nothing: ResultKind<void> = { what: 'nothing', is: (value) => value === undefined }

const anOutcome: ResultKind<CheckAndMutateResult> = {
  what: 'an object { success, result }',
  is: (value): value is CheckAndMutateResult =>
    typeof value === 'object' &&
    value !== null &&
    typeof (value as CheckAndMutateResult).success === 'boolean',
}

const aTimestamp: ResultKind<Timestamp> = {
  what: 'a timestamp',
  is: (value): value is Timestamp => typeof value === 'number' || typeof value === 'bigint',
}

/** The mutations that are applied under one sequence, and those that observers add. */
export class ObservedBatch implements MutationBatch, Intervention {
  mutations: readonly Mutation[] = []
  readonly additions: RowAddition[] = []
  private readonly chain: ObserverChain
  private asked = false
  private begun = false
  private open = false
  /** Puts and deletes of other operations about which observers were asked one by one. */
  private readonly members: Mutation[] = []
  /** What observers chose, by delete and place; a step may be repeated for a block. */
  private readonly chosen = new Map<RowOperation<Delete>, (Timestamp | undefined)[]>()

  constructor(chain: ObserverChain) {
    this.chain = chain
  }

  /** Asks the observers, if that was not done. A batch without mutations is none to them. */
  begin(mutationsOf: () => readonly Mutation[]): void {
    if (this.asked) return
    this.asked = true
    this.mutations = readArguments(mutationsOf)
    if (this.mutations.length === 0) return
    this.begun = true
    this.open = true
    this.chain.tell('preBatchMutate', [this])
    this.open = false
  }

  /**
   * Asks about the puts and deletes among the mutations of a row, one by one. Returns those that
   * are to be applied: the same list if nobody is to be asked.
   */
  askMembers(row: BytesLike, mutations: readonly Mutation[]): readonly Mutation[] {
    checkArray(mutations, 'mutations')
    const { chain } = this
    const has = (['prePut', 'postPut', 'preDelete', 'postDelete'] as const).some((method) => {
      return chain.has(method)
    })
    if (!has || mutations.length === 0) return mutations
    return mutations.flatMap((mutation) => {
      const member = this.askMember(row, checkObject(mutation, 'mutation'))
      return member === undefined ? [] : [member]
    })
  }

  private askMember(row: BytesLike, mutation: Mutation): Mutation | undefined {
    // What is no mutation is refused by the table.
    if (Object.keys(mutation).length !== 1) return mutation
    let member: Mutation
    if (mutation.put !== undefined) {
      const put: Put = { row, ...checkObject(mutation.put, 'put') }
      const { operation, bypassed } = this.chain.pre('prePut', put, nothing)
      if (bypassed) return undefined
      member = { put: operation }
    } else if (mutation.delete !== undefined) {
      const deletion: Delete = { row, ...checkObject(mutation.delete, 'delete') }
      const { operation, bypassed } = this.chain.pre('preDelete', deletion, nothing)
      if (bypassed) return undefined
      member = { delete: operation }
    } else {
      return mutation
    }
    this.members.push(member)
    return member
  }

  /** The mutation is visible: tells it of those that {@link askMembers} asked about. */
  tellMembers(): void {
    for (const member of this.members) {
      if (member.put !== undefined) this.chain.tell('postPut', [member.put])
      else if (member.delete !== undefined) this.chain.tell('postDelete', [member.delete])
    }
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

  endsBehindCheck(): boolean {
    return false
  }

  chooserOf(deletion: RowOperation<Delete>): ChooseVersion | undefined {
    const { chain } = this
    const method = 'prePrepareTimeStampForDeleteVersion'
    if (!chain.has(method)) return undefined
    const known = this.chosen.get(deletion) ?? []
    this.chosen.set(deletion, known)
    return (place, column) => {
      if (place in known) return known[place]
      const answer = chain.mayBypass(method, [deletion, column], aTimestamp)
      return (known[place] = answer.bypassed ? answer.result : undefined)
    }
  }
}

/** What observers do between a check and the mutation that depends on it. */
abstract class Judgement implements Intervention {
  readonly batch: ObservedBatch
  protected readonly chain: ObserverChain
  private readonly engine: Engine

  constructor(chain: ObserverChain, engine: Engine) {
    this.chain = chain
    this.engine = engine
    this.batch = new ObservedBatch(chain)
  }

  get additions(): readonly RowAddition[] {
    return this.batch.additions
  }

  chooserOf(deletion: RowOperation<Delete>): ChooseVersion | undefined {
    return this.batch.chooserOf(deletion)
  }

  abstract endsBehindCheck(matched: boolean): boolean

  /** Asks observers; what a check has found must still be true behind them. */
  protected ask(questions: () => boolean): boolean {
    const { engine } = this
    const sequence = engine.lastSequence
    const answer = questions()
    if (engine.lastSequence === sequence) return answer
    const message = 'an observer wrote between the check and the mutation that depends on it'
    throw new CellarError(ErrorCode.coprocessor, message)
  }
}

/** Between the check of a checkAndMutate and its action. */
export class CheckJudgement extends Judgement {
  action: CheckAction | undefined = undefined
  /** What the operation returns because an observer has taken its place. */
  result: CheckAndMutateResult | undefined = undefined
  private readonly check: Check
  private readonly given: CheckAction
  private toldOf: boolean | undefined = undefined

  constructor(chain: ObserverChain, engine: Engine, check: Check, action: CheckAction) {
    super(chain, engine)
    this.check = check
    this.given = action
  }

  /** Whether an observer takes the place of the whole operation. */
  bypassed(): boolean {
    const before = this.chain.mayBypass('preCheckAndMutate', [this.check, this.given], anOutcome)
    if (before.bypassed) this.result = before.result
    return before.bypassed
  }

  /** What the observers behind the operation make of its outcome. */
  finish(outcome: CheckAndMutateResult): CheckAndMutateResult {
    // A check that was repeated for a block may have failed behind one that asked about its action.
    if (outcome.success) this.batch.tellMembers()
    return this.chain.post('postCheckAndMutate', [this.check, this.given], outcome, anOutcome)
  }

  endsBehindCheck(matched: boolean): boolean {
    // Repeated for a block: the observers know, unless the row has changed meanwhile.
    if (this.toldOf === matched) return false
    this.toldOf = matched
    return this.ask(() => {
      const method = 'preCheckAndMutateAfterRowLock'
      const answer = this.chain.mayBypass(method, [this.check, this.given, matched], anOutcome)
      if (answer.bypassed) this.result = answer.result
      else if (matched) this.batch.begin(() => this.askAction())
      return this.result !== undefined
    })
  }

  private askAction(): readonly Mutation[] {
    const { given } = this
    const mutations = 'mutations' in given ? given.mutations : [given]
    const asked = this.batch.askMembers(this.check.row, mutations)
    if (asked === mutations) return mutations
    if (asked.length === 0) this.result = { success: true, result: undefined }
    else this.action = 'mutations' in given ? { ...given, mutations: asked } : asked[0]
    return asked
  }
}

/** Between the checks of a mutateRows and its mutations. */
export class RowsJudgement extends Judgement {
  rows: MultiRowMutations['rows'] | undefined = undefined
  private readonly request: MultiRowMutations

  constructor(chain: ObserverChain, engine: Engine, request: MultiRowMutations) {
    super(chain, engine)
    this.request = request
  }

  endsBehindCheck(): boolean {
    if (this.rows !== undefined) return false
    const ask = (): boolean => {
      this.batch.begin(() => this.askRows())
      return this.rows?.length === 0
    }
    const { checks } = readArguments(() => ({ checks: this.request.checks }))
    return checks === undefined ? ask() : this.ask(ask)
  }

  private askRows(): readonly Mutation[] {
    const rows: MultiRowMutations['rows'][number][] = []
    for (const each of this.request.rows) {
      const { row, mutations } = rowNames.check(each)
      const asked = this.batch.askMembers(row, mutations)
      // What an observer has emptied is left out; what was empty before is a mistake.
      if (asked === mutations || asked.length > 0) rows.push({ row, mutations: asked })
    }
    this.rows = rows
    return rows.flatMap(({ row, mutations }) => {
      return mutations.map((mutation) => withRow(row, mutation))
    })
  }
}

/** Observers of several rows want to know of which row a mutation is. */
function withRow(row: BytesLike, mutation: Mutation): Mutation {
  const [only, ...more] = Object.entries(checkObject(mutation, 'mutation')) as [string, object][]
  if (only === undefined || more.length > 0) return mutation
  const [kind, operation] = only
  return { [kind]: { row, ...operation } } as unknown as Mutation
}
