/**
 * The one interface for all input and output, so that tests can replace the file system. Only the
 * implementation for the machine imports `node:fs`.
 *
 * Failure behaviour: every operation throws (or rejects with) a `CellarError`: `ERR_NO_SPACE` for
 * ENOSPC, EDQUOT and EFBIG, `ERR_READ_ONLY` for EROFS, EACCES and EPERM, `ERR_IO` for the rest; the
 * message names operation and path and the system error is the `cause`. A short write or read that
 * the system reports is continued by the implementation; a read returns fewer bytes than asked only
 * at the end of the file.
 */

import type { DirectoryBinding } from './directory-handle.js'

/** An open file. Offsets and lengths are bytes. */
export interface File {
  readonly path: string
  /**
   * Reads up to `length` bytes at `position` into `target` and returns how many; fewer only at end
   * of file.
   */
  readSync(target: Uint8Array, targetStart: number, length: number, position: number): number
  /** As {@link readSync}, off the event loop. `target` belongs to the call until it settles. */
  read(target: Uint8Array, targetStart: number, length: number, position: number): Promise<number>
  /** Writes `source[start, end)` at `position`, all of it or an error. */
  writeSync(source: Uint8Array, start: number, end: number, position: number): void
  /**
   * Makes the content and the size durable (fdatasync). Never retried by callers after an error.
   */
  syncSync(): void
  /** As {@link syncSync}, off the event loop. */
  sync(): Promise<void>
  /** Current length in bytes. */
  sizeSync(): number
  /** Cuts or extends the file. */
  truncateSync(length: number): void
  /** Closes the descriptor. Calling it again does nothing. */
  closeSync(): void
}

/** Exclusive ownership of a directory. Give it to {@link FileSystem.boundTo}. */
export interface DirectoryLock {
  /** Gives the directory back. Calling it again does nothing. */
  release(): Promise<void>
}

/** What {@link FileSystem.statSync} tells of a path. */
export interface FileStat {
  readonly kind: 'file' | 'directory' | 'other'
  readonly size: number
}

/**
 * How a file is opened: `read` must exist, `create` must not exist (read and write), `write` must
 * exist (read and write).
 */
export type OpenMode = 'read' | 'create' | 'write'

/** A file system. Paths are plain strings, joined with {@link FileSystem.join}. */
export interface FileSystem {
  /**
   * True if a worker thread can reach the same files through its own instance of the node file
   * system.
   */
  readonly shareable: boolean
  /** What such an instance needs to be bound to the same directory as this one. */
  readonly binding?: DirectoryBinding | undefined
  /**
   * 16 bytes, not all zero, that change when the machine stops and with that loses what was written
   * but not synced. Two equal values prove that everything written in between is still there.
   * Undefined if the system does not tell.
   */
  runIdentity(): Buffer | undefined
  join(directory: string, name: string): string
  openSync(path: string, mode: OpenMode): File
  /** Names in the directory, unsorted. */
  listSync(directory: string): string[]
  /** Undefined if nothing is there. Does not follow a symbolic link at the end of the path. */
  statSync(path: string): FileStat | undefined
  /** Creates the directory and its missing parents. Existing ones are left alone. */
  makeDirectorySync(path: string): void
  /** Atomic; replaces an existing target. Durable only after {@link syncDirectorySync}. */
  renameSync(from: string, to: string): void
  /**
   * Gives the file at `from` a second name, which must be free. The file is gone when its last name
   * is. Durable only after {@link syncDirectorySync}. Fails with `ERR_IO` or `ERR_READ_ONLY` where
   * the system has no such links.
   */
  linkSync(from: string, to: string): void
  /** Removes a file. A missing file is an error. */
  unlinkSync(path: string): void
  /** As {@link unlinkSync}, off the event loop. */
  unlink(path: string): Promise<void>
  /** Makes creations, renames and removals in the directory durable. */
  syncDirectorySync(directory: string): void
  /** As {@link syncDirectorySync}, off the event loop; covers what was done before the call. */
  syncDirectory(directory: string): Promise<void>
  /**
   * Takes the directory for this opener alone, at once, or rejects with `ERR_LOCKED` and a message
   * that says who holds it. The lock ends with the process, however it dies.
   */
  lock(directory: string): Promise<DirectoryLock>
  /**
   * This file system, in which names below the locked directory lead to that very directory until
   * the lock is released, also when its path comes to lead elsewhere. Where a moved directory
   * cannot be followed, `ERR_DIRECTORY_MOVED` is thrown instead.
   */
  boundTo(lock: DirectoryLock): FileSystem
}
