/**
 * The observers' part in mutations: the batch with one sequence, its puts and deletes one by one,
 * and the step between a check and its mutation.
 */
import { checkArray, checkBytesLike, checkObject, readArguments } from '../../base/arguments.js'
import { CellarError, ErrorCode } from '../../base/errors.js'
import type { Timestamp } from '../../storage/cell/timestamp.js'
import { readRowOfMutateRows, type RowList } from '../../checks/operations.js'
import { isBlockMissing } from '../reads/block-loading.js'
import type { ChooseVersion } from '../operations/deletes.js'
import { resultKinds, type ObserverChain } from './observer-chain.js'
import type { MutationBatch } from '../../api/observer.js'
import type { Intervention, RowAddition } from '../operations/intervention.js'
import type { ReadPoints } from '../../storage/engine/catalog/read-points.js'
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
import { checkForm } from '../../checks/forms.js'

const { nothing, outcome: anOutcome, timestamp: aTimestamp } = resultKinds

/** The mutations that are applied under one sequence, and those that observers add. */
export class ObservedBatch implements MutationBatch, Intervention {
  mutations: readonly Mutation[] = []
  readonly additions: RowAddition[] = []
  private readonly chain: ObserverChain
  private asked = false
  private begun = false
  private open = false
  /** Puts and deletes inside other operations about which observers were asked one by one. */
  private readonly members: Mutation[] = []
  /**
   * Timestamps that observers chose, by delete and index; kept because a step may be repeated for a
   * block.
   */
  private readonly chosen = new Map<RowOperation<Delete>, (Timestamp | undefined)[]>()

  constructor(chain: ObserverChain) {
    this.chain = chain
  }

  /** Asks the observers once. They are not asked about a batch without mutations. */
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
   * Asks about the puts and deletes among the mutations of a row, one by one. Returns the mutations
   * to apply; the same list if no observer has to be asked.
   */
  askMembers(row: BytesLike, mutations: readonly Mutation[]): readonly Mutation[] {
    checkArray(mutations, 'mutations')
    const { chain } = this
    const has = (['prePut', 'postPut', 'preDelete', 'postDelete'] as const).some((method) => {
      return chain.has(method)
    })
    if (!has || mutations.length === 0) return mutations
    return mutations.flatMap((mutation) => {
      const member = this.askMember(row, checkForm(mutation, 'mutation'))
      return member === undefined ? [] : [member]
    })
  }

  private askMember(row: BytesLike, mutation: Mutation): Mutation | undefined {
    // The table refuses a malformed mutation.
    if (Object.keys(mutation).length !== 1) return mutation
    let member: Mutation
    if (mutation.put !== undefined) {
      const put: Put = { row, ...checkForm(mutation.put, 'put') }
      const { operation, bypassed } = this.chain.pre('prePut', put, nothing)
      if (bypassed) return undefined
      member = { put: operation }
    } else if (mutation.delete !== undefined) {
      const deletion: Delete = { row, ...checkForm(mutation.delete, 'delete') }
      const { operation, bypassed } = this.chain.pre('preDelete', deletion, nothing)
      if (bypassed) return undefined
      member = { delete: operation }
    } else {
      return mutation
    }
    this.members.push(member)
    return member
  }

  /** Notifies observers that the mutations of {@link askMembers} are visible. */
  tellMembers(): void {
    for (const member of this.members) {
      if (member.put !== undefined) this.chain.tell('postPut', [member.put])
      else if (member.delete !== undefined) this.chain.tell('postDelete', [member.delete])
    }
  }

  /** Runs the table's action and notifies the observers of its end. */
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
    checkForm(mutation, 'an added mutation')
    const operation = 'put' in mutation ? mutation.put : mutation.delete
    checkBytesLike(checkObject(operation, 'an added put or delete').row, 'the row of a mutation')
    this.additions.push(mutation)
  }

  endsAfterCheck(): boolean {
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

/** The observers' part between a check and the mutation that depends on it. */
abstract class Decision implements Intervention {
  readonly batch: ObservedBatch
  protected readonly chain: ObserverChain
  private readonly readPoints: ReadPoints

  constructor(chain: ObserverChain, readPoints: ReadPoints) {
    this.chain = chain
    this.readPoints = readPoints
    this.batch = new ObservedBatch(chain)
  }

  get additions(): readonly RowAddition[] {
    return this.batch.additions
  }

  chooserOf(deletion: RowOperation<Delete>): ChooseVersion | undefined {
    return this.batch.chooserOf(deletion)
  }

  abstract endsAfterCheck(matched: boolean): boolean

  /**
   * Asks observers. Throws if an observer has written, because the result of the check may be
   * outdated.
   */
  protected ask(questions: () => boolean): boolean {
    const { readPoints } = this
    const sequence = readPoints.lastSequence
    const answer = questions()
    if (readPoints.lastSequence === sequence) return answer
    const message = 'an observer wrote between the check and the mutation that depends on it'
    throw new CellarError(ErrorCode.coprocessor, message)
  }
}

/** The observers' part between the check of a checkAndMutate and its action. */
export class CheckDecision extends Decision {
  action: CheckAction | undefined = undefined
  /** The result of the operation if an observer has replaced it. */
  result: CheckAndMutateResult | undefined = undefined
  private readonly check: Check
  private readonly given: CheckAction
  private askedAbout: boolean | undefined = undefined

  constructor(chain: ObserverChain, readPoints: ReadPoints, check: Check, action: CheckAction) {
    super(chain, readPoints)
    this.check = check
    this.given = action
  }

  /** Asks whether an observer replaces the whole operation. */
  bypassed(): boolean {
    const before = this.chain.mayBypass('preCheckAndMutate', [this.check, this.given], anOutcome)
    if (before.bypassed) this.result = before.result
    return before.bypassed
  }

  /** Notifies the observers of the operation, which may change its outcome. */
  finish(outcome: CheckAndMutateResult): CheckAndMutateResult {
    // A check that was repeated for a block may fail after an earlier attempt asked about its
    // action.
    if (outcome.success) this.batch.tellMembers()
    return this.chain.post('postCheckAndMutate', [this.check, this.given], outcome, anOutcome)
  }

  endsAfterCheck(matched: boolean): boolean {
    // After a repetition for a block the observers know the outcome, unless the row has changed.
    if (this.askedAbout === matched) return false
    this.askedAbout = matched
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

/** The observers' part between the checks of a mutateRows and its mutations. */
export class RowsDecision extends Decision {
  rows: readonly RowList[] | undefined = undefined
  private readonly request: MultiRowMutations

  constructor(chain: ObserverChain, readPoints: ReadPoints, request: MultiRowMutations) {
    super(chain, readPoints)
    this.request = request
  }

  endsAfterCheck(): boolean {
    if (this.rows !== undefined) return false
    const ask = (): boolean => {
      this.batch.begin(() => this.askRows())
      return this.rows?.length === 0
    }
    const { checks } = readArguments(() => ({ checks: this.request.checks }))
    return checks === undefined ? ask() : this.ask(ask)
  }

  private askRows(): readonly Mutation[] {
    const rows: RowList[] = []
    for (const each of this.request.rows) {
      const { row, mutations } = readRowOfMutateRows(each)
      const asked = this.batch.askMembers(row, mutations)
      // A list that an observer has emptied is left out. One that was empty before is an error.
      if (asked === mutations || asked.length > 0) rows.push({ row, mutations: asked })
    }
    this.rows = rows
    return rows.flatMap(({ row, mutations }) => {
      return mutations.map((mutation) => withRow(row, mutation))
    })
  }
}

/** Adds the row to a mutation, because observers of several rows need it. */
function withRow(row: BytesLike, mutation: Mutation): Mutation {
  const [only, ...more] = Object.entries(checkForm(mutation, 'mutation')) as [string, object][]
  if (only === undefined || more.length > 0) return mutation
  const [kind, operation] = only
  return { [kind]: { row, ...operation } } as unknown as Mutation
}
