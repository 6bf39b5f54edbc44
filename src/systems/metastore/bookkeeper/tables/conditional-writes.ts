/**
 * The writes of one table of the metastore: puts and removes conditional on the version.
 *
 * A write is one `checkAndMutate` on the version column: the condition, the fields and the new
 * version are one atomic, durable mutation. Writes called in one turn are one batch, so a thousand
 * of them share a promise and a sync. If the condition fails, the row is read to determine the
 * error. A guarded write is a separate `mutateRows` with two checks.
 */
import type { BatchOperation, BatchResult } from '../../../../api/index.js'
import { asMetastoreError } from './cellar-errors.js'
import type { ViewedTable } from './cellar-view.js'
import { badVersion, guardFailed, keyExists, noKey } from '../errors.js'
import { rowOfKey } from '../keys.js'
import { Operation, type OperationOrder } from './operation-order.js'
import {
  putMutation,
  removeMutation,
  versionCheck,
  versionColumn,
  versionOf,
  type ConditionalMutation,
} from './row-format.js'
import type { RowGuard } from '../types.js'
import type { FieldChange } from '../value.js'
import { LongVersion, Version } from './version.js'
import type { VersionSource } from './version-source.js'
import type { Watchers } from './watchers.js'

const versionColumns = [versionColumn]

/** One put or remove. */
class Write extends Operation {
  readonly writes: ConditionalWrites
  /** The changes of a put; undefined for a remove. */
  readonly changes: readonly FieldChange[] | undefined
  readonly expected: Version
  readonly guard: RowGuard | undefined
  /** The new version of a put. */
  next = 0n

  constructor(
    writes: ConditionalWrites,
    key: string,
    changes: readonly FieldChange[] | undefined,
    expected: Version,
    guard: RowGuard | undefined,
  ) {
    super(key)
    this.writes = writes
    this.changes = changes
    this.expected = expected
    this.guard = guard
  }

  get row(): string {
    return rowOfKey(this.key!)
  }

  begin(): void {
    this.writes.begin(this)
  }

  settled(error: unknown): void {
    if (error !== undefined) return
    const type = this.changes === undefined ? 'REMOVED' : 'CHANGED'
    this.writes.watchers.notify(this.key!, type)
  }
}

/** The writes of one table; see the file header. */
export class ConditionalWrites {
  readonly watchers: Watchers
  readonly #table: ViewedTable
  readonly #versions: VersionSource
  readonly #order: OperationOrder
  /** The writes called in this turn. */
  #gathered: Write[] = []

  constructor(
    table: ViewedTable,
    versions: VersionSource,
    order: OperationOrder,
    watchers: Watchers,
  ) {
    this.#table = table
    this.#versions = versions
    this.#order = order
    this.watchers = watchers
  }

  /**
   * Puts fields into a row and returns its new version; `NoKey`, `KeyExists`, `BadVersion`,
   * `GuardFailed`.
   */
  put(
    key: string,
    changes: readonly FieldChange[],
    expected: Version,
    guard?: RowGuard,
  ): Promise<Version> {
    return this.#order.submit(new Write(this, key, changes, expected, guard))
  }

  /** Removes a row; `NoKey`, `BadVersion`, `GuardFailed`. */
  remove(key: string, expected: Version, guard?: RowGuard): Promise<void> {
    return this.#order.submit(new Write(this, key, undefined, expected, guard))
  }

  /** Called by a write when it may begin. */
  begin(write: Write): void {
    if (this.#gathered.push(write) === 1) queueMicrotask(this.#runGathered)
  }

  readonly #runGathered = (): void => {
    const gathered = this.#gathered
    this.#gathered = []
    const together: Write[] = []
    const operations: BatchOperation[] = []
    for (const write of gathered) {
      const checkAndMutate = this.#mutationAtOnce(write)
      if (checkAndMutate === undefined) {
        void this.#runAlone(write, false)
      } else {
        together.push(write)
        operations.push({ checkAndMutate })
      }
    }
    if (together.length > 0) void this.#runTogether(together, operations)
  }

  /** The mutation of a write; undefined if the write has to read or wait first. */
  #mutationAtOnce(write: Write): ConditionalMutation | undefined {
    const { expected, changes } = write
    if (write.guard !== undefined) return undefined
    if (changes === undefined) {
      return expected === Version.NEW ? undefined : removeMutation(write.row, expected)
    }
    // A version above those of this process may come from another process, or be invalid.
    if (expected instanceof LongVersion && expected.value >= this.#versions.next) return undefined
    const next = this.#versions.take()
    if (next === undefined) return undefined
    write.next = next
    return putMutation(write.row, expected, changes, next)
  }

  async #runTogether(
    writes: readonly Write[],
    operations: readonly BatchOperation[],
  ): Promise<void> {
    let results: readonly BatchResult[]
    try {
      results = await this.#table.batch(operations)
    } catch (error) {
      for (const write of writes) this.#order.ended(write, 'failed', asMetastoreError(error))
      return
    }
    for (let i = 0; i < writes.length; i++) {
      const write = writes[i]
      const result = results[i]
      if (!result.ok) this.#order.ended(write, 'failed', asMetastoreError(result.error))
      else if (result.success === true) this.#succeeded(write)
      else void this.#runAlone(write, true)
    }
  }

  /** Runs a write outside of a batch. Never rejects. */
  async #runAlone(write: Write, conditionFailed: boolean): Promise<void> {
    try {
      if (write.changes === undefined) await this.#removeAlone(write, conditionFailed)
      else await this.#putAlone(write, write.changes, conditionFailed)
    } catch (error) {
      this.#order.ended(write, 'failed', asMetastoreError(error))
      return
    }
    this.#succeeded(write)
  }

  async #putAlone(
    write: Write,
    changes: readonly FieldChange[],
    conditionFailed: boolean,
  ): Promise<void> {
    const { row, expected } = write
    const versions = this.#versions
    const isUnknown = expected instanceof LongVersion && expected.value >= versions.next
    let mustLook = conditionFailed || isUnknown
    for (;;) {
      if (mustLook) {
        const stored = await this.#checkStored(write)
        if (stored !== undefined) await versions.leave(stored)
      }
      write.next = versions.take() ?? (await versions.takeReserved())
      if (await this.#apply(write, putMutation(row, expected, changes, write.next))) return
      mustLook = true
    }
  }

  async #removeAlone(write: Write, conditionFailed: boolean): Promise<void> {
    const { row, expected } = write
    let mustLook = conditionFailed || expected === Version.NEW
    for (;;) {
      if (mustLook) await this.#checkStored(write)
      if (await this.#apply(write, removeMutation(row, expected))) return
      mustLook = true
    }
  }

  /** Returns whether all conditions held and the mutation was applied. */
  async #apply(write: Write, { check, action }: ConditionalMutation): Promise<boolean> {
    const { row, guard } = write
    if (guard === undefined) return (await this.#table.checkAndMutate(check, action)).success
    const mutations = 'mutations' in action ? action.mutations : [action]
    const guardCheck = versionCheck(rowOfKey(guard.key), guard.version as LongVersion)
    return this.#table.mutateRows({ rows: [{ row, mutations }], checks: [check, guardCheck] })
  }

  #succeeded(write: Write): void {
    const version = write.changes === undefined ? undefined : new LongVersion(write.next)
    this.#order.ended(write, 'succeeded', version)
  }

  /**
   * The stored version of the row; undefined if the row is absent as required. Throws the error of
   * the guard or of the version if either does not match.
   */
  async #checkStored({ row, expected, guard, changes }: Write): Promise<bigint | undefined> {
    if (guard !== undefined) await this.#checkGuard(guard)
    const stored = await this.#storedVersion(row)
    if (expected === Version.NEW && changes !== undefined) {
      if (stored === undefined) return undefined
      throw keyExists()
    }
    if (stored === undefined) throw noKey()
    const version = new LongVersion(stored)
    if (version.compare(expected) !== 'CONCURRENTLY') throw badVersion(version, expected)
    return stored
  }

  async #checkGuard({ key, version }: RowGuard): Promise<void> {
    const stored = await this.#storedVersion(rowOfKey(key))
    const found = stored === undefined ? undefined : new LongVersion(stored)
    if (found?.compare(version) !== 'CONCURRENTLY') throw guardFailed(found, version)
  }

  async #storedVersion(row: string): Promise<bigint | undefined> {
    return versionOf(await this.#table.get({ row, columns: versionColumns }))
  }
}
