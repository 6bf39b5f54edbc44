/**
 * The structure of a database directory: manifest, log, and the SSTables of each family by level.
 *
 * The directory is read as it is at one moment (frozen-directory.ts), also while a process has it
 * open; nothing is written and no lock is taken. Cells are read only of the one file that a caller
 * asks for. Damage is part of the result, as in a verification.
 */
import { CellarError, ErrorCode } from '../../../base/errors.js'
import { declareOptions, integer, type OptionsOf } from '../../../base/options.js'
import { loadChecksums } from '../../codec/checksum.js'
import { loadCodecs } from '../../codec/codec.js'
import { NodeFileSystem } from '../../fs/node-fs.js'
import type { FileSystem } from '../../fs/types.js'
import type { SsTableReader } from '../../sstable/reader.js'
import type { TableDefinition } from '../../version/catalog.js'
import type { FileMetadata } from '../../version/file-metadata.js'
import { formatFileName, parseFileName } from '../../version/file-names.js'
import type { VersionState } from '../../version/version.js'
import { freezeDirectory } from '../catalog/frozen-directory.js'
import { fileSystemOption, readWithPaths } from '../options.js'
import { readEvidence, type Evidence } from './evidence.js'
import { SurveyedFiles } from './file-survey.js'
import { isDamage, problemOf, type Problem } from './findings.js'
import type {
  FileDetails,
  InspectedBlock,
  InspectedFamily,
  InspectedFile,
  InspectedSegment,
  InspectedValueFile,
  Inspection,
} from './inspection.js'
import { Pace } from './pace.js'
import { forEachCell, rowOfKey } from './table-survey.js'

const inspectOptions = declareOptions('an inspection', {
  /** Number of an SSTable whose blocks are read. */
  file: integer({ min: 1, default: undefined }),
  /** Where the directory lives. Default: the machine's file system. */
  fileSystem: fileSystemOption,
})

/** Options of `Database.inspect`. */
export interface InspectOptions extends OptionsOf<typeof inspectOptions> {}

/** See the file header; errors as `Database.inspect`. */
export async function inspectDatabase(
  directory: string,
  options: InspectOptions,
): Promise<Inspection> {
  const settings = readWithPaths([directory], () => inspectOptions.read(options))
  const { file, fileSystem = new NodeFileSystem() } = settings
  await loadChecksums()
  const view = await freezeDirectory(fileSystem, directory)
  try {
    const evidence = readEvidence(view, directory)
    const inspection = inspectionOf(view, directory, evidence)
    if (file === undefined) return inspection
    const { details, problem } = await detailsOf(view, inspection, evidence, file)
    const problems = problem === undefined ? inspection.problems : [...inspection.problems, problem]
    return { ...inspection, file: details, problems }
  } finally {
    view.closeSync()
  }
}

function inspectionOf(view: FileSystem, directory: string, evidence: Evidence): Inspection {
  const { state, databaseId, problems, remarks, unknownFiles } = evidence
  const { lastSequence, flushedSequence } = evidence
  const names = view.listSync(directory).filter((name) => parseFileName(name)?.kind === 'manifest')
  // The view has one manifest, the newest.
  const [manifest] = names
  return {
    directory,
    databaseId: databaseId?.toString('hex'),
    manifest: { name: manifest, bytes: bytesOf(view, directory, manifest) },
    ...{ lastSequence, flushedSequence },
    log: segmentsOf(view, directory, evidence),
    families: [...state.tables.values()].flatMap((table) => familiesOf(state, table)),
    valueFiles: valueFilesIn(state),
    ...{ unknownFiles, problems, remarks },
    file: undefined,
  }
}

function bytesOf(view: FileSystem, directory: string, name: string): number {
  return view.statSync(view.join(directory, name))?.size ?? 0
}

function segmentsOf(
  view: FileSystem,
  directory: string,
  { log, segments }: Evidence,
): InspectedSegment[] {
  const scans = new Map(log?.kept.map(({ fileNumber, scan }) => [fileNumber, scan]))
  return segments.map((fileNumber) => {
    const name = formatFileName('log', fileNumber)
    const scan = scans.get(fileNumber)
    const bytes = bytesOf(view, directory, name)
    return { name, bytes, validBytes: scan?.validLength, lastSequence: scan?.lastSequence }
  })
}

function familiesOf(state: VersionState, definition: TableDefinition): InspectedFamily[] {
  const { name, snapshot } = definition
  return definition.families.map(({ name: family, storeId }) => {
    const store = state.stores.get(storeId)!
    return {
      table: snapshot?.table ?? name,
      ...(snapshot !== undefined && { snapshot: name }),
      ...{ family, storeId },
      flushedSequence: store.flushedSequence,
      levels: store.levels.map((level) => level.map(describe)),
    }
  })
}

function describe(file: FileMetadata): InspectedFile {
  const { fileNumber, level, fileBytes: bytes, entryCount, deleteCount } = file
  const { minSequence, maxSequence, minTimestamp, maxTimestamp, createdMilliseconds } = file
  return {
    name: formatFileName('table', fileNumber),
    ...{ fileNumber, level, bytes, entryCount, deleteCount },
    ...{ minSequence, maxSequence, minTimestamp, maxTimestamp, createdMilliseconds },
    firstRow: rowOfKey(file.firstKey),
    lastRow: rowOfKey(file.lastKey),
    valueFiles: (file.valueFiles ?? []).map((each) => formatFileName('values', each.fileNumber)),
  }
}

function valueFilesIn({ stores }: VersionState): InspectedValueFile[] {
  const found = new Map<number, InspectedValueFile>()
  for (const store of stores.values()) {
    for (const { fileNumber, fileBytes: bytes, bytesUsed } of store.levels
      .flat()
      .flatMap(({ valueFiles = [] }) => valueFiles)) {
      const before = found.get(fileNumber)?.bytesUsed ?? 0
      const name = formatFileName('values', fileNumber)
      found.set(fileNumber, { name, bytes, bytesUsed: before + bytesUsed })
    }
  }
  return [...found].sort(([a], [b]) => a - b).map(([, file]) => file)
}

/** Reads the blocks of one SSTable. `ERR_INVALID_ARGUMENT` if the manifest does not name it. */
async function detailsOf(
  view: FileSystem,
  { directory, families }: Inspection,
  { state, databaseId }: Evidence,
  fileNumber: number,
): Promise<{ readonly details: FileDetails; readonly problem: Problem | undefined }> {
  const isIt = (file: { readonly fileNumber: number }): boolean => file.fileNumber === fileNumber
  const owner = families.find(({ levels }) => levels.flat().some(isIt))
  const file = state.stores
    .get(owner?.storeId ?? 0)
    ?.levels.flat()
    .find(isIt)
  if (owner === undefined || file === undefined || databaseId === undefined) {
    const message = `the manifest of ${directory} names no SSTable with the number ${fileNumber}`
    throw new CellarError(ErrorCode.invalidArgument, message)
  }
  const { table, snapshot, family } = owner
  const names = { table, ...(snapshot !== undefined && { snapshot }), family }
  const described = describe(file)
  const pace = new Pace('the inspection', { bytesPerSecondMax: Infinity })
  const files = new SurveyedFiles(view, { directory, databaseId }, loadCodecs(), pace)
  try {
    const reader = files.open(file)
    const { codecName: codec, keyBytes, valueBytes } = reader.properties
    const steps = blocksOf(reader)
    const { blocks, fault } = await pace.run(steps, file.fileBytes, reader.index.blockCount)
    const problem = fault === undefined ? undefined : problemOf(fault, reader.path, 'SSTable')
    return { details: { ...names, described, codec, keyBytes, valueBytes, blocks }, problem }
  } catch (error) {
    const problem = problemOf(error, files.readers.pathOf(fileNumber), 'SSTable')
    const nothing = { codec: undefined, keyBytes: 0, valueBytes: 0, blocks: [] }
    return { details: { ...names, described, ...nothing }, problem }
  } finally {
    files.close()
  }
}

interface Blocks {
  readonly blocks: readonly InspectedBlock[]
  /** The first damage. */
  readonly fault: CellarError | undefined
}

/** Reads all blocks, and yields after each. */
function* blocksOf(reader: SsTableReader): Generator<void, Blocks> {
  const { offsets, blockCount } = reader.index
  const blocks: InspectedBlock[] = []
  let fault: CellarError | undefined
  for (let index = 0; index < blockCount; index++) {
    let entries = 0
    let firstRow: Buffer | undefined
    let lastKey: Buffer | undefined
    try {
      const found = forEachCell(reader.readBlockSync(index), ({ buffer, keyStart, keyEnd }) => {
        lastKey = buffer.subarray(keyStart, keyEnd)
        if (entries++ === 0) firstRow = rowOfKey(lastKey)
      })
      fault ??= found
    } catch (error) {
      if (!isDamage(error)) throw error
      fault ??= error
    }
    const offset = offsets[index]
    const lastRow = lastKey === undefined ? undefined : rowOfKey(lastKey)
    blocks.push({ offset, bytes: offsets[index + 1] - offset, entries, firstRow, lastRow })
    yield
  }
  return { blocks, fault }
}
