/** The stored form of the records of managers. */
import { shown } from '../../../api/index.js'
import { fromBinary, toBinary } from '../records/binary-form.js'
import type { MessageType } from '../records/message-type.js'
import { toText } from '../records/text-form.js'
import { fromText } from '../records/text-reader.js'
import { unexpectedCondition } from '../errors.js'

/**
 * `text`, the default, is the form of Hedwig's MetaStore managers. `binary`, the form of its
 * ZooKeeper managers, is shorter and faster. All records of one store have the same form. Hubs are
 * always stored as text.
 */
export type RecordForm = 'text' | 'binary'

/** Checks a form. `UNEXPECTED_CONDITION` if there is no such form. */
export function checkForm(form: unknown): asserts form is RecordForm {
  if (form === 'text' || form === 'binary') return
  throw unexpectedCondition(`there is no form ${shown(form)} of records`)
}

/** Checks the number of rows of a read. `UNEXPECTED_CONDITION` unless an integer above 0. */
export function checkPageSize(size: unknown): asserts size is number {
  if (Number.isSafeInteger(size) && (size as number) >= 1) return
  throw unexpectedCondition('metastoreMaxEntriesPerScan is an integer above 0')
}

/** Encodes a record. `UNEXPECTED_CONDITION` if it is not valid. */
export function encodeRecord<T extends object>(
  form: RecordForm,
  type: MessageType<T>,
  record: T,
): string | Buffer {
  try {
    return form === 'text' ? toText(type, record) : toBinary(type, record)
  } catch (error) {
    throw unexpectedCondition(`not a valid ${type.name}`, error)
  }
}

/** Decodes a record. `UNEXPECTED_CONDITION` for damaged bytes. */
export function decodeRecord<T extends object>(
  form: RecordForm,
  type: MessageType<T>,
  bytes: Buffer,
): T {
  try {
    return form === 'text' ? fromText(type, bytes) : fromBinary(type, bytes)
  } catch (error) {
    throw unexpectedCondition(`a stored ${type.name} cannot be read`, error)
  }
}
