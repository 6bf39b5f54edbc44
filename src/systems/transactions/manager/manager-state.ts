/**
 * The state of the manager: running transactions, change sets of finished ones, invalid pointers,
 * and the pointers themselves. Each change happens in one event-loop turn. The callers write the
 * mutations that store the changes, in the same order.
 */
import { assert, type AtomicMutation } from '../../../api/index.js'
import { ChangeSets, restoreCommits } from './change-sets.js'
import type { ManagerSettings } from '../options.js'
import { PointerList, withoutMembers } from './pointer-list.js'
import { RunningSet, type RunningTransaction } from './running-set.js'
import type { StateLog } from './state-log.js'
import { idsPerMillisecond } from '../transaction.js'

/** See the file header. */
export class ManagerState {
  readonly running = new RunningSet()
  readonly changes = new ChangeSets()
  invalid = PointerList.empty
  readonly #settings: ManagerSettings
  readonly #log: StateLog
  #readPointer = 0n
  #writePointer = 0n

  constructor(settings: ManagerSettings, log: StateLog) {
    this.#settings = settings
    this.#log = log
  }

  /** The largest pointer that new transactions see. */
  get readPointer(): bigint {
    return this.#readPointer
  }

  /** The largest assigned id or checkpoint. */
  get writePointer(): bigint {
    return this.#writePointer
  }

  /** Later transactions see every pointer up to this one that is neither running nor invalid. */
  raiseReadPointer(pointer: bigint): void {
    if (pointer > this.#readPointer) this.#readPointer = pointer
    this.#log.readPointer = this.#readPointer
  }

  /** Assigns an id: at least the time, and larger than all others. */
  nextId(): bigint {
    const now = BigInt(this.#settings.clock.now()) * idsPerMillisecond
    const next = this.#writePointer + 1n
    const id = now > next ? now : next
    assert(id > this.#writePointer, 'ids ascend')
    this.#writePointer = id
    return this.#writePointer
  }

  /** The mutation that stores the pointers. */
  pointersRow(): AtomicMutation {
    return this.#log.rows.pointers(this.#log.readAtLeast(this.#readPointer), this.#writePointer)
  }

  /**
   * Moves a running transaction to the invalid list; returns the mutations that store the change.
   */
  makeInvalid(running: RunningTransaction): AtomicMutation[] {
    const pointers = [running.id, ...running.checkpoints]
    this.running.remove(running)
    for (const pointer of pointers) this.invalid = this.invalid.with(pointer)
    if (running.type === 'SHORT') this.raiseReadPointer(pointers.at(-1)!)
    const { rows } = this.#log
    const stored = pointers.map((pointer) => rows.invalid(pointer))
    return [rows.ended(running.id), ...stored, this.pointersRow()]
  }

  /** Removes pointers from the invalid list, in memory and in the log; returns the removed ones. */
  async truncate(goes: (pointer: bigint) => boolean): Promise<readonly bigint[]> {
    const before = this.invalid
    this.invalid = withoutMembers(before, goes)
    if (this.invalid === before) return []
    const gone = [...before].filter(goes)
    await this.#log.appendMany(gone, (pointer) => this.#log.rows.valid(pointer))
    return gone
  }

  /** Removes all transactions; ids still ascend. */
  async reset(): Promise<void> {
    this.running.clear()
    this.changes.clear()
    this.invalid = PointerList.empty
    this.#readPointer = this.nextId()
    await this.#log.clear(this.pointersRow())
  }

  /** Removes change sets that conflict with no running transaction. */
  forgetChanges(): void {
    this.changes.discardBelow(this.running.firstShort, (pointer, id) => {
      this.#log.later(this.#log.rows.forgotten(pointer, id))
    })
  }

  /** Restores the state from the log. */
  async recover(): Promise<void> {
    const stored = await this.#log.read()
    if (stored.pointers === undefined) {
      this.#readPointer = this.nextId()
      this.#log.readPointer = this.#readPointer
      await this.#log.append([this.pointersRow()])
      return
    }
    this.#writePointer = stored.pointers.lastWrite
    this.raiseReadPointer(stored.pointers.read)
    this.invalid = PointerList.of(stored.invalid)
    for (const each of stored.running) this.running.add({ ...each, isFinishing: false })
    restoreCommits(stored, this.changes)
    this.forgetChanges()
  }
}
