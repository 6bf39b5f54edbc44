/** Finds a blob in a field by one index for each enclosing list or path. */
import { shown } from '../../../api/index.js'
import { invalidArgument, RepositoryError, RepositoryErrorCode } from '../errors.js'
import type { StoredRecord } from '../records/record.js'
import type { FieldType } from '../schema/field-type.js'
import { leafOf } from '../schema/rule-checks.js'
import type { Blob } from '../values/blob-value.js'
import { blobNotFound } from './blob-store.js'

/**
 * The blob at the given indexes of a field. `ERR_BLOB` for a field without blobs,
 * `ERR_FIELD_NOT_FOUND` if the record has no value, `ERR_BLOB_NOT_FOUND` for too few, too many or
 * too great indexes.
 */
export function blobAt(record: StoredRecord, field: FieldType, indexes: readonly number[]): Blob {
  if (leafOf(field).base !== 'BLOB') {
    const message = `${field.name} is ${field.valueType}, which holds no blobs`
    throw new RepositoryError(RepositoryErrorCode.blob, message)
  }
  let value = record.fields[field.name]
  if (value === undefined) {
    const message = `the record ${record.id.text} has no ${field.name}`
    throw new RepositoryError(RepositoryErrorCode.fieldNotFound, message)
  }
  let { type } = field
  for (const index of indexes) {
    if (!Number.isSafeInteger(index)) throw invalidArgument(`no index ${shown(index)}`)
    const elements = type.element === undefined ? undefined : (value as readonly unknown[])
    if (elements === undefined || index < 0 || index >= elements.length) {
      throw blobNotFound(`${field.name} has no blob at ${indexes.join()}`)
    }
    value = elements[index]
    type = type.element!
  }
  if (type.element !== undefined) {
    throw blobNotFound(`${field.name} is ${field.valueType}; give an index for each level`)
  }
  return value as Blob
}
