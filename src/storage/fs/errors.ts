/**
 * The only place where errors of the operating system become errors of Cellar.
 *
 * The message names the operation, the path, the system's code and, where known, a remedy. The
 * system error is the `cause`.
 */
import { constants } from 'node:os'
import { CellarError, ErrorCode } from '../../base/errors.js'

/** Descriptions of the system codes that this layer raises itself. */
const descriptions: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EBADF: 'bad file descriptor',
  EEXIST: 'file already exists',
  EIO: 'input/output error',
  EISDIR: 'is a directory',
  EMFILE: 'too many open files',
  ENOENT: 'no such file or directory',
  ENOSPC: 'no space left on device',
  ENOTDIR: 'not a directory',
}

const hints: Readonly<Record<string, string>> = {
  EACCES: 'check owner and permissions of the database directory',
  EDQUOT: 'raise the quota or free space, then reopen the database',
  EFBIG: 'raise the file size limit (ulimit -f), then reopen the database',
  ELOOP: 'a symbolic link stands in place of a file of the database',
  EMFILE: 'raise the limit of open files (ulimit -n)',
  ENFILE: 'raise the limit of open files of the system',
  ENOSPC: 'free space on the device, then reopen the database',
  EPERM: 'check owner, permissions and attributes of the database directory',
  EROFS: 'the file system is mounted read-only',
  ERR_ACCESS_DENIED: "grant access with Node's --allow-fs-read and --allow-fs-write",
}

const namesByNumber = new Map(
  Object.entries(constants.errno).map(([name, number]) => [number, name] as const),
)

/**
 * The name of a system error, such as `ENOSPC`, or undefined if the value has none. Node's `code`
 * is no name for errors that libuv does not know, such as EDQUOT and ESTALE: it is `UNKNOWN` or
 * `Unknown system error -122`. These are named by their number.
 */
export function systemCode(cause: unknown): string | undefined {
  if (typeof cause !== 'object' || cause === null || !('code' in cause)) return undefined
  const { code } = cause
  if (typeof code !== 'string') return undefined
  const isNamed = code !== 'UNKNOWN' && !code.startsWith('Unknown system error')
  if (isNamed || !('errno' in cause) || typeof cause.errno !== 'number') return code
  return namesByNumber.get(-cause.errno) ?? code
}

/**
 * Codes with which systems refuse a hard link: not supported here, or too many links to this file.
 */
const withoutLinks: ReadonlySet<string | undefined> = new Set([
  'EACCES',
  'EMLINK',
  'ENOSYS',
  'ENOTSUP',
  'EOPNOTSUPP',
  'EPERM',
  'EXDEV',
])

/** Whether the error is the refusal of a hard link, where a copy may serve. */
export function refusesLinks(cause: unknown): boolean {
  return withoutLinks.has(systemCode(cause))
}

/** Codes of systems that have no memory or no descriptor for a call. */
const shortages: ReadonlySet<string | undefined> = new Set(['EMFILE', 'ENFILE', 'ENOMEM'])

/** Whether the system had no memory or no descriptor for a call: that says nothing of the file. */
export function isShortage({ cause }: CellarError): boolean {
  return shortages.has(systemCode(cause))
}

/** Makes an error with the `code` and the wording of the operating system. */
export function syntheticError(code: string): Error & { code: string } {
  const error = new Error(`${code}: ${descriptions[code] ?? 'system error'}`)
  return Object.assign(error, { code })
}

const syncForbidden =
  "Node's permission model forbids fsync and fdatasync in this version; run without it, " +
  'or with a durability that needs no sync'

function errorCode(code: string | undefined): ErrorCode {
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
    case 'EFBIG':
      return ErrorCode.noSpace
    case 'EROFS':
    case 'EACCES':
    case 'EPERM':
    case 'ERR_ACCESS_DENIED':
      return ErrorCode.readOnly
    case undefined:
    default:
      return ErrorCode.io
  }
}

/**
 * Maps a system error to a {@link CellarError}.
 *
 * - `ERR_NO_SPACE`: ENOSPC, EDQUOT and EFBIG.
 * - `ERR_READ_ONLY`: EROFS, EACCES, EPERM and a refusal by Node's permission model.
 * - `ERR_IO`: all others, and a sync that Node's permission model forbids.
 *
 * @param operation the attempted operation, as one word: `write`, `syncDirectory`
 * @param path the file or directory of the operation
 * @param cause the system error, kept as `cause`; an error of Cellar is returned unchanged
 */
export function fileError(operation: string, path: string, cause: unknown): CellarError {
  if (cause instanceof CellarError) return cause
  const code = systemCode(cause)
  const reason = code ?? (cause instanceof Error ? cause.message : String(cause))
  const known = code === undefined ? undefined : descriptions[code]
  // Node refuses the sync itself, not the path: the file was opened under the same permissions.
  const forbidden =
    code === 'ERR_ACCESS_DENIED' && (operation === 'sync' || operation === 'syncDirectory')
  const hint = forbidden ? syncForbidden : code === undefined ? undefined : hints[code]
  const message =
    `${operation} of ${path} failed: ${reason}` +
    (known === undefined ? '' : ` (${known})`) +
    (hint === undefined ? '' : `; ${hint}`)
  return new CellarError(forbidden ? ErrorCode.io : errorCode(code), message, { cause })
}
