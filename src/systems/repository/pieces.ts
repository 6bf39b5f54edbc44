/** Content that callers pass in pieces. */
import { checkBytes, readArguments, shown } from '../../api/index.js'
import { invalidArgument } from './errors.js'

/**
 * The pieces of a caller's iterable, whose iterator is opened once. `read` checks each piece.
 * `ERR_INVALID_ARGUMENT` for a value without pieces; `what` is the expectation in its message.
 * Errors of the iterable pass unchanged, so a broken stream reports its own cause.
 */
export function checkPieces<T>(
  source: unknown,
  what: string,
  read: (piece: unknown) => T,
): AsyncIterable<T> {
  return readArguments(() => {
    const ofLater = stepsOf(source, Symbol.asyncIterator)
    if (ofLater !== undefined) return later(ofLater as AsyncIterator<unknown>, read)
    const ofNow = stepsOf(source, Symbol.iterator)
    if (ofNow !== undefined) return now(ofNow as Iterator<unknown>, read)
    throw invalidArgument(`${what}, got ${shown(source)}`)
  })
}

/** Takes the first piece now: a stream that fails while nobody reads it would end the process. */
function later<T>(
  steps: AsyncIterator<unknown>,
  read: (piece: unknown) => T,
): AsyncGenerator<T, void> {
  const first = (async () => steps.next())()
  first.catch(() => undefined)
  return rest(steps, first, read)
}

async function* rest<T>(
  steps: AsyncIterator<unknown>,
  first: Promise<IteratorResult<unknown>>,
  read: (piece: unknown) => T,
): AsyncGenerator<T, void> {
  const step = await first
  if (step.done === true) return
  let isOpen = true
  try {
    yield read(step.value)
    isOpen = false
  } finally {
    if (isOpen) await steps.return?.()
  }
  for await (const piece of { [Symbol.asyncIterator]: () => steps }) yield read(piece)
}

/** Without an `await` of the pieces, which would run code of those that are not checked yet. */
async function* now<T>(
  steps: Iterator<unknown>,
  read: (piece: unknown) => T,
): AsyncGenerator<T, void> {
  for (const piece of { [Symbol.iterator]: () => steps }) yield read(piece)
}

function stepsOf(source: unknown, kind: symbol): object | undefined {
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
