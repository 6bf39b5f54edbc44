/**
 * Small files of two lines: a JSON object, and the XXH64 (seed 0) of that line as 16 hexadecimal
 * digits. They are written as a whole, so one that does not verify is damaged, never half-written.
 */
import { InvariantError } from '../../base/assert.js'
import { corruption } from '../../base/errors.js'
import { xxh64 } from '../codec/checksum.js'
import type { FileSystem } from '../fs/types.js'
import { readWholeFileSync, writeWholeFileSync } from '../fs/whole-file.js'

/** Longest file that is read, in bytes. */
const fileBytesMax = 64 * 1024 * 1024

/** Writes or replaces a file, durably. */
export function writeCheckedJsonSync(
  fileSystem: FileSystem,
  directory: string,
  name: string,
  object: object,
): void {
  const line = JSON.stringify(object)
  writeWholeFileSync(fileSystem, directory, name, Buffer.from(`${line}\n${checksumOf(line)}\n`))
}

/**
 * Reads a file; `decode` makes the result of the parsed line. Throws `ERR_CORRUPTION` about a
 * damaged `what` if the file does not verify or `decode` throws an `InvariantError`.
 */
export function readCheckedJsonSync<T>(
  fileSystem: FileSystem,
  path: string,
  what: string,
  decode: (value: unknown) => T,
): T {
  const damaged = (expected: string, found: string): never => {
    throw corruption(`damaged ${what}`, { file: path, offset: 0, expected, found })
  }
  const size = fileSystem.statSync(path)?.size ?? 0
  if (size > fileBytesMax) return damaged(`at most ${fileBytesMax} bytes`, `${size}`)
  const [line, checksum, ...rest] = readWholeFileSync(fileSystem, path).toString('utf8').split('\n')
  if (rest.length !== 1 || rest[0] !== '' || checksum !== checksumOf(line)) {
    return damaged('a line of JSON and its checksum', 'something else')
  }
  try {
    return decode(JSON.parse(line))
  } catch (error) {
    if (!(error instanceof InvariantError) && !(error instanceof SyntaxError)) throw error
    return damaged(`a ${what}`, error.message)
  }
}

function checksumOf(line: string): string {
  return xxh64(Buffer.from(line), 0n).toString(16).padStart(16, '0')
}
