/** In which form managers store their records. */
import { fromBinary, toBinary } from '../records/binary-form.js'
import type { MessageType } from '../records/message-type.js'
import { toText } from '../records/text-form.js'
import { fromText } from '../records/text-reader.js'
import { unexpectedCondition } from './errors.js'

/**
 * `text`, the default, is what Hedwig's MetaStore managers store; `binary`, what its ZooKeeper
 * managers do, is shorter and faster. All records of one store have the same form. Hubs are always
 * stored as text.
 */
export type RecordForm = 'text' | 'binary'

/** Writes a record. `UNEXPECTED_CONDITION` if it is not valid. */
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

/** Reads a record. `UNEXPECTED_CONDITION` if the bytes are none. */
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
