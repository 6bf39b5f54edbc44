/** Version tags: non-versioned `LONG` fields whose values are versions of the record. */
import { isVersionTag, lastTag } from '../qualified-name.js'
import type { FieldType } from '../schema/field-type.js'
import type { SchemaCache } from '../schema/schema-cache.js'
import { decodeField } from './writes/prepared-input.js'
import type { FieldCells } from './record-state.js'

/** Whether the values of a field point to versions; stored values of the tag `last` are ignored. */
export function isTagField({ name, scope, valueType }: FieldType): boolean {
  return isVersionTag(name) && name !== lastTag && scope === 'NON_VERSIONED' && valueType === 'LONG'
}

/** The versions that the version tags among the fields point to. */
export function taggedVersions(fields: FieldCells, schema: SchemaCache): ReadonlySet<number> {
  const versions = new Set<number>()
  for (const [ordinal, { value }] of fields) {
    const field = schema.fieldAt(ordinal)
    if (field === undefined || !isTagField(field)) continue
    versions.add(Number(decodeField(field, value, schema)))
  }
  return versions
}
