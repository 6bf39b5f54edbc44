/** What kind of object a value is. Nothing of the value runs, also not of a proxy. */
import { types } from 'node:util'
import { isBytes as isByteArray, isDetached } from '../../api/index.js'

/** Whether a value is bytes that still have their memory. */
export function isBytes(value: unknown): value is Uint8Array {
  return isByteArray(value) && !isDetached(value)
}

/** Whether a value is a `Date` that is a time. */
export function isTime(value: unknown): value is Date {
  return types.isDate(value) && !Number.isNaN(Date.prototype.getTime.call(value))
}
