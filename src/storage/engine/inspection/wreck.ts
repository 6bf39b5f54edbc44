/** A damaged directory as it is at one moment, with files of a backup in place of damaged ones. */
import { CellarError, ErrorCode } from '../../../base/errors.js'
import type { Codecs } from '../../codec/codec.js'
import type { Content } from '../../fs/content.js'
import { KeptContent } from '../../fs/overlay-fs.js'
import type { FileSystem } from '../../fs/types.js'
import { describesSameFile, type FileMetadata } from '../../version/file-metadata.js'
import { formatFileName } from '../../version/file-names.js'
import { forEachFile, valueFilesOf, type VersionState } from '../../version/version.js'
import { freezeDirectory } from '../catalog/frozen-directory.js'
import { readEvidence, type Evidence } from './evidence.js'
import { SurveyedFiles, type FileSurvey } from './file-survey.js'
import { isDamage } from './findings.js'
import type { Pace } from './pace.js'

/** See the file header. */
export interface Wreck {
  readonly directory: string
  readonly evidence: Evidence
  readonly databaseId: Buffer
  /** Holds the files of the directory, and those of the backup under the same names. */
  readonly source: FileSystem
  /** The files without the backup. */
  readonly survey: FileSurvey
  /** The files with those of the backup. */
  readonly surveyWithBackup: FileSurvey
  readonly isDamaged: boolean
  /** Names of files that the backup gave. */
  readonly fromBackup: ReadonlySet<string>
  readonly files: SurveyedFiles
  readonly codecs: Codecs
  close(): void
}

/** Reads a directory; errors as `Database.salvage`. */
export async function readWreck(
  fileSystem: FileSystem,
  directory: string,
  backup: string | undefined,
  codecs: Codecs,
  pace: Pace,
): Promise<Wreck> {
  const view = await freezeDirectory(fileSystem, directory).catch((error: unknown) => {
    throw isDamage(error) ? withoutManifest(error) : error
  })
  const closing: (() => void)[] = [() => view.closeSync()]
  const close = (): void => {
    for (const step of closing.splice(0).reverse()) step()
  }
  try {
    const evidence = readEvidence(view, directory)
    const { databaseId } = evidence
    const isEmpty = evidence.remains !== undefined && evidence.state.tables.size === 0
    if (databaseId === undefined || isEmpty) {
      throw withoutManifest(undefined, evidence.problems.at(0)?.message ?? 'no table is left')
    }
    const place = { directory, databaseId }
    let files = new SurveyedFiles(view, place, codecs, pace)
    closing.push(() => files.close())
    const survey = await files.survey(evidence.state)
    const isDamaged = countDamaged(survey) > 0
    const fromBackup = new Set<string>()
    let surveyWithBackup = survey
    if (backup !== undefined && isDamaged) {
      const spare = await spareFiles(fileSystem, backup, databaseId, evidence.state, survey)
      for (const [name, content] of spare) {
        view.replace(name, content)
        fromBackup.add(name)
      }
      files.close()
      files = new SurveyedFiles(view, place, codecs, pace)
      surveyWithBackup = await files.survey(evidence.state)
    }
    const source: FileSystem = view
    return {
      ...{ directory, evidence, databaseId, source, survey, surveyWithBackup, isDamaged },
      ...{ fromBackup, files, codecs, close },
    }
  } catch (error) {
    close()
    throw error
  }
}

function withoutManifest(cause: unknown, found?: string): CellarError {
  const why = found ?? (cause as Error).message
  const message = `without a manifest nothing tells which file belongs to which table: ${why}`
  return new CellarError(ErrorCode.corruption, `${message}; restore a backup`, { cause })
}

function countDamaged({ tables, valueFiles }: FileSurvey): number {
  const damaged = [...valueFiles.values()].filter((problem) => problem !== undefined)
  return damaged.length + tables.filter(({ problem }) => problem !== undefined).length
}

/** The files of a backup that are named as damaged ones are, and are the same by description. */
async function spareFiles(
  fileSystem: FileSystem,
  backup: string,
  databaseId: Buffer,
  state: VersionState,
  survey: FileSurvey,
): Promise<Map<string, Content>> {
  const view = await freezeDirectory(fileSystem, backup)
  try {
    const other = readEvidence(view, backup)
    if (other.databaseId?.equals(databaseId) !== true) {
      const message = `${backup} is a backup of another database`
      throw new CellarError(ErrorCode.notABackup, message)
    }
    const contents = new Map<string, Content>()
    const take = (name: string): void => {
      const path = fileSystem.join(backup, name)
      if (contents.has(name) || fileSystem.statSync(path)?.kind !== 'file') return
      contents.set(name, new KeptContent(fileSystem.openSync(path, 'read')))
    }
    const known = new Map<number, FileMetadata>()
    forEachFile(other.state, (file) => known.set(file.fileNumber, file))
    for (const { file, problem } of survey.tables) {
      const same = known.get(file.fileNumber)
      if (problem === undefined || same === undefined || !describesSameFile(file, same)) continue
      if (problem.kind === 'SSTable') take(formatFileName('table', file.fileNumber))
    }
    const values = valueFilesOf(other.state)
    for (const [number, bytes] of valueFilesOf(state)) {
      if (survey.valueFiles.get(number) === undefined || values.get(number) !== bytes) continue
      take(formatFileName('values', number))
    }
    return contents
  } finally {
    view.closeSync()
  }
}
