/** Applies a mutable update to a version and the versions after that one. */
import type { FieldType } from '../../schema/field-type.js'
import { changeFields, changeRemoved, isMutable } from './field-changes.js'
import type { PreparedInput } from './prepared-input.js'
import { endAutosave, referenceOf, type StateChange, type UpdateSettings } from './record-change.js'
import type { RecordState, VersionState } from '../record-state.js'

/** Whether a version has a mutable field, or the field was removed in it. */
export function hasSeen({ fields, removed }: VersionState, ordinal: number): boolean {
  return fields.has(ordinal) || removed.has(ordinal)
}

/**
 * Changes the mutable fields of one version; undefined if nothing changes. `stored` are the
 * versions from this one on that the change may reach. A field that the version never had is also
 * set in later versions, up to the first one that has the field or removed it.
 */
export function mutateVersion(
  before: RecordState,
  version: number,
  stored: ReadonlyMap<number, VersionState>,
  input: PreparedInput,
  { type, time }: Pick<UpdateSettings, 'type' | 'time'>,
): StateChange | undefined {
  const changed: FieldType[] = []
  const old = stored.get(version)!
  const fields = changeFields(old.fields, input, isMutable, changed)
  if (fields === undefined) {
    return version === before.autosave ? endAutosave(before, time) : undefined
  }
  const states = new Map<number, VersionState>()
  const modified = Math.max(time, old.modified)
  const removed = changeRemoved(old.removed, changed, fields)
  states.set(version, { ...old, modified, mutableType: referenceOf(type), removed, fields })
  for (const { ordinal } of changed) {
    if (hasSeen(old, ordinal)) continue
    const cell = fields.get(ordinal)!
    for (let next = version + 1; next <= before.version; next++) {
      const state = states.get(next) ?? stored.get(next)
      if (state === undefined || hasSeen(state, ordinal)) break
      states.set(next, { ...state, fields: new Map(state.fields).set(ordinal, cell) })
    }
  }
  const latest = states.get(before.version) ?? before.latest
  states.delete(before.version)
  const after: RecordState = {
    ...before,
    occ: before.occ + 1,
    autosave: version === before.autosave ? 0 : before.autosave,
    modified: Math.max(time, before.modified),
    latest,
  }
  const event = {
    kind: 'updated',
    fields: changed,
    versionUpdated: version,
    attributes: input.attributes,
  } as const
  return { after, versions: states, event }
}
