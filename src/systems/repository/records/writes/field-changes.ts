/** Applies input to the fields of one scope. */
import type { FieldType, Scope } from '../../schema/field-type.js'
import { mergeMetadata } from '../metadata.js'
import type { PreparedInput } from './record-input.js'
import type { FieldCells } from '../record-state.js'

function sameBytes(a: Buffer | undefined, b: Buffer | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.equals(b))
}

/**
 * The fields after the changes of some scopes; undefined if nothing changes. Changed field types
 * are added to `changed`.
 */
export function changeFields(
  before: FieldCells,
  input: PreparedInput,
  inScope: (scope: Scope) => boolean,
  changed: FieldType[],
): FieldCells | undefined {
  let after: FieldCells | undefined
  for (const { field, bytes } of input.sets.values()) {
    if (!inScope(field.scope)) continue
    const { ordinal } = field
    const old = before.get(ordinal)
    const asked = input.metadata.get(ordinal)
    const metadata =
      asked === undefined
        ? old?.metadata
        : mergeMetadata(old?.metadata, asked.changes, asked.deletes)
    if (sameBytes(old?.value, bytes) && sameBytes(old?.metadata, metadata)) continue
    after ??= new Map(before)
    after.set(ordinal, { value: bytes, metadata })
    changed.push(field)
  }
  for (const [ordinal, field] of input.deletes) {
    if (!inScope(field.scope) || !(after ?? before).has(ordinal)) continue
    after ??= new Map(before)
    after.delete(ordinal)
    changed.push(field)
  }
  return after
}

/** The marks of removed fields after a change; `fields` are the fields after it. */
export function changeRemoved(
  before: ReadonlySet<number>,
  changed: readonly FieldType[],
  fields: FieldCells,
): ReadonlySet<number> {
  let after: Set<number> | undefined
  for (const { scope, ordinal } of changed) {
    if (!isMutable(scope) || fields.has(ordinal) !== before.has(ordinal)) continue
    after ??= new Set(before)
    if (fields.has(ordinal)) after.delete(ordinal)
    else after.add(ordinal)
  }
  return after ?? before
}

/** No fields. */
export const noCells: FieldCells = new Map()
/** No numbers of fields. */
export const noNumbers: ReadonlySet<number> = new Set()

/** Whether fields of a scope have one value for the whole record. */
export const isNonVersioned = (scope: Scope): boolean => scope === 'NON_VERSIONED'
/** Whether a change of such a field always makes a version. */
export const isVersioned = (scope: Scope): boolean => scope === 'VERSIONED'
/** Whether such a field may be changed in an old version. */
export const isMutable = (scope: Scope): boolean => scope === 'VERSIONED_MUTABLE'
