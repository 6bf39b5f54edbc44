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
import type { StoredCommit, StoredState } from './state-rows.js'

/** A set of keys, each as latin1 text. */
export type ChangeSet = readonly string[]

interface Committed extends StoredCommit {
  /** The pointer in the state table, which may be smaller. */
  readonly storedPointer: bigint
}

/** The key and the client of a conflict. */
export interface Conflict {
  readonly key: string
  readonly client: string | undefined
}

export class ChangeSets {
  /** Newest commit of each key. */
  readonly #newest = new Map<string, Committed>()
  readonly #claims = new Map<string, string | undefined>()
  /** In the order of their commit pointers. */
  readonly #sets = new Set<Committed>()
  #last = 0n

  /** Number of distinct retained commit pointers. */
  get size(): number {
    let size = 0
    let last = 0n
    for (const { pointer } of this.#sets) {
      if (pointer !== last) size++
      last = pointer
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

  release(changes: ChangeSet): void {
    for (const key of changes) this.#claims.delete(key)
  }

  /** Adds a committed set. REQUIRES that no set with a larger pointer was added. */
  add(committed: Committed): void {
    if (committed.changes.length === 0) return
    assert(this.#last <= committed.pointer, 'commit pointers ascend')
    this.#last = committed.pointer
    this.#sets.add(committed)
    for (const key of committed.changes) this.#newest.set(key, committed)
  }

  /** Removes and returns the sets with pointers below `bound`. */
  discardBelow(bound: bigint): Committed[] {
    const discarded: Committed[] = []
    for (const committed of this.#sets) {
      if (committed.pointer >= bound) break
      this.#sets.delete(committed)
      discarded.push(committed)
      for (const key of committed.changes) {
        if (this.#newest.get(key) === committed) this.#newest.delete(key)
      }
    }
    return discarded
  }

  /** Removes everything except claims. */
  clear(): void {
    this.#newest.clear()
    this.#sets.clear()
  }

  /** The keys by commit pointer; transactions that share a pointer are merged. */
  byPointer(): Map<bigint, string[]> {
    const sets = new Map<bigint, string[]>()
    for (const { pointer, changes } of this.#sets) {
      const keys = sets.get(pointer)
      if (keys === undefined) sets.set(pointer, [...changes])
      else for (const change of changes) keys.push(change)
    }
    return sets
  }
}

/** Restores the stored change sets. REQUIRES an empty `changes`. */
export function restoreCommits(stored: StoredState, changes: ChangeSets): void {
  const committed = stored.committed.map((commit) => {
    // A transaction that started during the write of this commit did not see it and must conflict
    // with it, so the commit pointer must be larger than the start.
    let { pointer } = commit
    for (const { id, underWay } of stored.running.values()) {
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
