/**
 * The state of the manager: running transactions, change sets of finished ones, invalid pointers,
 * and the pointers themselves. Each change happens in one event-loop turn, and returns mutations
 * that store the change. The caller writes them in the same order.
 */
import { assert, type AtomicMutation, type Clock } from '../../../api/index.js'
import { notInProgress } from '../errors.js'
import { ChangeSets, restoreCommits } from './change-sets.js'
import type { ManagerSnapshot, TransactionState } from './manager-calls.js'
import { PointerList, withoutMembers } from './pointer-list.js'
import type { StateRows, StoredState, StoredTransaction } from './state-rows.js'
import { idsPerMillisecond, pointerMax } from '../transaction.js'

export class ManagerState {
  readonly changes = new ChangeSets()
  /** In the order of ids, because ids ascend. */
  readonly running = new Map<bigint, StoredTransaction>()
  /** Ids of transactions whose commit frame is being written: they neither end nor expire. */
  readonly finishing = new Set<bigint>()
  /** Ids and checkpoints of running transactions. */
  inProgress = PointerList.empty
  invalid = PointerList.empty
  readonly #rows: StateRows
  readonly #clock: Clock
  #readPointer = 0n
  #writePointer = 0n
  /** The largest read pointer of a frame that is written or in progress. */
  #readPromised = 0n
  #lastStarted = 0n

  constructor(rows: StateRows, clock: Clock) {
    this.#rows = rows
    this.#clock = clock
  }

  /** The largest pointer that new transactions see. */
  get readPointer(): bigint {
    return this.#readPointer
  }

  /** The largest assigned id or checkpoint. */
  get writePointer(): bigint {
    return this.#writePointer
  }

  /** The first pointer that is not of a LONG transaction, or the largest pointer. */
  get firstShort(): bigint {
    for (const { id, type } of this.running.values()) if (type !== 'LONG') return id
    return pointerMax
  }

  /** Assigns an id: at least the time, and larger than all others. */
  nextId(): bigint {
    const now = BigInt(this.#clock.now()) * idsPerMillisecond
    const next = this.#writePointer + 1n
    this.#writePointer = now > next ? now : next
    return this.#writePointer
  }

  /** The mutation that stores the pointers; the read pointer at least `read`. */
  pointersRow(read = this.#readPointer): AtomicMutation {
    const least = read > this.#readPointer ? read : this.#readPointer
    if (least > this.#readPromised) this.#readPromised = least
    const { writePointer } = this
    return this.#rows.pointers({ readPointer: this.#readPromised, writePointer })
  }

  start(transaction: StoredTransaction): AtomicMutation[] {
    this.#add(transaction)
    return [this.#rows.running(transaction), this.pointersRow()]
  }

  checkpoint(running: StoredTransaction, pointer: bigint): AtomicMutation[] {
    running.checkpoints = [...running.checkpoints, pointer]
    this.inProgress = this.inProgress.with(pointer)
    return [this.#rows.running(running), this.pointersRow()]
  }

  /** Removes a transaction whose writes are visible from now on, or undone. */
  end(running: StoredTransaction): void {
    this.#remove(running)
    this.#raiseReadPointer(running.checkpoints.at(-1) ?? running.id)
  }

  makeInvalid(running: StoredTransaction): AtomicMutation[] {
    this.#remove(running)
    const pointers = [running.id, ...running.checkpoints]
    for (const pointer of pointers) this.invalid = this.invalid.with(pointer)
    if (running.type === 'SHORT') this.#raiseReadPointer(pointers.at(-1)!)
    const stored = pointers.map((pointer) => this.#rows.invalid(pointer))
    return [this.#rows.ended(running.id), ...stored, this.pointersRow()]
  }

  /** A transaction in progress that is in no commit. `ERR_TRANSACTION_NOT_IN_PROGRESS`. */
  find(id: bigint, what: string): StoredTransaction {
    const running = this.running.get(id)
    if (running === undefined || this.finishing.has(id)) throw notInProgress(id, what)
    return running
  }

  stateOf(id: bigint): TransactionState {
    if (this.finishing.has(id)) return 'committing'
    if (this.running.has(id)) return 'running'
    if (this.invalid.has(id)) return 'invalid'
    return id <= this.#writePointer ? 'ended' : 'unknown'
  }

  /** The running transactions whose time is over; none of them is in a commit. */
  expired(): StoredTransaction[] {
    const now = this.#clock.now()
    return [...this.running.values()].filter(({ id, expiration }) => {
      return expiration <= now && !this.finishing.has(id)
    })
  }

  /** Removes pointers from the invalid list; returns the removed ones. */
  truncate(goes: (pointer: bigint) => boolean): readonly bigint[] {
    const before = this.invalid
    this.invalid = withoutMembers(before, goes)
    return this.invalid === before ? [] : [...before].filter(goes)
  }

  /** Removes all transactions; ids still ascend. */
  reset(): void {
    this.running.clear()
    this.inProgress = PointerList.empty
    this.changes.clear()
    this.invalid = PointerList.empty
    this.#readPointer = this.nextId()
  }

  /** Removes change sets that conflict with no running transaction. */
  forgetChanges(): AtomicMutation[] {
    const forgotten = this.changes.discardBelow(this.firstShort)
    return forgotten.map(({ storedPointer, id }) => this.#rows.forgotten(storedPointer, id))
  }

  /** Takes over the stored state. REQUIRES a new object. */
  restore(stored: StoredState): void {
    this.#writePointer = stored.writePointer
    this.#raiseReadPointer(stored.readPointer)
    this.invalid = PointerList.of(stored.invalid)
    for (const transaction of stored.running.values()) this.#add(transaction)
    restoreCommits(stored, this.changes)
  }

  /** The current state, for pruning and inspection. */
  snapshot(): ManagerSnapshot {
    const running = [...this.running.values()]
    const committing = running.flatMap(({ id, committing: changes }) => {
      return changes === undefined ? [] : [[id, changes] as const]
    })
    return {
      time: this.#clock.now(),
      readPointer: this.#readPointer,
      writePointer: this.#writePointer,
      invalid: this.invalid.toArray(),
      inProgress: this.inProgress,
      visibilityUpperBound: running.reduce(
        (least, { visibilityUpperBound: own }) => (own < least ? own : least),
        this.#readPointer,
      ),
      running: running.map(({ committing: _committing, underWay: _underWay, ...shown }) => shown),
      committing: new Map(committing),
      committed: this.changes.byPointer(),
    }
  }

  #add(transaction: StoredTransaction): void {
    assert(transaction.id > this.#lastStarted, 'transactions start in the order of their ids')
    this.#lastStarted = transaction.id
    this.running.set(transaction.id, transaction)
    this.inProgress = this.inProgress.with(transaction.id)
    for (const pointer of transaction.checkpoints) this.inProgress = this.inProgress.with(pointer)
  }

  #remove({ id, checkpoints }: StoredTransaction): void {
    assert(!this.finishing.has(id), 'a transaction does not end during its commit')
    this.running.delete(id)
    this.inProgress = this.inProgress.without(id)
    for (const pointer of checkpoints) this.inProgress = this.inProgress.without(pointer)
  }

  /** Later transactions see every pointer up to this one that is neither running nor invalid. */
  #raiseReadPointer(pointer: bigint): void {
    if (pointer > this.#readPointer) this.#readPointer = pointer
  }
}
