/**
 * Stores drawn as text, for the cases in test/data/compaction.
 *
 *   case a sentence
 *   policy leveled fileBytes=1M levelsMax=4
 *   store now=100 ttl=10 minVersions=0 resting=1 reads=40M
 *   L0 [a-f 10M seq 1-9 del 3 ts 0-5 created 7 busy] [b-c]
 *   L2 [a-c 4M] [d-f]
 *   choose
 *   ----
 *   merge #1 #2 -> L2 max 24M cut at c,f major
 *
 * Files are numbered as they appear; level 0 is drawn newest first. A file has 100 entries. The
 * command is `choose`, `major`, or `major c-f` (rows from c, before f).
 */
import { CellType } from '../../../../src/storage/cell/cell-type.js'
import {
  keyBytesBound,
  writeEscaped,
  writeKeySuffix,
  writeTerminator,
} from '../../../../src/storage/cell/cell-key.js'
import { choosePolicy } from '../../../../src/storage/compaction/choose-policy.js'
import type {
  CompactionChoice,
  PolicyInput,
  PolicyName,
  RowInterval,
} from '../../../../src/storage/compaction/choice.js'
import type { FileMetadata } from '../../../../src/storage/version/file-metadata.js'

const mebibyte = 1024 * 1024

/** The key of a cell. */
export function keyOf(row: string, qualifier: string, sequence: number): Buffer {
  const [rowBytes, qualifierBytes] = [Buffer.from(row), Buffer.from(qualifier)]
  const key = Buffer.alloc(keyBytesBound(rowBytes.length, qualifierBytes.length))
  const rowEnd = writeEscaped(key, 0, rowBytes)
  let at = writeTerminator(key, rowEnd)
  at = writeTerminator(key, writeEscaped(key, at, qualifierBytes))
  at = writeKeySuffix(key, at, 0, 0, CellType.put, sequence, rowEnd)
  return Buffer.from(key.subarray(0, at))
}

function parseNumber(text: string): number {
  const match = /^(-?[\d.]+|Infinity)([KM]?)$/.exec(text)
  if (match === null) throw new Error(`not a number: ${text}`)
  return Number(match[1]) * { '': 1, K: 1024, M: mebibyte }[match[2]]!
}

function printBytes(bytes: number): string {
  return bytes === Infinity ? 'Infinity' : `${bytes / mebibyte}M`
}

function parseRange(text: string): [number, number] {
  const [low, high] = text.split('-').map(parseNumber)
  return [low, high]
}

function parseFile(text: string, fileNumber: number, level: number, busy: Set<number>) {
  const [rows, ...words] = text.split(/\s+/)
  const [first, last] = rows.split('-')
  const facts = { bytes: mebibyte, deletes: 0, created: 0 }
  let sequences: [number, number] = [1000 - fileNumber, 1000 - fileNumber]
  let timestamps: [number, number] = [0, 0]
  while (words.length > 0) {
    const word = words.shift()!
    if (word === 'busy') busy.add(fileNumber)
    else if (word === 'seq') sequences = parseRange(words.shift()!)
    else if (word === 'ts') timestamps = parseRange(words.shift()!)
    else if (word === 'del') facts.deletes = parseNumber(words.shift()!)
    else if (word === 'created') facts.created = parseNumber(words.shift()!)
    else facts.bytes = parseNumber(word)
  }
  const file: FileMetadata = {
    fileNumber,
    fileBytes: facts.bytes,
    level,
    entryCount: 100,
    deleteCount: facts.deletes,
    familyDeleteCount: 0,
    // Neighbours that share a row, [a-c] [c-e], do not share a key.
    firstKey: keyOf(first, 'n', sequences[1]),
    lastKey: keyOf(last, first === last ? 'z' : 'm', sequences[0]),
    minSequence: sequences[0],
    maxSequence: sequences[1],
    minTimestamp: BigInt(timestamps[0]),
    maxTimestamp: BigInt(timestamps[1]),
    earliestPutTimestamp: BigInt(timestamps[0]),
    createdMilliseconds: facts.created,
  }
  return file
}

function parseSettings(words: readonly string[]): Record<string, number | string> {
  return Object.fromEntries(
    words.map((word) => {
      const [name, value] = word.split('=')
      return [name, /^-?[\d.]+[KM]?$|^Infinity$/.test(value) ? parseNumber(value) : value]
    }),
  )
}

/** Runs the lines of a case above `----`; returns what stands below. */
export function runCase(lines: readonly string[]): string {
  let policy = choosePolicy('exploring')
  const levels: FileMetadata[][] = [[]]
  const busyFiles = new Set<number>()
  let settings: Record<string, number | string> = {}
  let fileNumber = 0
  for (const line of lines) {
    const [word, ...words] = line.trim().split(/\s+/)
    const level = /^L(\d+)$/.exec(word)
    if (word === 'policy')
      policy = choosePolicy(words[0] as PolicyName, parseSettings(words.slice(1)))
    else if (word === 'store') settings = parseSettings(words)
    else if (level !== null) {
      const number = Number(level[1])
      while (levels.length <= number) levels.push([])
      for (const [, drawn] of line.matchAll(/\[([^\]]*)\]/g)) {
        levels[number].push(parseFile(drawn, ++fileNumber, number, busyFiles))
      }
    } else if (word === 'choose' || word === 'major') {
      const { now = 0, ttl = Infinity, minVersions = 0, resting = 0, reads = 0 } = settings
      const input: PolicyInput = {
        levels,
        now: Number(now),
        ttlMilliseconds: Number(ttl),
        minVersions: Number(minVersions),
        busyFiles,
        resting: Number(resting) === 1,
        readBytes: Number(reads),
      }
      if (word === 'choose') return printChoice(policy.choose(input))
      return printChoice(policy.chooseMajor(input, parseRows(words[0])))
    } else if (word !== 'case') throw new Error(`not a line of a case: ${line}`)
  }
  throw new Error('a case needs a command')
}

function parseRows(text: string | undefined): RowInterval | undefined {
  if (text === undefined) return undefined
  const [first, end] = text.split('-')
  return {
    firstRow: first === '' ? undefined : Buffer.from(first),
    endRow: end === '' ? undefined : Buffer.from(end),
  }
}

function printChoice(choice: CompactionChoice): string {
  if (choice.kind === 'nothing') return choice.blocked ? 'blocked' : 'nothing'
  const files = choice.files.map((file) => `#${file.fileNumber}`).join(' ')
  if (choice.kind === 'drop') return `drop ${files}`
  if (choice.kind === 'move') return `move ${files} -> L${choice.outputLevel}`
  const parts = [`merge ${files} -> L${choice.outputLevel}`]
  if (choice.outputBytesMax !== Infinity) parts.push(`max ${printBytes(choice.outputBytesMax)}`)
  if (choice.boundaries.length > 0) {
    parts.push(`cut at ${choice.boundaries.map((row) => row.toString()).join(',')}`)
  }
  if (choice.major) parts.push('major')
  return parts.join(' ')
}
