/** What the tests of the log share: a seeded generator, recognisable mutations, byte-wise files. */

import { varintLength, writeVarint } from '../../../../src/base/varint.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import type { FileSystem } from '../../../../src/storage/fs/types.js'
import type { LogOptions } from '../../../../src/storage/wal/log-options.js'
import { Log } from '../../../../src/storage/wal/log.js'
import {
  inspectLog,
  replayLog,
  type InspectLogOptions,
  type OnMutation,
  type RecoveredLog,
} from '../../../../src/storage/wal/recover-log.js'

export const directory = '/db'
export const databaseId = Buffer.alloc(16, 'identity')

/** Numbers in [0, 1), the same for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b_79f5) >>> 0
    let hash = Math.imul(state ^ (state >>> 15), 1 | state)
    hash = (hash + Math.imul(hash ^ (hash >>> 7), 61 | hash)) ^ hash
    return ((hash ^ (hash >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A mutation that says its sequence and can be checked byte for byte. */
export function mutation(sequence: number, fillBytes: number): Buffer {
  return Buffer.concat([Buffer.from(`${sequence}:`), Buffer.alloc(fillBytes, sequence & 0xff)])
}

/** The sequence of a mutation made above. Throws if it has other bytes than it should. */
export function sequenceOf(source: Buffer, start: number, end: number): number {
  const colon = source.indexOf(0x3a, start)
  const sequence = Number(source.toString('latin1', start, colon))
  const made = mutation(sequence, end - colon - 1)
  if (!made.equals(source.subarray(start, end))) throw new Error(`mutation ${sequence} is altered`)
  return sequence
}

export interface Recovery {
  readonly recovered: RecoveredLog
  readonly sequences: number[]
}

/** The options of a recovery, and the receiver of its mutations. */
export type RecoveryOptions = Partial<InspectLogOptions> & { readonly onMutation?: OnMutation }

export function recover(fileSystem: FileSystem, options: RecoveryOptions = {}): Recovery {
  const sequences: number[] = []
  const inspected = inspectLog({
    fileSystem,
    directory,
    databaseId,
    fileNumberFloor: 0,
    ...options,
  })
  const note: OnMutation = (source, start, end) => sequences.push(sequenceOf(source, start, end))
  const recovered = replayLog(inspected, options.onMutation ?? note)
  return { recovered, sequences }
}

export function newFileSystem(): SimulatedDisk {
  const fileSystem = new SimulatedDisk()
  fileSystem.makeDirectorySync(directory)
  fileSystem.syncDirectorySync('/')
  return fileSystem
}

/** A log whose files are numbered from `first` on. */
export function openLog(fileSystem: FileSystem, first = 1, options: Partial<LogOptions> = {}): Log {
  let next = first
  return Log.createSync({
    fileSystem,
    directory,
    databaseId,
    allocateFileNumber: () => next++,
    ...options,
  })
}

/** Appends a mutation behind its length. */
export function append(log: Log, sequence: number, fillBytes = 10): void {
  const content = mutation(sequence, fillBytes)
  const bytes = Buffer.alloc(varintLength(content.length) + content.length)
  content.copy(bytes, writeVarint(bytes, 0, content.length))
  log.append(bytes, 0, bytes.length, sequence)
}

export type Files = Map<string, Buffer>

export function readFiles(fileSystem: FileSystem): Files {
  const files: Files = new Map()
  for (const name of fileSystem.listSync(directory).sort()) {
    const file = fileSystem.openSync(`${directory}/${name}`, 'read')
    const bytes = Buffer.alloc(file.sizeSync())
    file.readSync(bytes, 0, bytes.length, 0)
    file.closeSync()
    files.set(name, bytes)
  }
  return files
}

/** A file system with these files, on a machine that was started anew. */
export function withFiles(files: Files): SimulatedDisk {
  const fileSystem = newFileSystem()
  for (const [name, bytes] of files) {
    const file = fileSystem.openSync(`${directory}/${name}`, 'create')
    file.writeSync(bytes, 0, bytes.length, 0)
    file.closeSync()
  }
  return fileSystem
}

export function range(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i)
}
