/**
 * The change sets of committed transactions, for conflict detection.
 *
 * A transaction conflicts if a set that was committed after its start has one of its keys. The
 * newest commit pointer of each key is kept. A check therefore costs one lookup for each key of the
 * transaction, for any number of sets.
 *
 * Keys are opaque bytes, kept as latin1 text. A *claim* is the set of a commit in progress: its
 * frame is not in the log yet, but it must already exclude other commits.
 */
import { CellarError, assert } from '../../../api/index.js'
import { TransactionErrorCode, type ConflictDetail } from '../errors.js'
import type { StoredState } from './state-rows.js'

/** A set of keys, each as latin1 text. */
export type ChangeSet = readonly string[]

interface Committed {
  readonly pointer: bigint
  /** The pointer in the state table, if the set was stored before the open. */
  readonly storedPointer?: bigint
  readonly id: bigint
  readonly changes: ChangeSet
  readonly client: string | undefined
}

/** The key and the client of a conflict. */
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

  /** Number of distinct retained commit pointers. */
  get size(): number {
    let size = 0
    let last: bigint | undefined = undefined
    for (let i = this.#first; i < this.#sets.length; i++) {
      if (this.#sets[i].pointer !== last) size++
      last = this.#sets[i].pointer
    }
    return size
  }

  /** The conflict that prevents a commit of these changes; undefined if there is none. */
  conflict(id: bigint, changes: ChangeSet): Conflict | undefined {
    for (const key of changes) {
      const newest = this.#newest.get(key)
      if (newest !== undefined && newest.pointer > id) return { key, client: newest.client }
      if (this.#claims.has(key)) return { key, client: this.#claims.get(key) }
    }
    return undefined
  }

  /** Prevents other transactions from committing these keys until `release`. */
  claim(changes: ChangeSet, client: string | undefined): void {
    for (const key of changes) {
      assert(!this.#claims.has(key), 'a key is claimed by one commit at a time')
      this.#claims.set(key, client)
    }
  }

  /** Ends a claim. */
  release(changes: ChangeSet): void {
    for (const key of changes) this.#claims.delete(key)
  }

  /** Adds a committed set. REQUIRES that no set with a larger pointer was added. */
  add(committed: Committed): void {
    if (committed.changes.length === 0) return
    const last = this.#sets.at(-1)
    assert(last === undefined || last.pointer <= committed.pointer, 'commit pointers ascend')
    this.#sets.push(committed)
    for (const key of committed.changes) this.#newest.set(key, committed)
  }

  /** Removes sets with pointers below `bound`, and calls `forgotten` for each. */
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

  /** Removes everything except claims. */
  clear(): void {
    this.#newest.clear()
    this.#sets = []
    this.#first = 0
  }

  /** The keys by commit pointer; transactions that share a pointer are merged. */
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

/** Restores the stored change sets. REQUIRES an empty `changes`. */
export function restoreCommits(
  stored: Pick<StoredState, 'running' | 'committed'>,
  changes: ChangeSets,
): void {
  const committed = stored.committed.map((commit) => {
    // A transaction that started during the write of this commit did not see it and must conflict
    // with it, so the commit pointer must be larger than the start.
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
export function conflictError(transactionId: bigint, conflict: Conflict): CellarError {
  const key = readableKey(conflict.key)
  const by = conflict.client === undefined ? '' : ` by '${conflict.client}'`
  const message = `transaction ${transactionId} conflicts: '${key}' was changed meanwhile${by}`
  return new CellarError(TransactionErrorCode.conflict, message, {
    details: { transactionId, key, otherClient: conflict.client } satisfies ConflictDetail,
  })
}

/** A key as text for messages. */
function readableKey(key: string): string {
  const bytes = Buffer.from(key, 'latin1')
  const text = bytes.toString('utf8')
  return Buffer.from(text, 'utf8').equals(bytes) ? text : bytes.toString('hex')
}
