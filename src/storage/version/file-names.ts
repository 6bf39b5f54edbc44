/**
 * Names of the files in a database directory, and the files that a state names.
 *
 * All kinds of files share one number space, so a number names at most one file in the life of a
 * database. Numbers are decimal with at least six digits. A name that {@link formatFileName} would
 * not write is foreign and is never touched.
 */

import { assert } from '../../base/assert.js'
import { temporarySuffix } from '../fs/whole-file.js'
import { fileOfFailedSync } from '../record/failed-sync.js'
import { parseSegmentName, segmentName } from '../wal/segment-name.js'
import { forEachFile, valueFilesOf, type VersionState } from './version.js'

/**
 * Kinds of files of a database. `temporary` is a file that is being written under a `.tmp` name.
 */
export type FileKind = 'manifest' | 'log' | 'table' | 'values' | 'temporary'

/** The parts of a file name of a database. */
export interface FileName {
  readonly kind: FileKind
  readonly fileNumber: number
}

const digitsMin = 6
const manifestPrefix = 'MANIFEST-'
const pattern = /^(?:MANIFEST-(\d{6,16})|(\d{6,16})\.(sst|val))(\.tmp)?$/
const lockPattern = /^LOCK(?:\.[\w-]+\.(?:new|heir|socket))?$/

/** The name of a file, for instance `000013.sst`. REQUIRES `fileNumber` >= 1. */
export function formatFileName(kind: Exclude<FileKind, 'temporary'>, fileNumber: number): string {
  assert(Number.isSafeInteger(fileNumber) && fileNumber > 0, 'file numbers are positive integers')
  if (kind === 'log') return segmentName(fileNumber)
  const digits = String(fileNumber).padStart(digitsMin, '0')
  if (kind === 'manifest') return manifestPrefix + digits
  return kind === 'table' ? `${digits}.sst` : `${digits}.val`
}

/** The file of the space reserve (space-reserve.ts). */
export const reserveName = 'RESERVE'

/** The file that makes a directory a backup (backup-marker.ts). No open for writing takes it. */
export const backupMarkerName = 'BACKUP'

/** The parts of a name; undefined if it is not exactly a name of ours. */
export function parseFileName(name: string): FileName | undefined {
  const segmentNumber = parseSegmentName(name)
  if (segmentNumber !== undefined) return { kind: 'log', fileNumber: segmentNumber }
  const match = pattern.exec(name)
  if (match === null) return undefined
  const fileNumber = Number(match[1] ?? match[2])
  if (!Number.isSafeInteger(fileNumber) || fileNumber === 0) return undefined
  const kind = match[1] !== undefined ? 'manifest' : match[3] === 'sst' ? 'table' : 'values'
  const temporary = match[4] !== undefined
  const canonical = formatFileName(kind, fileNumber) + (temporary ? temporarySuffix : '')
  if (name !== canonical) return undefined
  return { kind: temporary ? 'temporary' : kind, fileNumber }
}

/** Highest number of the files of a kind among some names; 0 if there is none. */
export function highestNumber(kind: FileKind, names: readonly string[]): number {
  return names.map(parseFileName).reduce((highest, file) => {
    return file?.kind === kind ? Math.max(highest, file.fileNumber) : highest
  }, 0)
}

/** An SSTable or value file that a state names. */
export interface DataFile {
  readonly kind: 'table' | 'values'
  readonly name: string
  /** Length as the manifest says. */
  readonly bytes: number
}

/** The SSTables and value files that a state names. */
export function dataFilesOf(state: VersionState): DataFile[] {
  const files: DataFile[] = []
  const add = (kind: DataFile['kind'], fileNumber: number, bytes: number): void => {
    files.push({ kind, name: formatFileName(kind, fileNumber), bytes })
  }
  forEachFile(state, ({ fileNumber, fileBytes }) => add('table', fileNumber, fileBytes))
  for (const [fileNumber, bytes] of valueFilesOf(state)) add('values', fileNumber, bytes)
  return files
}

/** The SSTables and value files among some names that a state does not name. */
export function unknownFilesOf(state: VersionState, names: readonly string[]): string[] {
  const known = new Set(dataFilesOf(state).map(({ name }) => name))
  return names.filter((name) => {
    const kind = parseFileName(name)?.kind
    return (kind === 'table' || kind === 'values') && !known.has(name)
  })
}

/** Whether a name is that of a statement about a log segment or manifest (failed-sync.ts). */
export function isFailedSyncName(name: string): boolean {
  const about = fileOfFailedSync(name)
  const kind = about === undefined ? undefined : parseFileName(about)?.kind
  return kind === 'log' || kind === 'manifest'
}

/**
 * Whether a name belongs to the lock or the reserve, or is hidden. No such file holds data of a
 * database.
 */
export function isIgnoredName(name: string): boolean {
  return lockPattern.test(name) || name === reserveName || name.startsWith('.')
}
