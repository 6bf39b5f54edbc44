/**
 * The interface for all input and output, so that tests can replace the file system. Only the files
 * of this folder import `node:fs`.
 *
 * Every operation throws, or rejects with, a `CellarError`. `ERR_NO_SPACE` stands for ENOSPC,
 * EDQUOT and EFBIG; `ERR_READ_ONLY` for EROFS, EACCES and EPERM; `ERR_DIRECTORY_MOVED` see {@link
 * FileSystem.boundTo}; `ERR_IO` for the rest. The message names operation and path, and the system
 * error is the `cause`. The implementation continues short reads and writes. So a read returns
 * fewer bytes than asked only at the end of the file.
 */

import type { DirectoryBinding } from './directory-handle.js'

/** An open file. Offsets and lengths are bytes. */
export interface File {
  /** As it was opened. */
  readonly path: string
  /**
   * Reads up to `length` bytes at `position` into `target`. Returns the number of bytes read, which
   * is smaller than `length` only at the end of the file.
   */
  readSync(target: Uint8Array, targetStart: number, length: number, position: number): number
  /**
   * As {@link readSync}, asynchronously. The caller leaves `target` alone until the promise
   * settles.
   */
  read(target: Uint8Array, targetStart: number, length: number, position: number): Promise<number>
  /** Writes all of `source[start, end)` at `position`, or throws. */
  writeSync(source: Uint8Array, start: number, end: number, position: number): void
  /** Makes content and size durable (fdatasync). Callers never repeat a failed sync. */
  syncSync(): void
  /** As {@link syncSync}, asynchronously. */
  sync(): Promise<void>
  /** Current length in bytes. */
  sizeSync(): number
  /** Shortens the file, or extends it with zeros. */
  truncateSync(length: number): void
  /** Closes the file. Asynchronous calls in progress finish. Calling it again does nothing. */
  closeSync(): void
}

/** Exclusive ownership of a directory; see {@link FileSystem.boundTo}. */
export interface DirectoryLock {
  /** Releases the directory. Calling it again does nothing. */
  release(): Promise<void>
}

/** Kind and size in bytes of the file or directory at a path. */
export interface FileStat {
  /** Whether it is a file or a directory. */
  readonly kind: 'file' | 'directory' | 'other'
  /** Bytes; 0 for a directory. */
  readonly size: number
}

/** The space of a device, in bytes. */
export interface DeviceSpace {
  /** What programs without privileges may still use. */
  readonly freeBytes: number
  /** All of it. */
  readonly totalBytes: number
}

/**
 * How to open a file. `read`: the file must exist. `create`: it must not exist; for reading and
 * writing. `write`: it must exist; for reading and writing.
 */
export type OpenMode = 'read' | 'create' | 'write'

/** A file system. Paths are plain strings, joined with {@link FileSystem.join}. */
export interface FileSystem {
  /** Whether a worker thread can reach the same files through a file system of its own. */
  readonly shareable: boolean
  /** The directory to which a worker's file system must be bound to reach the same files. */
  readonly binding?: DirectoryBinding | undefined
  /**
   * 16 bytes, not all zero, that identify the run of the machine. The value changes when the
   * machine stops and may have lost written but unsynced bytes. Two equal values prove that all
   * bytes written in between are still there. Undefined if the system does not tell.
   */
  runIdentity(): Buffer | undefined
  /** Joins parts of a path. */
  join(directory: string, name: string): string
  /** As `open`, blocking. */
  openSync(path: string, mode: OpenMode): File
  /** Names in the directory, unsorted. */
  listSync(directory: string): string[]
  /** Returns undefined if the path does not exist. Does not follow a symbolic link at its end. */
  statSync(path: string): FileStat | undefined
  /**
   * A text that all names of one file share and no other file has, and that changes with its
   * content. Undefined if there is no file, or the system does not tell.
   */
  identitySync?(path: string): string | undefined
  /**
   * The space of the device that holds a path; undefined if the system does not tell. It never
   * throws.
   */
  spaceSync?(path: string): DeviceSpace | undefined
  /** Creates the directory and its missing parents. Existing directories stay as they are. */
  makeDirectorySync(path: string): void
  /** Atomic; replaces an existing target. Durable only after {@link syncDirectorySync}. */
  renameSync(from: string, to: string): void
  /**
   * Gives the file at `from` a second name, which must not exist. The file exists until its last
   * name is removed. Durable only after {@link syncDirectorySync}. Throws `ERR_IO` or
   * `ERR_READ_ONLY` where the system has no hard links.
   */
  linkSync(from: string, to: string): void
  /** Removes a file. A missing file is an error. */
  unlinkSync(path: string): void
  /** As {@link unlinkSync}, asynchronously. */
  unlink(path: string): Promise<void>
  /** Makes creations, renames and removals in the directory durable. */
  syncDirectorySync(directory: string): void
  /** As {@link syncDirectorySync}, asynchronously; covers the changes made before the call. */
  syncDirectory(directory: string): Promise<void>
  /**
   * Takes the directory for this opener alone. Rejects with `ERR_LOCKED`, whose message names the
   * holder, if another opener holds the directory. The lock ends with the process, however the
   * process ends.
   */
  lock(directory: string): Promise<DirectoryLock>
  /**
   * Returns a file system in which names in the locked directory reach that very directory until
   * the lock is released, also if the path comes to lead to another directory. Calls throw
   * `ERR_DIRECTORY_MOVED` where the system cannot follow a moved directory.
   */
  boundTo(lock: DirectoryLock): FileSystem
}
