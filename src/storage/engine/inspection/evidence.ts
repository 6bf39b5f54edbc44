/**
 * What a directory tells of its database: the manifest and the log as an open would take them, or
 * their readable parts, with all problems.
 */
import { CellarError, ErrorCode } from '../../../base/errors.js'
import type { FileSystem } from '../../fs/types.js'
import { fileHeaderBytes, decodeFileHeader } from '../../record/file-header.js'
import { readWholeFileSync } from '../../fs/whole-file.js'
import { highestNumber, parseFileName, unknownFilesOf } from '../../version/file-names.js'
import { readDirectorySync, type DirectoryContent } from '../../version/open-directory.js'
import { closingStatementName, readClosingStatementSync } from '../../version/closing-statement.js'
import { emptyState, type VersionState } from '../../version/version.js'
import { judgeLog, sequenceFlushedOf } from '../open/recovery.js'
import { scanSegment, type InspectedLog } from '../../wal/recover-log.js'
import type { CutTail } from '../../record/record-scan.js'
import { problemOf, type Problem } from './findings.js'
import { readManifestRemainsSync, type ManifestRemains } from './manifest-remains.js'

/** See the file header. */
export interface Evidence {
  readonly state: VersionState
  /** Undefined if no file has the identity. */
  readonly databaseId: Buffer | undefined
  /** Undefined if the manifest is sound. */
  readonly remains: ManifestRemains | undefined
  /** Undefined if an open would refuse the log or the manifest. */
  readonly log: InspectedLog | undefined
  readonly problems: readonly Problem[]
  readonly remarks: readonly string[]
  /** Names of SSTables and value files that the state does not name. */
  readonly unknownFiles: readonly string[]
  /** Numbers of all segments of the log in the directory. */
  readonly segments: readonly number[]
  readonly mutations: number
  readonly lastSequence: number
  /** All mutations up to this sequence are in SSTables, if these are sound. */
  readonly flushedSequence: number
}

const asOpen = { recovery: 'tornTail', logRetentionBytes: Infinity, readOnly: true } as const

/**
 * Reads manifest, closing statement and log of a view. `ERR_NOT_A_DATABASE` if there is none of
 * them; `ERR_FORMAT_VERSION`.
 */
export function readEvidence(view: FileSystem, directory: string): Evidence {
  const problems: Problem[] = []
  const remarks: string[] = []
  const content = attempt(problems, directory, 'manifest', () => {
    return readDirectorySync(view, directory, false)
  })
  if (content?.tornTail !== undefined) remarks.push(cutRemark(content.tornTail))
  const remains = content === undefined ? readRemains(view, directory, problems) : undefined
  const state = content?.state ?? remains?.state ?? emptyState
  const databaseId =
    content?.databaseId ?? remains?.databaseId ?? identityFromOthers(view, directory)
  const log = content === undefined ? undefined : readLog(view, directory, content, problems)
  if (log?.tornTail !== undefined) remarks.push(cutRemark(log.tornTail))
  const names = view.listSync(directory)
  const unknownFiles = unknownFilesOf(state, names)
  if (unknownFiles.length > 0) {
    remarks.push(`files that the manifest does not name: ${unknownFiles.sort().join(', ')}`)
  }
  const segments = names
    .map(parseFileName)
    .flatMap((file) => (file?.kind === 'log' ? [file.fileNumber] : []))
    .sort((a, b) => a - b)
  const mutations = log === undefined ? 0 : countMutations(log)
  const logged = log?.kept.at(-1)?.scan.lastSequence ?? 0
  const lastSequence = Math.max(state.lastSequence, logged)
  return {
    ...{ state, databaseId, remains, log, problems, remarks },
    ...{ unknownFiles, segments, mutations, lastSequence },
    flushedSequence: sequenceFlushedOf(state),
  }
}

/** The result of a step; undefined if it found damage, which becomes a problem. */
function attempt<T>(
  problems: Problem[],
  directory: string,
  kind: Problem['kind'],
  step: () => T,
): T | undefined {
  try {
    return step()
  } catch (error) {
    const problem = problemOf(error, directory, kind)
    const isStatement = problem.file.endsWith(closingStatementName)
    problems.push(isStatement ? { ...problem, kind: 'closing statement' } : problem)
    return undefined
  }
}

function readRemains(
  view: FileSystem,
  directory: string,
  problems: Problem[],
): ManifestRemains | undefined {
  const newest = highestNumber('manifest', view.listSync(directory))
  if (newest === 0) return undefined
  return attempt(problems, directory, 'manifest', () => {
    return readManifestRemainsSync(view, directory, newest)
  })
}

function readLog(
  view: FileSystem,
  directory: string,
  content: DirectoryContent,
  problems: Problem[],
): InspectedLog | undefined {
  return attempt(problems, directory, 'log', () => judgeLog(view, directory, content, asOpen).log)
}

/** The identity in the header of a log segment, or in the statement of the last close. */
function identityFromOthers(view: FileSystem, directory: string): Buffer | undefined {
  for (const name of view.listSync(directory)) {
    const parsed = parseFileName(name)
    const path = view.join(directory, name)
    try {
      if (name === closingStatementName) return readClosingStatementSync(view, directory).databaseId
      if (parsed?.kind !== 'log') continue
      const bytes = readWholeFileSync(view, path).subarray(0, fileHeaderBytes)
      const header = decodeFileHeader(bytes, bytes.length, path, {
        kind: 'log',
        fileNumber: parsed.fileNumber,
      })
      if (typeof header !== 'string') return header.databaseId
    } catch (error) {
      if (!(error instanceof CellarError) || error.code === ErrorCode.formatVersion) throw error
    }
  }
  return undefined
}

function countMutations({ options, kept }: InspectedLog): number {
  let mutations = 0
  for (const { fileNumber } of kept) scanSegment(options, fileNumber, () => () => mutations++)
  return mutations
}

function cutRemark({ file, offset, bytesLost, found }: CutTail): string {
  return `${file} has a torn tail at ${offset}, which an open cuts: ${bytesLost} bytes, ${found}`
}
