/**
 * Updates the states of blobs in the batches that write records. A blob becomes used with the first
 * record that refers to it, and dead with the write that removes its last reference. A failed write
 * reserves nothing.
 */
import type { AtomicMutation, Clock, Table } from '../../../api/index.js'
import { concurrentUpdate, invalidRecord } from '../errors.js'
import type { CommitCheck, CommitPart, PartWrites, TableChange } from '../records/writes/commit.js'
import { referenceChanges, type ReferenceChange } from './blob-references.js'
import { parseBlobKey } from './blob-store.js'
import { decodeState, encodeState, stateColumn, type BlobState } from './blob-state.js'

interface Reference extends ReferenceChange {
  readonly changed: TableChange
}

/** The commit part that counts references; `remove` deletes a dead blob: its bytes and its row. */
export function blobLedger(
  table: Table,
  clock: Clock,
  remove: (key: Buffer) => Promise<void>,
): CommitPart {
  const count = async (groups: readonly Reference[][]): Promise<PartWrites> => {
    const gets = groups.map(([{ key }]) => ({ row: key, columns: [stateColumn] }))
    const rows = await table.getList(gets)
    const checks: CommitCheck[] = []
    const mutations: AtomicMutation[] = []
    const dead: Buffer[] = []
    groups.forEach((references, index) => {
      const { key, changed } = references[0]
      const stored = rows[index].value(stateColumn)
      const state = nextState(references, stored, clock.now())
      if (state === undefined) return
      const row = { table, row: key }
      const failure = (): Error => concurrentUpdate(`a blob of ${changed.change.id.text}`)
      checks.push({ check: { ...row, column: stateColumn, equals: stored! }, failure })
      const cells = { [stateColumn]: encodeState(state) }
      mutations.push({ ...row, mutations: [{ put: { cells, timestamp: 1 } }] })
      if (state.kind === 'dead') dead.push(key)
    })
    // The row of a dead blob stays until the blob is removed, so a sweep can repeat the removal.
    const committed = async (): Promise<void> => {
      for (const key of dead) await remove(key)
    }
    return { checks, mutations, committed }
  }
  return (changes) => {
    const byKey = new Map<string, Reference[]>()
    for (const changed of changes) {
      for (const reference of referenceChanges(changed.change, changed.context.schema)) {
        const name = reference.key.toString('latin1')
        byKey.set(name, [...(byKey.get(name) ?? []), { ...reference, changed }])
      }
    }
    return byKey.size === 0 ? undefined : count([...byKey.values()])
  }
}

/** The state after a write; undefined if the blob is gone and the write only drops references. */
function nextState(
  references: readonly Reference[],
  stored: Buffer | undefined,
  time: number,
): BlobState | undefined {
  const before = stored === undefined ? undefined : decodeState(stored, references[0].key)
  let owner = before?.owner
  let count = before?.references ?? 0
  for (const { changed, field, delta, wasThere, key, newSizes } of references) {
    const { context, change } = changed
    const isGone = before === undefined || before.kind === 'open' || before.kind === 'dead'
    // Another writer has taken it out of the record since that was read.
    if (isGone && wasThere && delta > 0) throw concurrentUpdate(`a blob of ${change.id.text}`)
    if (delta > 0) {
      const table = context.key.toString('utf8')
      const isOwn =
        owner?.table === table &&
        owner.record.equals(change.id.bytes) &&
        owner.field === field.ordinal
      if (isGone) {
        const { store } = parseBlobKey(key)
        throw invalidRecord(`${field.name} has a blob that is not in the store ${store}`)
      }
      if (owner !== undefined && !isOwn) {
        throw invalidRecord(`${field.name} has a blob that belongs to another record or field`)
      }
      owner = { table, record: change.id.bytes, field: field.ordinal }
    }
    if ([...newSizes].some((size) => size !== before?.size)) {
      throw invalidRecord(`${field.name} has a blob with another size than its bytes have`)
    }
    count += delta
  }
  if (before === undefined) return undefined
  // Another writer has dropped the same references since the record was read.
  if (count < 0) throw concurrentUpdate(`a blob of ${references[0].changed.change.id.text}`)
  if (count > 0) return { ...before, kind: 'used', time, references: count, owner }
  return { ...before, kind: 'dead', time, references: 0, owner: undefined }
}
