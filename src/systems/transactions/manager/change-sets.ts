/**
 * The change sets of committed transactions, for the detection of conflicts.
 *
 * A transaction conflicts if a set that was committed behind its start has one of its keys. For
 * each key the newest commit pointer is kept, so a check costs one look-up for each key of the
 * transaction, however many sets there are.
 *
 * Keys are opaque bytes, kept as latin1 text. A *claim* is the set of a commit under way: its frame
 * is not in the log yet, and it must already keep others out.
 */
import { TransactionError, TransactionErrorCode } from '../errors.js'
import type { StoredState } from './state-rows.js'

/** A set of keys, each as latin1 text. */
export type ChangeSet = readonly string[]

interface Committed {
  readonly pointer: bigint
  /** The pointer in the table of state, if the set was there before the open. */
  readonly storedPointer?: bigint
  readonly id: bigint
  readonly changes: ChangeSet
  readonly client: string | undefined
}

/** What a transaction conflicts with. */
export interface Conflict {
  readonly key: string
  readonly client: string | undefined
}

/** All retained change sets; see the file header. */
export class ChangeSets {
  /** Newest commit of each key. */
  readonly #newest = new Map<string, Committed>()
  readonly #claims = new Map<string, string | undefined>()
  /** In the order of their commit pointers. */
  #sets: Committed[] = []
  #first = 0

  /** Number of distinct commit pointers that are retained. */
  get size(): number {
    let size = 0
    let last: bigint | undefined = undefined
    for (let i = this.#first; i < this.#sets.length; i++) {
      if (this.#sets[i].pointer !== last) size++
      last = this.#sets[i].pointer
    }
    return size
  }

  /** Whatever keeps a transaction with these changes from committing; undefined if nothing. */
  conflict(id: bigint, changes: ChangeSet): Conflict | undefined {
    for (const key of changes) {
      const newest = this.#newest.get(key)
      if (newest !== undefined && newest.pointer > id) return { key, client: newest.client }
      if (this.#claims.has(key)) return { key, client: this.#claims.get(key) }
    }
    return undefined
  }

  /** Keeps other transactions from committing these keys until `release`. */
  claim(changes: ChangeSet, client: string | undefined): void {
    for (const key of changes) this.#claims.set(key, client)
  }

  /** Ends a claim. */
  release(changes: ChangeSet): void {
    for (const key of changes) this.#claims.delete(key)
  }

  /** Adds a committed set. REQUIRES that no set with a larger pointer was added. */
  add(committed: Committed): void {
    if (committed.changes.length === 0) return
    this.#sets.push(committed)
    for (const key of committed.changes) this.#newest.set(key, committed)
  }

  /** Forgets sets with pointers below `bound`, and tells each. */
  discardBelow(bound: bigint, forgotten: (pointer: bigint, id: bigint) => void): void {
    while (this.#first < this.#sets.length && this.#sets[this.#first].pointer < bound) {
      const committed = this.#sets[this.#first++]
      for (const key of committed.changes) {
        if (this.#newest.get(key) === committed) this.#newest.delete(key)
      }
      forgotten(committed.storedPointer ?? committed.pointer, committed.id)
    }
    if (this.#first > 1024 && 2 * this.#first > this.#sets.length) {
      this.#sets = this.#sets.slice(this.#first)
      this.#first = 0
    }
  }

  /** Forgets everything but claims. */
  clear(): void {
    this.#newest.clear()
    this.#sets = []
    this.#first = 0
  }

  /** The keys by commit pointer, those of transactions that share one together. */
  byPointer(): Map<bigint, string[]> {
    const sets = new Map<bigint, string[]>()
    for (const { pointer, changes } of this.#sets.slice(this.#first)) {
      const keys = sets.get(pointer)
      if (keys === undefined) sets.set(pointer, [...changes])
      else keys.push(...changes)
    }
    return sets
  }
}

/** Takes the change sets of a state that was read. REQUIRES an empty `changes`. */
export function restoreCommits(
  stored: Pick<StoredState, 'running' | 'committed'>,
  changes: ChangeSets,
): void {
  const committed = stored.committed.map((commit) => {
    // A transaction that started while this commit was written did not see it, and must conflict
    // with it, so the pointer of the commit has to lie behind the start.
    let { pointer } = commit
    for (const { id, underWay } of stored.running) {
      if (id >= pointer && underWay.includes(commit.id)) pointer = id + 1n
    }
    return { ...commit, pointer, storedPointer: commit.pointer }
  })
  committed.sort((a, b) => (a.pointer < b.pointer ? -1 : a.pointer > b.pointer ? 1 : 0))
  for (const commit of committed) changes.add(commit)
}

/** The `ERR_TRANSACTION_CONFLICT` of a transaction. */
export function conflictError(transactionId: bigint, conflict: Conflict): TransactionError {
  const key = readableKey(conflict.key)
  const by = conflict.client === undefined ? '' : ` by '${conflict.client}'`
  const message = `transaction ${transactionId} conflicts: '${key}' was changed meanwhile${by}`
  return new TransactionError(TransactionErrorCode.conflict, message, {
    conflict: { transactionId, key, otherClient: conflict.client },
  })
}

/** A key as text for messages. */
function readableKey(key: string): string {
  const bytes = Buffer.from(key, 'latin1')
  const text = bytes.toString('utf8')
  return Buffer.from(text, 'utf8').equals(bytes) ? text : bytes.toString('hex')
}
