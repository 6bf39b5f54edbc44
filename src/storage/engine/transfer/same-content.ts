/** Compares two files byte for byte. Memory: two chunks. */
import { quietly } from '../../fs/quietly.js'
import type { FileSystem } from '../../fs/types.js'

const chunkBytes = 1024 * 1024

/**
 * Whether two files hold the same bytes; false if one of them is no file. `check` is called before
 * each chunk, and ends the comparison if it throws.
 */
export async function sameContent(
  fileSystem: FileSystem,
  one: string,
  other: string,
  check: () => void,
): Promise<boolean> {
  const [first, second] = [fileSystem.statSync(one), fileSystem.statSync(other)]
  if (first?.kind !== 'file' || second?.kind !== 'file' || first.size !== second.size) return false
  const files = [fileSystem.openSync(one, 'read')]
  try {
    files.push(fileSystem.openSync(other, 'read'))
    const chunks = files.map(() => Buffer.allocUnsafeSlow(Math.min(first.size, chunkBytes)))
    for (let at = 0; at < first.size; at += chunkBytes) {
      check()
      const wanted = Math.min(chunkBytes, first.size - at)
      const reads = files.map((file, i) => file.read(chunks[i], 0, wanted, at))
      const [a, b] = await Promise.all(reads)
      if (a !== wanted || b !== wanted) return false
      if (!chunks[0].subarray(0, wanted).equals(chunks[1].subarray(0, wanted))) return false
    }
    return true
  } finally {
    for (const file of files) quietly(() => file.closeSync())
  }
}
