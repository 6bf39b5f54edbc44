/**
 * Gives a finished file a second name, or copies it where the file system has no hard links.
 *
 * REQUIRES that the file does not change while or after this runs: both names share its bytes.
 * After an error the new name does not exist, unless its removal failed as well. Memory: one chunk.
 */
import { quietly } from './quietly.js'
import { CellarError, ErrorCode } from '../../base/errors.js'
import { refusesLinks } from './errors.js'
import type { File, FileSystem } from './types.js'

const chunkBytes = 1024 * 1024

/**
 * Links `to` to the file at `from`, or copies the file. The bytes of a copy are durable; those of a
 * link are if the file was synced. The name is durable after the caller has synced the directory of
 * `to`.
 */
export async function linkOrCopy(
  fileSystem: FileSystem,
  from: string,
  to: string,
  check?: () => void,
): Promise<'link' | 'copy'> {
  try {
    fileSystem.linkSync(from, to)
    return 'link'
  } catch (error) {
    const refused = error instanceof CellarError && refusesLinks(error.cause)
    if (!refused) throw error
  }
  await copyFile(fileSystem, from, to, check)
  return 'copy'
}

/**
 * Copies the file at `from` to the unused name `to`. The bytes are durable when the promise
 * resolves. `check` is called before each chunk, and ends the copy if it throws. The copy goes to
 * `targetSystem`, by default the file system of the source.
 */
export async function copyFile(
  fileSystem: FileSystem,
  from: string,
  to: string,
  check?: () => void,
  targetSystem = fileSystem,
): Promise<void> {
  const source = fileSystem.openSync(from, 'read')
  try {
    const target = targetSystem.openSync(to, 'create')
    try {
      await copyBytes(source, target, check)
      await target.sync()
      target.closeSync()
    } catch (error) {
      quietly(() => target.closeSync())
      quietly(() => targetSystem.unlinkSync(to))
      throw error
    }
  } finally {
    quietly(() => source.closeSync())
  }
}

/** Makes the bytes of a file durable that another program may have written and not synced. */
export async function syncFile(fileSystem: FileSystem, path: string): Promise<void> {
  const file = fileSystem.openSync(path, 'read')
  try {
    await file.sync()
  } finally {
    quietly(() => file.closeSync())
  }
}

async function copyBytes(source: File, target: File, check?: () => void): Promise<void> {
  const size = source.sizeSync()
  const chunk = Buffer.allocUnsafeSlow(Math.min(size, chunkBytes))
  for (let at = 0; at < size; at += chunk.length) {
    check?.()
    const wanted = Math.min(chunk.length, size - at)
    // A short read must not be taken for the end of the file.
    if ((await source.read(chunk, 0, wanted, at)) !== wanted) {
      throw new CellarError(ErrorCode.io, `${source.path} became shorter while it was copied`)
    }
    target.writeSync(chunk, 0, wanted, at)
  }
}
