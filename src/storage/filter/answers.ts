/** Checks what the hooks of filters return, since users write filters too. */
import { isBytes, isDetached, shown } from '../../base/arguments.js'
import { invalidArgument, type CellarError } from '../../base/errors.js'
import type { CellHint } from './filter.js'

/** The error for a hook that returned something else than `wanted`. */
export function wrongAnswer(hook: string, wanted: string, given: unknown): CellarError {
  return invalidArgument(`${hook} of a filter must return ${wanted}, got ${shown(given)}`)
}

/** The value of `transformCell`, as a Buffer. */
export function checkedValue(given: Uint8Array | undefined): Buffer | undefined {
  if (given === undefined) return undefined
  if (!isBytes(given) || isDetached(given)) {
    throw wrongAnswer('transformCell', 'a Buffer or undefined', given)
  }
  if (Buffer.isBuffer(given)) return given
  return Buffer.from(given.buffer, given.byteOffset, given.byteLength)
}

/** The hint of `nextCellHint`. */
export function checkedHint(given: CellHint | undefined): CellHint | undefined {
  if (given === undefined) return undefined
  if (isHint(given)) return given
  throw wrongAnswer('nextCellHint', 'a hint with a row or undefined', given)
}

function isHint(given: unknown): boolean {
  try {
    const { row, qualifier, timestampHigh, timestampLow } = given as Partial<CellHint>
    if (!isBytes(row) || (qualifier !== undefined && !isBytes(qualifier))) return false
    return isTime(timestampHigh) && isTime(timestampLow)
  } catch {
    return false
  }
}

function isTime(half: number | undefined): boolean {
  return half === undefined || Number.isInteger(half)
}
