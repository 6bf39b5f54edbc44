/** One salvage or repair on its way; see salvage-database.ts. */
import { systemClock } from '../../../base/clock.js'
import { CellView } from '../../cell/cell-view.js'
import { copyFile, linkOrCopy } from '../../fs/copy-file.js'
import type { FileSystem } from '../../fs/types.js'
import { temporarySuffix } from '../../fs/whole-file.js'
import { SsTableOutput, type SsTableFormat } from '../../job/sstable-output.js'
import { SsTableReader } from '../../sstable/reader.js'
import { decodeFamilySettings, formatOfFamily } from '../../store/family-settings.js'
import { closingStatementName } from '../../version/closing-statement.js'
import type { FileMetadata } from '../../version/file-metadata.js'
import {
  dataFilesOf,
  formatFileName,
  isFailedSyncName,
  parseFileName,
} from '../../version/file-names.js'
import { writeManifestSync } from '../../version/manifest.js'
import type { StoreVersion, VersionState } from '../../version/version.js'
import { removeQuietly } from '../../fs/quietly.js'
import { isDamage, type Loss, type Problem, type Salvage } from './findings.js'
import { readLogRemains, type LogChoice, type LoggedCell, type LogRemains } from './log-remains.js'
import { rowOfKey } from './table-survey.js'
import { ownerOf, problemOfTable } from './verify-database.js'
import type { Wreck } from './wreck.js'

/** Names of folders with damaged files; the number is that of a new file. */
const folderPattern = /^damaged-(\d{1,15})$/

export class SalvageRun {
  private readonly fileSystem: FileSystem
  private readonly wreck: Wreck
  private readonly to: string
  private readonly log: LogRemains
  private nextFileNumber: number
  /** Names in the old directory. */
  private readonly namesBefore: readonly string[]
  /** Names of files that were made in the target. */
  private readonly made: string[] = []
  private readonly kept = new Set<string>()
  private readonly rebuilt: string[] = []
  private entries = 0

  constructor(fileSystem: FileSystem, wreck: Wreck, to: string, choice: LogChoice) {
    this.fileSystem = fileSystem
    this.wreck = wreck
    this.to = to
    const { evidence, directory, source } = wreck
    this.log = readLogRemains(source, directory, evidence, choice)
    this.nextFileNumber = evidence.state.nextFileNumber
    this.namesBefore = fileSystem.listSync(directory)
    for (const name of this.namesBefore) {
      // A folder of an earlier repair stays as it is.
      const ofFolder = folderPattern.exec(name)?.[1]
      const number = Number(ofFolder ?? parseFileName(name)?.fileNumber ?? 0)
      this.nextFileNumber = Math.max(this.nextFileNumber, number + 1)
    }
  }

  /** What a repair would do. */
  plan(): Salvage {
    const { survey, surveyWithBackup } = this.wreck
    for (const table of surveyWithBackup.tables) {
      const name = formatFileName('table', table.file.fileNumber)
      this.entries += table.entriesRead
      if (table.problem === undefined) this.kept.add(name)
      else if (table.entriesRead > 0) this.rebuilt.push(name)
    }
    const isSound = survey.tables.every(({ problem }) => problem === undefined)
    return this.result(false, isSound ? [] : this.damagedNames(this.keptState()))
  }

  /** Writes everything into the new directory. */
  async salvage(): Promise<Salvage> {
    return this.write(
      async (state) => {
        for (const { name } of dataFilesOf(state))
          if (!this.made.includes(name)) await this.copy(name, name)
      },
      () => [],
    )
  }

  /** Puts the directory itself in order. */
  async repair(): Promise<Salvage> {
    return this.write(
      (state) => this.placeFromBackup(state),
      (state) => {
        const moved = this.damagedNames(state)
        // A file that the backup replaces was moved before.
        this.moveAway(moved.filter((name) => !this.wreck.fromBackup.has(name)))
        return moved
      },
    )
  }

  /** Puts files of the backup in the places of damaged ones, once there is room for all. */
  private async placeFromBackup(state: VersionState): Promise<void> {
    const { fileSystem, to, wreck } = this
    const named = dataFilesOf(state).map(({ name }) => name)
    const names = named.filter((name) => wreck.fromBackup.has(name))
    for (const name of names) {
      removeQuietly(fileSystem, fileSystem.join(to, name + temporarySuffix))
      await this.copy(name, name + temporarySuffix)
    }
    const damaged = names.filter((name) => this.namesBefore.includes(name))
    if (damaged.length > 0) {
      const folder = this.makeFolder()
      for (const name of damaged) {
        const [path, aside] = [to, folder].map((place) => fileSystem.join(place, name))
        // Only a file can be replaced by one.
        if (fileSystem.statSync(path)?.kind !== 'file') fileSystem.renameSync(path, aside)
        else await linkOrCopy(fileSystem, path, aside)
      }
      fileSystem.syncDirectorySync(folder)
      fileSystem.syncDirectorySync(to)
    }
    for (const name of names) {
      const path = fileSystem.join(to, name)
      fileSystem.renameSync(path + temporarySuffix, path)
    }
  }

  /** Publishes the manifest. An error before takes everything back, and a later one nothing. */
  private async write(
    place: (state: VersionState) => Promise<void>,
    tidy: (state: VersionState) => string[],
  ): Promise<Salvage> {
    const { fileSystem, to, wreck } = this
    let state: VersionState
    let manifest: string | undefined
    try {
      const stores = new Map<number, StoreVersion>()
      for (const store of wreck.evidence.state.stores.values()) {
        stores.set(store.storeId, await this.makeStore(store))
      }
      state = this.stateOf(stores)
      await place(state)
      fileSystem.syncDirectorySync(to)
      const { logFileNumberFloor } = state
      manifest = formatFileName('manifest', logFileNumberFloor)
      writeManifestSync(fileSystem, to, logFileNumberFloor, wreck.databaseId, state).closeSync()
    } catch (error) {
      this.takeBack(manifest)
      throw error
    }
    return this.result(true, tidy(state))
  }

  /** Removes what was made. Files that the manifest names stay while it may be there. */
  private takeBack(manifest: string | undefined): void {
    const { fileSystem, to } = this
    const remove = (name: string): void => removeQuietly(fileSystem, fileSystem.join(to, name))
    if (manifest !== undefined) {
      remove(manifest)
      remove(manifest + temporarySuffix)
      try {
        if (fileSystem.listSync(to).includes(manifest)) return
        fileSystem.syncDirectorySync(to)
      } catch {
        return
      }
    }
    for (const name of this.made) remove(name)
  }

  private stateOf(stores: ReadonlyMap<number, StoreVersion>): VersionState {
    const { evidence } = this.wreck
    const { lastSequence, lastServerTimestamp } = this.log
    // No segment of the log has a smaller number: their mutations are in SSTables.
    const logFileNumberFloor = this.nextFileNumber++
    return {
      ...evidence.state,
      stores,
      logFileNumberFloor,
      nextFileNumber: this.nextFileNumber,
      lastSequence: Math.max(evidence.lastSequence, lastSequence),
      lastServerTimestamp: Math.max(evidence.state.lastServerTimestamp, lastServerTimestamp),
    }
  }

  /** The files of a store: sound ones, rebuilt ones, and the cells of the log. */
  private async makeStore({
    storeId,
    flushedSequence,
    levels,
  }: StoreVersion): Promise<StoreVersion> {
    const made: FileMetadata[][] = []
    for (const level of levels) {
      const files: FileMetadata[] = []
      for (const file of level) {
        const saved = await this.saveFile(file, storeId)
        if (saved !== undefined) files.push(saved)
      }
      made.push(files)
    }
    const logged = this.log.cells.get(storeId) ?? []
    if (logged.length > 0) made[0].unshift(this.writeLogged(logged, storeId))
    while (made.length > 1 && made[made.length - 1].length === 0) made.pop()
    const isSnapshot = this.definitionOf(storeId)?.snapshot !== undefined
    const { lastSequence } = this.log
    const sequence = isSnapshot ? flushedSequence : Math.max(flushedSequence, lastSequence)
    return { storeId, flushedSequence: sequence, levels: made }
  }

  /** The file itself if it is sound, else a new one with its readable cells, if there are any. */
  private async saveFile(file: FileMetadata, storeId: number): Promise<FileMetadata | undefined> {
    const { files, surveyWithBackup } = this.wreck
    const { problem, entriesRead } = surveyWithBackup.tables.find(
      (each) => each.file.fileNumber === file.fileNumber,
    )!
    this.entries += entriesRead
    const damagedValues = (file.valueFiles ?? []).some(
      ({ fileNumber }) => surveyWithBackup.valueFiles.get(fileNumber) !== undefined,
    )
    if (problem === undefined && !damagedValues) {
      this.kept.add(formatFileName('table', file.fileNumber))
      return file
    }
    if (entriesRead === 0) return undefined
    this.rebuilt.push(formatFileName('table', file.fileNumber))
    const output = this.begin(storeId)
    try {
      await files.read(file, (cell) => output.add(cell))
      return output.finish(file.level, file.createdMilliseconds)
    } catch (error) {
      output.abandon()
      throw error
    }
  }

  private writeLogged(cells: readonly LoggedCell[], storeId: number): FileMetadata {
    const output = this.begin(storeId)
    const cell = new CellView()
    try {
      for (const { bytes, keyBytes } of cells) {
        cell.setCell(bytes, 0, keyBytes, bytes.length)
        output.add(cell)
      }
      return output.finish(0, systemClock.now())
    } catch (error) {
      output.abandon()
      throw error
    }
  }

  private begin(storeId: number): SsTableOutput {
    const { fileSystem, to, wreck } = this
    const fileNumber = this.nextFileNumber++
    this.made.push(formatFileName('table', fileNumber))
    const place = { directory: to, databaseId: wreck.databaseId }
    return new SsTableOutput(fileSystem, wreck.codecs, place, fileNumber, this.formatOf(storeId))
  }

  private formatOf(storeId: number): SsTableFormat {
    const { families } = this.definitionOf(storeId)!
    const { options } = families.find((family) => family.storeId === storeId)!
    return formatOfFamily(decodeFamilySettings(options))
  }

  private definitionOf(storeId: number) {
    const tables = [...this.wreck.evidence.state.tables.values()]
    return tables.find(({ families }) => families.some((family) => family.storeId === storeId))
  }

  private async copy(name: string, as: string): Promise<void> {
    const { fileSystem, to, wreck } = this
    this.made.push(as)
    const source = fileSystem.join(wreck.directory, name)
    const target = fileSystem.join(to, as)
    await copyFile(wreck.source, source, target, undefined, fileSystem)
  }

  /** The state without the files that are not sound. */
  private keptState(): VersionState {
    const { surveyWithBackup, evidence } = this.wreck
    const bad = surveyWithBackup.tables.filter(({ problem }) => problem !== undefined)
    const numbers = new Set(bad.map(({ file }) => file.fileNumber))
    const stores = new Map(
      [...evidence.state.stores].map(([storeId, store]) => {
        const levels = store.levels.map((level) => level.filter((f) => !numbers.has(f.fileNumber)))
        return [storeId, { ...store, levels }]
      }),
    )
    return { ...evidence.state, stores }
  }

  /** Names of the directory that a repair moves away: damaged files, the log, older manifests. */
  private damagedNames(state: VersionState): string[] {
    const { evidence, fromBackup } = this.wreck
    const wanted = new Set(dataFilesOf(state).map(({ name }) => name))
    const isDamaged = (name: string): boolean => {
      const isStatement = name === closingStatementName || isFailedSyncName(name)
      if (isStatement || fromBackup.has(name)) return true
      const parsed = parseFileName(name)
      if (parsed === undefined) return false
      if (parsed.kind === 'log' || parsed.kind === 'manifest') return true
      return parsed.kind !== 'temporary' && !wanted.has(name)
    }
    // What the manifest does not name stays, if the manifest is sound.
    const unknown = new Set(evidence.remains === undefined ? evidence.unknownFiles : [])
    return this.namesBefore.filter((name) => isDamaged(name) && !unknown.has(name)).sort()
  }

  private moveAway(names: readonly string[]): void {
    if (names.length === 0) return
    const { fileSystem, to } = this
    const folder = this.makeFolder()
    for (const name of names) {
      fileSystem.renameSync(fileSystem.join(to, name), fileSystem.join(folder, name))
    }
    fileSystem.syncDirectorySync(folder)
    fileSystem.syncDirectorySync(to)
  }

  /** Makes the folder for damaged files, if it is not there yet. */
  private makeFolder(): string {
    const { fileSystem, to, nextFileNumber } = this
    const folder = fileSystem.join(to, `damaged-${nextFileNumber}`)
    fileSystem.makeDirectorySync(folder)
    return folder
  }

  private result(written: boolean, filesMoved: readonly string[]): Salvage {
    const { wreck, to, entries, kept } = this
    const { evidence, survey, fromBackup } = wreck
    const problems: Problem[] = [...evidence.problems]
    for (const problem of survey.valueFiles.values()) if (problem) problems.push(problem)
    for (const table of survey.tables) {
      if (table.problem !== undefined) problems.push(problemOfTable(evidence.state, table))
    }
    return {
      ...{ from: wreck.directory, to, written, problems, losses: this.losses(), entries },
      filesKept: [...kept].sort(),
      filesFromBackup: [...fromBackup].sort(),
      filesRebuilt: this.rebuilt,
      filesMoved,
      mutations: this.log.mutations,
    }
  }

  private losses(): Loss[] {
    const { evidence, surveyWithBackup, directory } = this.wreck
    const losses: Loss[] = [...this.log.losses]
    for (const table of surveyWithBackup.tables) {
      if (table.lost.length === 0) continue
      const { file, message, entriesLost, rows } = problemOfTable(evidence.state, table)
      const owner = ownerOf(evidence.state, table.storeId)
      losses.push({ file, kind: 'SSTable', message, ...owner, entriesLost, rows })
    }
    const { remains } = evidence
    if (remains === undefined) return losses
    for (const problem of evidence.problems) {
      if (problem.kind !== 'manifest' || remains.gaps.length + remains.editsRefused === 0) continue
      const { file, message } = problem
      losses.push({ file, kind: 'manifest', message: `edits are lost: ${message}` })
      break
    }
    for (const name of evidence.unknownFiles) losses.push(this.unnamed(directory, name))
    return losses
  }

  /** A file that a lost edit may have named. */
  private unnamed(directory: string, name: string): Loss {
    const { source, databaseId, codecs } = this.wreck
    const file = source.join(directory, name)
    const message = `${file} is named by no edit that is left, so nothing tells its table`
    const loss: Loss = { file, kind: name.endsWith('.sst') ? 'SSTable' : 'value file', message }
    if (loss.kind !== 'SSTable') return loss
    try {
      const number = parseFileName(name)!.fileNumber
      const reader = SsTableReader.openSync(source, file, number, { codecs, databaseId })
      const { entryCount, firstKey, lastKey } = reader.properties
      const { fileBytes } = reader
      reader.closeSync()
      const [firstRow, lastRow] = [firstKey, lastKey].map(rowOfKey)
      const rows = [{ firstRow, lastRow, offset: 0, bytes: fileBytes }]
      return { ...loss, entriesLost: entryCount, rows }
    } catch (error) {
      if (isDamage(error)) return loss
      throw error
    }
  }
}
