/** The exit codes of the command, which scripts may rely on. */
import { CellarError } from '../api/index.js'
import { systemCode } from '../storage/fs/errors.js'

/** Exit codes by situation. */
export const ExitCode = {
  /** Done; everything that was looked at is sound. */
  sound: 0,
  /** Problems were found, or a verb failed in another way than those below. */
  problems: 1,
  /** The words of the command line are wrong, or a file or a name that they give. */
  usage: 2,
  /**
   * The directory cannot be opened: missing, no database, damaged, or of a newer format. Or a
   * server cannot be reached.
   */
  cannotOpen: 3,
  /** Another process has the directory open, and the verb needs it alone. */
  inUse: 4,
  /** The system refused: no space, no permission, an error of the disk. */
  system: 5,
} as const

const byErrorCode: Readonly<Record<string, number>> = {
  ERR_INVALID_ARGUMENT: ExitCode.usage,
  ERR_TABLE_NOT_FOUND: ExitCode.usage,
  ERR_NAMESPACE_NOT_FOUND: ExitCode.usage,
  ERR_NO_SUCH_COLUMN_FAMILY: ExitCode.usage,
  ERR_REPOSITORY_NOT_FOUND: ExitCode.usage,
  ERR_RECORD_TABLE_NOT_FOUND: ExitCode.usage,
  ERR_FIELD_TYPE_NOT_FOUND: ExitCode.usage,
  ERR_RECORD_TYPE_NOT_FOUND: ExitCode.usage,
  ERR_INDEX_NOT_FOUND: ExitCode.usage,
  ERR_DIRECTORY_NOT_EMPTY: ExitCode.usage,
  ERR_NOT_A_DATABASE: ExitCode.cannotOpen,
  ERR_NOT_A_BACKUP: ExitCode.cannotOpen,
  ERR_BACKUP_INCOMPLETE: ExitCode.cannotOpen,
  ERR_CORRUPTION: ExitCode.cannotOpen,
  ERR_FORMAT_VERSION: ExitCode.cannotOpen,
  ERR_SERVER: ExitCode.cannotOpen,
  ERR_MESSAGING_UNAVAILABLE: ExitCode.cannotOpen,
  ERR_LOCKED: ExitCode.inUse,
  ERR_NO_SPACE: ExitCode.system,
  ERR_READ_ONLY: ExitCode.system,
  ERR_IO: ExitCode.system,
  ERR_UNAUTHORIZED: ExitCode.system,
  ERR_FORBIDDEN: ExitCode.system,
}

/** Codes of failures that another word on the command line does not mend. */
const systemCodes = new Set([
  ...['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO'],
  ...['EACCES', 'EPERM', 'EROFS', 'EMFILE', 'ENFILE'],
])

/** The exit code of an error that ends a verb. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CellarError) return byErrorCode[error.code] ?? ExitCode.problems
  const { syscall } = error as NodeJS.ErrnoException
  const code = systemCode(error)
  if (code !== undefined && systemCodes.has(code)) return ExitCode.system
  // A file that the caller names and that the system refuses.
  return syscall === undefined ? ExitCode.problems : ExitCode.usage
}
