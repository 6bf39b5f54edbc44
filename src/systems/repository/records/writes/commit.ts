/**
 * Commits changes of records: rows, events, unique values, index rows and blob states, in one
 * atomic batch. After a crash the whole batch is present, or nothing of it. `CommitGate` waits for
 * the commits that run.
 */
import {
  assert,
  CellarError,
  ErrorCode,
  type AtomicCheck,
  type AtomicMutation,
  type ColumnTarget,
  type PutCell,
} from '../../../../api/index.js'
import { concurrentUpdate, repositoryError } from '../../errors.js'
import { isVersionTag } from '../../qualified-name.js'
import { hasMembers } from '../../stored-cells.js'
import type { RecordChange } from './record-change.js'
import {
  encodeHead,
  encodeVersion,
  eventColumn,
  headColumn,
  versionColumn,
} from '../record-state.js'
import type { TableContext } from '../table-context.js'

/**
 * The commits that run at present. One that began before the declaration of an index does not write
 * rows of that index, so a build must wait for it.
 */
export class CommitGate {
  readonly #running = new Set<Promise<unknown>>()

  async run<T>(running: Promise<T>): Promise<T> {
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  /** Resolves when all commits that run now have ended. */
  async turn(): Promise<void> {
    await Promise.allSettled(this.#running)
  }
}

/** A check, and the error of the write if the check fails. */
export interface CommitCheck {
  readonly check: AtomicCheck
  readonly failure: () => Error
}

/** The checks and mutations that a part of the repository adds to a commit. */
export interface PartWrites {
  readonly checks: readonly CommitCheck[]
  readonly mutations: readonly AtomicMutation[]
  /** Runs after the batch; its failure does not fail the write. */
  readonly committed?: (() => Promise<void>) | undefined
}

/** Changes of records of one table. */
export interface TableChange {
  readonly context: TableContext
  readonly change: RecordChange
}

/**
 * A part of the repository that writes in the batches of records: its writes for some changes, or
 * undefined without a promise if nothing must be read or written. The function only reads.
 */
export type CommitPart = (
  changes: readonly TableChange[],
) => Promise<PartWrites | undefined> | undefined

/** The event of a change, as it is stored and as subscribers receive it. */
export interface StoredEvent {
  /** `record-index`: nothing has changed; subscribers are asked to process the record again. */
  readonly type: 'record-created' | 'record-updated' | 'record-deleted' | 'record-index'
  /** Name of the repository. */
  readonly repository: string
  /** Name of the record table. */
  readonly table: string
  /** Text of the record's id. */
  readonly id: string
  /** The version that the write made; absent if it made none. */
  readonly versionCreated?: number | undefined
  /** The version whose mutable fields the write changed; absent if it changed none. */
  readonly versionUpdated?: number | undefined
  /** The oldest version that is left, if the write pruned versions. */
  readonly oldestVersion?: number | undefined
  /** True if the write changed a type of the record. */
  readonly recordTypeChanged?: boolean | undefined
  /** Ids of the fields that were added, changed or removed. */
  readonly updatedFields: readonly string[]
  /** Names of the version tags among them. */
  readonly versionTags?: readonly string[] | undefined
  /** Texts that the writer gave the event. */
  readonly attributes?: Readonly<Record<string, string>> | undefined
}

/** Whether JSON is an event that a write made. */
export function isStoredEvent(value: unknown): value is StoredEvent {
  const texts = { type: 'string', repository: 'string', table: 'string', id: 'string' }
  return hasMembers(value, { ...texts, updatedFields: 'array' })
}

/** The JSON of a {@link StoredEvent}, concatenated, because every write makes one. */
function eventText({ context, change }: TableChange): string {
  const { kind, versionCreated, versionUpdated, oldestVersion, fields, attributes } = change.event
  const { repository, name: table } = context
  let text = `{"type":"record-${kind}","repository":"${repository}","table":"${table}"`
  text += `,"id":${JSON.stringify(change.id.text)}`
  if (versionCreated !== undefined) text += `,"versionCreated":${versionCreated}`
  if (versionUpdated !== undefined) text += `,"versionUpdated":${versionUpdated}`
  if (oldestVersion !== undefined) text += `,"oldestVersion":${oldestVersion}`
  if (change.event.isTypeChanged === true) text += ',"recordTypeChanged":true'
  text += `,"updatedFields":[${fields.map(({ id }) => `"${id}"`).join()}]`
  const tags = fields.filter(({ name }) => isVersionTag(name))
  if (tags.length > 0) text += `,"versionTags":${JSON.stringify(tags.map(({ name }) => name))}`
  if (attributes !== undefined) text += `,"attributes":${JSON.stringify(attributes)}`
  return `${text}}`
}

function rowOf(changed: TableChange): AtomicMutation {
  const { context, change } = changed
  const { id, before, after, versions } = change
  assert(before === undefined || after.occ > before.occ, 'the revision of a record grows')
  assert(after.first <= after.version && after.version <= after.last, 'versions are in order')
  const cells: PutCell[] = [
    { column: headColumn, value: encodeHead(after) },
    { column: eventColumn, value: eventText(changed) },
  ]
  const removed: ColumnTarget[] = []
  for (const [version, state] of versions) {
    const column = versionColumn(version)
    if (state === undefined) removed.push({ ...column, timestamp: 1 })
    else cells.push({ column, value: encodeVersion(state) })
  }
  const put = { put: { cells, timestamp: 1 } }
  const mutations = removed.length === 0 ? [put] : [{ delete: { columns: removed } }, put]
  return { table: context.table, row: id.bytes, mutations }
}

/** Holds while no other writer has changed the record. */
function unchangedCheck({ context, change }: TableChange): CommitCheck {
  const { id, beforeBytes } = change
  const check: AtomicCheck = {
    table: context.table,
    row: id.bytes,
    column: headColumn,
    equals: beforeBytes ?? null,
  }
  return { check, failure: () => concurrentUpdate(`the record ${id.text}`) }
}

/** Commits changes, all or none. Returns the sequence of the batch in the change feed. */
export function commit(changes: readonly TableChange[]): Promise<number> {
  return changes[0].context.gate.run(commitInside(changes))
}

async function commitInside(changes: readonly TableChange[]): Promise<number> {
  const { context } = changes[0]
  // A drop waits for the commits that have passed this check.
  for (const changed of changes) changed.context.checkOpen()
  const checks = changes.map(unchangedCheck)
  const mutations = changes.map(rowOf)
  const followers: (() => Promise<void>)[] = []
  for (const prepare of context.parts) {
    const preparing = prepare(changes)
    const writes = preparing === undefined ? undefined : await preparing
    if (writes === undefined) continue
    checks.push(...writes.checks)
    mutations.push(...writes.mutations)
    if (writes.committed !== undefined) followers.push(writes.committed)
  }
  const { database, durability } = context
  const batch = { checks: checks.map(({ check }) => check), mutations, durability }
  const result = await database.atomic(batch).catch((error: unknown) => {
    if (!(error instanceof CellarError) || error.code !== ErrorCode.tooLarge) throw error
    const ids = changes.slice(0, 3).map(({ change }) => change.id.text)
    const which = changes.length > ids.length ? `${ids.join(', ')} and others` : ids.join(', ')
    const message = `what is to be written of ${which} is too large: ${error.message}`
    throw repositoryError('recordTooLarge', message, error)
  })
  if (!result.success) throw checks[result.failedCheck ?? 0].failure()
  for (const follow of followers) await follow().catch(() => undefined)
  return result.sequence!
}
