/**
 * A second name for a finished file, or a copy of it where the system has no hard links.
 *
 * REQUIRES that nobody changes the file while or after this runs: the two names share its bytes.
 * Failure behaviour: an error leaves no file at the new name, unless its removal fails as well.
 * Memory: one chunk.
 */
import { CellarError, ErrorCode } from '../base/errors.js'
import { systemCode } from './errors.js'
import type { File, FileSystem } from './types.js'

const chunkBytes = 1024 * 1024

/** What systems say that have no hard links, not here, or not one more for this file. */
const withoutLinks: ReadonlySet<string | undefined> = new Set([
  'EACCES',
  'EMLINK',
  'ENOSYS',
  'ENOTSUP',
  'EOPNOTSUPP',
  'EPERM',
  'EXDEV',
])

/**
 * Links `to` to the file at `from`, or copies it. A copy's bytes are durable, a link's if those of
 * the file are; the name is once the caller has synced the directory of `to`.
 */
export async function linkOrCopy(
  fileSystem: FileSystem,
  from: string,
  to: string,
): Promise<'link' | 'copy'> {
  try {
    fileSystem.linkSync(from, to)
    return 'link'
  } catch (error) {
    const refused = error instanceof CellarError && withoutLinks.has(systemCode(error.cause))
    if (!refused) throw error
  }
  await copyFile(fileSystem, from, to)
  return 'copy'
}

/** Copies the file at `from` to the free name `to`; its bytes are durable when it resolves. */
export async function copyFile(fileSystem: FileSystem, from: string, to: string): Promise<void> {
  const source = fileSystem.openSync(from, 'read')
  try {
    const target = fileSystem.openSync(to, 'create')
    try {
      await copyBytes(source, target)
      await target.sync()
      target.closeSync()
    } catch (error) {
      target.closeSync()
      fileSystem.unlinkSync(to)
      throw error
    }
  } finally {
    source.closeSync()
  }
}

async function copyBytes(source: File, target: File): Promise<void> {
  const size = source.sizeSync()
  const chunk = Buffer.allocUnsafeSlow(Math.min(size, chunkBytes))
  for (let at = 0; at < size; at += chunk.length) {
    const wanted = Math.min(chunk.length, size - at)
    // A short read must never look like the end of the file.
    if ((await source.read(chunk, 0, wanted, at)) !== wanted) {
      throw new CellarError(ErrorCode.io, `${source.path} became shorter while it was copied`)
    }
    target.writeSync(chunk, 0, wanted, at)
  }
}
