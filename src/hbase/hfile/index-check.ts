/**
 * Compares the index of an HFile with its blocks, while these are read from the first to the last:
 * the entries of leaves, intermediate blocks and root must name all blocks below them, in order.
 */
import type { BlockPlace } from './block-writer.js'
import type { Block } from './block-reader.js'
import { readVlong } from './bytes/vlong.js'

interface Level extends BlockPlace {
  /** Levels below, this one included. */
  readonly levels: number
}

/** Bytes after the root's entries that name the middle of the file. */
const middleBytes = 8 + 4 + 4
const entryFrameBytes = 8 + 4

/** A deviation of an index block. */
export interface IndexFault {
  readonly expected: string
  readonly found: string
}

/** The blocks that no index block has named so far; see the file header. */
export class IndexCheck {
  /** Payloads of the blocks of the index. */
  payloadBytes = 0
  #data: Level[] = []
  #nodes: Level[] = []
  #metas: Level[] = []

  /** Notes a data block. */
  addData({ offset, bytes }: BlockPlace): void {
    this.#data.push({ offset, bytes, levels: 0 })
  }

  /** Notes a meta block. */
  addMeta({ offset, bytes }: BlockPlace): void {
    this.#metas.push({ offset, bytes, levels: 0 })
  }

  /** Takes a leaf or an intermediate block. Returns a deviation. */
  takeNode({ payload, offset, bytes }: Block, isLeaf: boolean): IndexFault | undefined {
    this.payloadBytes += payload.length
    const count = payload.length >= 8 ? payload.readInt32BE(0) : 0
    const entriesAt = 4 * (count + 2)
    if (count < 1 || entriesAt > payload.length) {
      return { expected: 'entries of an index', found: `${count} in ${payload.length} bytes` }
    }
    const below = (isLeaf ? this.#data : this.#nodes).splice(0, count)
    let end = 0
    for (let i = 0; i < count; i++) {
      const start = payload.readInt32BE(4 * (i + 1))
      const at = entriesAt + start
      end = payload.readInt32BE(4 * (i + 2))
      if (start < 0 || end < start + entryFrameBytes || entriesAt + end > payload.length) {
        return { expected: 'places of entries', found: `${start} and ${end}` }
      }
      const fault = compare(payload, at, below.at(i))
      if (fault !== undefined) return fault
    }
    if (entriesAt + end !== payload.length) {
      return { expected: 'entries that fill the block', found: `${end} bytes` }
    }
    const levels = below.reduce((most, each) => Math.max(most, each.levels), -Infinity) + 1
    this.#nodes.push({ offset, bytes, levels })
    return undefined
  }

  /** Takes the root of the data index. Returns a deviation. */
  takeRoot(payload: Buffer, entries: number, levels: number): IndexFault | undefined {
    this.payloadBytes += payload.length
    const below = levels > 1 ? this.#nodes : this.#data
    const found = (below.at(0)?.levels ?? 0) + 1
    if (found !== levels || below.some((each) => each.levels !== levels - 1)) {
      return { expected: `an index of ${levels} levels`, found: `${found}` }
    }
    const end = takeEntries(payload, entries, below)
    if (typeof end !== 'number') return end
    const rest = payload.length - end
    if (rest !== 0 && (levels === 1 || rest !== middleBytes)) {
      return { expected: 'entries that fill the block', found: `${rest} bytes more` }
    }
    const unnamed = this.#data.length + this.#nodes.length - below.length
    if (unnamed > 0) return { expected: 'an index of all blocks', found: `${unnamed} not named` }
    return undefined
  }

  /** Takes the index of the meta blocks. Returns a deviation. */
  takeMetaRoot(payload: Buffer, entries: number): IndexFault | undefined {
    const end = takeEntries(payload, entries, this.#metas)
    if (typeof end !== 'number') return end
    if (end === payload.length) return undefined
    return { expected: 'entries that fill the block', found: `${payload.length - end} bytes more` }
  }
}

/** The end of the entries of a root, or a deviation. */
function takeEntries(
  payload: Buffer,
  entries: number,
  below: readonly Level[],
): number | IndexFault {
  if (entries !== below.length) {
    return { expected: `${below.length} entries`, found: `${entries}` }
  }
  let at = 0
  for (const block of below) {
    const fault = compare(payload, at, block)
    if (fault !== undefined) return fault
    const key = readVlong(payload, at + entryFrameBytes, payload.length)
    if (key === undefined) return { expected: 'the length of a key', found: 'none' }
    at = key.end + key.value
    if (key.value < 0 || at > payload.length) {
      return { expected: 'a key', found: `${key.value} bytes` }
    }
  }
  return at
}

function compare(payload: Buffer, at: number, block: Level | undefined): IndexFault | undefined {
  if (block === undefined || at + entryFrameBytes > payload.length) {
    return { expected: 'an entry for each block', found: 'more or fewer' }
  }
  const offset = Number(payload.readBigInt64BE(at))
  const bytes = payload.readInt32BE(at + 8)
  if (offset === block.offset && bytes === block.bytes) return undefined
  const expected = `a block of ${block.bytes} bytes at ${block.offset}`
  return { expected, found: `${bytes} bytes at ${offset}` }
}
