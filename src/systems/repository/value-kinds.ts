/** Checks of the kind of an object. They run no code of the value, not even of a proxy. */
import { types } from 'node:util'
import { isBytes as isByteArray, isDetached } from '../../api/index.js'

/** Whether a value is a byte array whose memory is not detached. */
export function isBytes(value: unknown): value is Uint8Array {
  return isByteArray(value) && !isDetached(value)
}

/** Whether a value is a `Date` with a valid time. */
export function isTime(value: unknown): value is Date {
  return types.isDate(value) && !Number.isNaN(Date.prototype.getTime.call(value))
}
