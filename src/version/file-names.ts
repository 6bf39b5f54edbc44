/**
 * Names of the files in a database directory.
 *
 * All kinds share one number space, so a number names at most one file in the life of a database.
 * A number is written in decimal with at least six digits; a name that is not exactly what
 * {@link formatFileName} would write is foreign and is never touched.
 */

import { assert } from '../base/assert.js'
import { parseSegmentName, segmentName } from '../wal/segment-name.js'

/** What a file of ours holds. `temporary` is a file that was being written under a `.tmp` name. */
export type FileKind = 'manifest' | 'log' | 'table' | 'values' | 'temporary'

/** A name of ours, taken apart. */
export interface FileName {
  readonly kind: FileKind
  readonly fileNumber: number
}

/** What is appended to the name of a manifest or an SSTable while the file is being written. */
export const temporarySuffix = '.tmp'

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

/** The file that {@link isIgnoredName} ignores because it only holds space (space-reserve.ts). */
export const reserveName = 'RESERVE'

/** Takes a name apart; undefined if it is not exactly one of ours. */
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

/** Whether a name belongs to the lock or only holds space, or is hidden and so nobody's data. */
export function isIgnoredName(name: string): boolean {
  return lockPattern.test(name) || name === reserveName || name.startsWith('.')
}
