/**
 * Verifies a database directory: reads every byte, and changes none.
 *
 * The directory is read as it is at one moment (frozen-directory.ts), also while a process has it
 * open. Manifest, statement of the last close and log are judged as by an open; SSTables and value
 * files are read to the last cell. All damage is listed, not only the first.
 */
import { checkSignal } from '../../../base/arguments.js'
import { callback, checked, declareOptions, text, type OptionsOf } from '../../../base/options.js'
import { loadChecksums } from '../../codec/checksum.js'
import { loadCodecs } from '../../codec/codec.js'
import { NodeFileSystem } from '../../fs/node-fs.js'
import type { OverlayFileSystem } from '../../fs/overlay-fs.js'
import type { FileSystem } from '../../fs/types.js'
import { dataFilesOf } from '../../version/file-names.js'
import type { VersionState } from '../../version/version.js'
import { freezeDirectory } from '../catalog/frozen-directory.js'
import { fileSystemOption, rateOption, readWithPaths } from '../options.js'
import { sameContent } from '../transfer/same-content.js'
import { readEvidence, type Evidence } from './evidence.js'
import { SurveyedFiles, type FileSurvey, type SurveyedTable } from './file-survey.js'
import { problemOf, type Problem, type Verification } from './findings.js'
import { Pace } from './pace.js'

const verifyOptions = declareOptions('a verification', {
  /** A backup that is verified too, and compared with the database. */
  backup: text(undefined),
  /** Most bytes to read per second, at least 1024. Default Infinity. */
  bytesPerSecondMax: rateOption,
  /** Called with the part of the bytes that is read, 0 to 1. */
  onProgress: callback<(part: number) => void>(),
  /** Ends the verification with `ERR_ABORTED`. */
  signal: checked(checkSignal),
  /** Where the directories live. Default: the machine's file system. */
  fileSystem: fileSystemOption,
})

/** Options of a verification. */
export interface VerifyOptions extends OptionsOf<typeof verifyOptions> {}

/** See the file header; errors as `Database.verify`. */
export async function verifyDatabase(
  directory: string,
  options: VerifyOptions,
): Promise<Verification> {
  const settings = readWithPaths([directory], () => verifyOptions.read(options))
  const fileSystem = settings.fileSystem ?? new NodeFileSystem()
  await loadChecksums()
  const { backup } = settings
  const pace = new Pace('the verification', settings)
  const found = await verifyOne(fileSystem, directory, pace)
  if (backup === undefined) return found.verification
  const other = await verifyOne(fileSystem, backup, pace)
  const problems = [...found.verification.problems, ...other.verification.problems]
  problems.push(...(await compareFiles(fileSystem, directory, backup, found, other)))
  const remarks = [...found.verification.remarks, ...other.verification.remarks]
  return { ...found.verification, problems, remarks, sound: problems.length === 0 }
}

interface Verified {
  readonly verification: Verification
  readonly state: VersionState | undefined
  readonly databaseId: Buffer | undefined
}

async function verifyOne(fileSystem: FileSystem, directory: string, pace: Pace): Promise<Verified> {
  let view: OverlayFileSystem
  try {
    view = await freezeDirectory(fileSystem, directory)
  } catch (error) {
    const problem = problemOf(error, directory, 'manifest')
    const nothing = { files: 0, bytes: 0, entries: 0, logSegments: 0, mutations: 0 }
    const result = { directory, sound: false, problems: [problem], remarks: [], ...nothing }
    const verification = { ...result, lastSequence: 0 }
    return { verification, state: undefined, databaseId: undefined }
  }
  try {
    const evidence = readEvidence(view, directory)
    const { state, databaseId } = evidence
    const survey = await surveyState(view, directory, evidence, pace)
    return { verification: verificationOf(directory, evidence, survey), state, databaseId }
  } finally {
    view.closeSync()
  }
}

async function surveyState(
  view: FileSystem,
  directory: string,
  { state, databaseId }: Evidence,
  pace: Pace,
): Promise<FileSurvey> {
  if (databaseId === undefined) return { tables: [], valueFiles: new Map() }
  const files = new SurveyedFiles(view, { directory, databaseId }, loadCodecs(), pace)
  try {
    return await files.survey(state)
  } finally {
    files.close()
  }
}

function verificationOf(
  directory: string,
  { state, problems: found, remarks, log, mutations, lastSequence }: Evidence,
  { tables, valueFiles }: FileSurvey,
): Verification {
  const problems = [...found]
  for (const problem of valueFiles.values()) if (problem !== undefined) problems.push(problem)
  for (const table of tables) {
    if (table.problem !== undefined) problems.push(problemOfTable(state, table))
  }
  return {
    directory,
    sound: problems.length === 0,
    ...{ problems, remarks },
    files: tables.length + valueFiles.size,
    bytes: dataFilesOf(state).reduce((sum, { bytes }) => sum + bytes, 0),
    entries: tables.reduce((sum, { entriesRead }) => sum + entriesRead, 0),
    logSegments: log?.kept.length ?? 0,
    ...{ mutations, lastSequence },
  }
}

/** The problem of an SSTable with its table and the rows that are lost. */
export function problemOfTable(state: VersionState, surveyed: SurveyedTable): Problem {
  const { storeId, file, problem, entriesRead, lost } = surveyed
  const entriesLost = Math.max(0, file.entryCount - entriesRead)
  return { ...problem!, ...ownerOf(state, storeId), entriesLost, rows: lost }
}

/** Names of the table (or of the snapshot) and of the family of a store. */
export function ownerOf(state: VersionState, storeId: number): { table?: string; family?: string } {
  for (const table of state.tables.values()) {
    const family = table.families.find((each) => each.storeId === storeId)
    if (family !== undefined) return { table: table.name, family: family.name }
  }
  return {}
}

/** Files that a database and its backup both name must be the same. */
async function compareFiles(
  fileSystem: FileSystem,
  directory: string,
  backup: string,
  one: Verified,
  other: Verified,
): Promise<Problem[]> {
  if (one.state === undefined || other.state === undefined) return []
  const problem = (file: string, expected: string, found: string): Problem => ({
    ...{ file, kind: 'backup', code: 'ERR_NOT_A_BACKUP', offset: 0, expected, found },
    message: `${file}: expected ${expected}, found ${found}`,
  })
  const ids = [one.databaseId, other.databaseId].map((id) => id?.toString('hex') ?? 'unknown')
  if (ids[0] !== ids[1]) return [problem(backup, `a backup of database ${ids[0]}`, ids[1])]
  const problems: Problem[] = []
  const own = new Set(dataFilesOf(one.state).map(({ name }) => name))
  for (const { name } of dataFilesOf(other.state)) {
    if (!own.has(name)) continue
    const path = fileSystem.join(backup, name)
    const paths = [fileSystem.join(directory, name), path] as const
    if (paths.some((each) => fileSystem.statSync(each) === undefined)) continue
    if (await sameContent(fileSystem, ...paths, () => {})) continue
    problems.push(problem(path, 'the bytes of the file of the database', 'others'))
  }
  return problems
}
