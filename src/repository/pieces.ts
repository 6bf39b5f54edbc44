/** Content that callers hand over in pieces. */
import { checkBytes, readArguments, shown } from '../api/index.js'
import { invalidArgument } from './errors.js'

const kinds = [Symbol.asyncIterator, Symbol.iterator] as const

/**
 * The steps of an iterable of a caller, begun once. `ERR_INVALID_ARGUMENT` for a value without
 * steps; `what` says in the message what is expected. An error of a step stays as it is: a stream
 * that breaks off says why.
 */
export function checkPieces(source: unknown, what: string): AsyncIterable<unknown> {
  return readArguments(() => {
    for (const kind of kinds) {
      const made = stepsOf(source, kind)
      if (made !== undefined) return { [kind]: () => made } as unknown as AsyncIterable<unknown>
    }
    throw invalidArgument(`${what}, got ${shown(source)}`)
  })
}

function stepsOf(source: unknown, kind: (typeof kinds)[number]): object | undefined {
  if (typeof source !== 'object' || source === null) return undefined
  const begin = (source as Record<symbol, unknown>)[kind]
  const steps: unknown = typeof begin === 'function' ? begin.call(source) : undefined
  if (typeof steps !== 'object' || steps === null) return undefined
  return typeof (steps as Iterator<unknown>).next === 'function' ? steps : undefined
}

/** Bytes as a `Buffer` over the same memory. `ERR_INVALID_ARGUMENT`. */
export function checkBuffer(bytes: unknown, what: string): Buffer {
  const { buffer, byteOffset, byteLength } = checkBytes(bytes as Uint8Array, what)
  return Buffer.from(buffer, byteOffset, byteLength)
}
