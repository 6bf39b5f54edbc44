/** The running transactions in the order of their ids, and the list of their pointers. */
import { assert } from '../../../api/index.js'
import type { StoredTransaction } from './state-rows.js'
import type { ChangeSet } from './change-sets.js'
import { PointerList } from './pointer-list.js'
import { pointerMax } from '../transaction.js'

/** A running transaction as the manager holds it. */
export interface RunningTransaction extends StoredTransaction {
  checkpoints: readonly bigint[]
  committing: ChangeSet | undefined
  /** The commit frame is being written: the transaction neither ends nor expires. */
  isFinishing: boolean
}

/** See the file header. */
export class RunningSet {
  /** In the order of ids, because ids ascend. */
  readonly #byId = new Map<bigint, RunningTransaction>()
  #pointers = PointerList.empty
  #last = 0n

  get size(): number {
    return this.#byId.size
  }

  /** Ids and checkpoints, ascending. */
  get pointers(): PointerList {
    return this.#pointers
  }

  /** The first pointer that is not of a LONG transaction, or the largest pointer. */
  get firstShort(): bigint {
    for (const { id, type } of this.#byId.values()) if (type !== 'LONG') return id
    return pointerMax
  }

  get(id: bigint): RunningTransaction | undefined {
    return this.#byId.get(id)
  }

  /** REQUIRES an id larger than all earlier ones. */
  add(transaction: RunningTransaction): void {
    assert(transaction.id > this.#last, 'transactions start in the order of their ids')
    this.#last = transaction.id
    this.#byId.set(transaction.id, transaction)
    this.#pointers = this.#pointers.with(transaction.id)
    for (const pointer of transaction.checkpoints) this.#pointers = this.#pointers.with(pointer)
  }

  addCheckpoint(transaction: RunningTransaction, pointer: bigint): void {
    transaction.checkpoints = [...transaction.checkpoints, pointer]
    this.#pointers = this.#pointers.with(pointer)
  }

  remove(transaction: RunningTransaction): void {
    this.#byId.delete(transaction.id)
    this.#pointers = this.#pointers.without(transaction.id)
    for (const pointer of transaction.checkpoints) this.#pointers = this.#pointers.without(pointer)
  }

  clear(): void {
    this.#byId.clear()
    this.#pointers = PointerList.empty
  }

  /** Ids of the transactions whose commit frames are being written. */
  finishing(): bigint[] {
    const ids: bigint[] = []
    for (const { id, isFinishing } of this.#byId.values()) if (isFinishing) ids.push(id)
    return ids
  }

  values(): IterableIterator<RunningTransaction> {
    return this.#byId.values()
  }
}
