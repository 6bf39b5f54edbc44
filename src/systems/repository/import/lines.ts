/** Splits a text in pieces into lines. */
import { invalidArgument } from '../errors.js'

const lineBytesMax = 64 << 20

/**
 * The lines, without their ends. `ERR_INVALID_ARGUMENT` for a line that is too long or not UTF-8.
 */
export async function* splitLines(pieces: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
  let parts: Buffer[] = []
  let bytes = 0
  const take = (): string => {
    const line = Buffer.concat(parts)
    parts = []
    bytes = 0
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(line)
    } catch {
      throw invalidArgument('a line is no UTF-8')
    }
  }
  for await (const buffer of pieces) {
    let start = 0
    for (let end = buffer.indexOf(10); end >= 0; end = buffer.indexOf(10, start)) {
      parts.push(buffer.subarray(start, end))
      yield take()
      start = end + 1
    }
    parts.push(buffer.subarray(start))
    bytes += buffer.length - start
    if (bytes > lineBytesMax) throw invalidArgument(`a line has at most ${lineBytesMax} bytes`)
  }
  if (bytes > 0) yield take()
}
