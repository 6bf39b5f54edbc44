/**
 * Writes the index of the data blocks (FORMAT.md): leaf blocks between the data blocks as soon as
 * their entries fill one, then intermediate blocks, and the root. With few entries there is only
 * the root.
 */
import type { BlockPlace, BlockWriter } from './block-writer.js'
import { BlockKind, headerBytes } from './format.js'
import { writeVlong } from './bytes/vlong.js'

/** Fewest entries of a block of the index, however long keys are. */
const entriesMin = 16
/** Bytes of an entry beside its key. */
const entryFrameBytes = 8 + 4

interface Entry extends BlockPlace {
  readonly key: Buffer
  /** Data blocks that the entry leads to. */
  readonly dataBlocks: number
}

/** The finished index. */
export interface WrittenIndex {
  readonly levels: number
  readonly rootOffset: number
  readonly rootEntries: number
  readonly payloadBytes: number
  /** Headers and payloads of its blocks above the leaves. */
  readonly upperBytes: number
}

/** Collects the entries of one file; see the file header. */
export class IndexWriter {
  readonly #blocks: BlockWriter
  readonly #bytesMax: number
  #entries: Entry[] = []
  #entryBytes = 0
  #leaves: Entry[] = []
  #payloadBytes = 0
  #upperBytes = 0

  /** A block of the index is ended at `bytesMax` bytes. */
  constructor(blocks: BlockWriter, bytesMax: number) {
    this.#blocks = blocks
    this.#bytesMax = bytesMax
  }

  /** Adds a data block with the key of its first cell, and writes a leaf if that fills it. */
  add(key: Buffer, { offset, bytes }: BlockPlace): void {
    this.#entries.push({ key, offset, bytes, dataBlocks: 1 })
    this.#entryBytes += 4 + entryFrameBytes + key.length
    if (this.#entryBytes >= this.#bytesMax) this.#writeLeaf()
  }

  /** Writes the rest of the index: the last leaf, if there is one, and the levels above it. */
  finish(): WrittenIndex {
    let levels = 1
    let entries = this.#entries
    let middle: Buffer[] = []
    if (this.#leaves.length > 0) {
      if (this.#entries.length > 0) this.#writeLeaf()
      levels = 2
      entries = this.#leaves
      middle = [middleOf(entries)]
      while (entries.length > entriesMin && bytesOf(entries) > this.#bytesMax) {
        entries = this.#writeLevel(entries)
        levels++
      }
    }
    const { offset } = this.#write(BlockKind.rootIndex, [...entries.map(rootEntry), ...middle])
    const sizes = { payloadBytes: this.#payloadBytes, upperBytes: this.#upperBytes }
    return { levels, rootOffset: offset, rootEntries: entries.length, ...sizes }
  }

  #writeLeaf(): void {
    this.#leaves.push(this.#writeNode(BlockKind.leafIndex, this.#entries))
    this.#entries = []
    this.#entryBytes = 0
  }

  #writeLevel(entries: readonly Entry[]): Entry[] {
    const parents: Entry[] = []
    let node: Entry[] = []
    for (const entry of entries) {
      node.push(entry)
      if (node.length < entriesMin || bytesOf(node) < this.#bytesMax) continue
      parents.push(this.#writeNode(BlockKind.intermediateIndex, node))
      node = []
    }
    if (node.length > 0) parents.push(this.#writeNode(BlockKind.intermediateIndex, node))
    return parents
  }

  /** A leaf or an intermediate block: the places of its entries stand in front of them. */
  #writeNode(kind: BlockKind, entries: readonly Entry[]): Entry {
    const places = Buffer.alloc(4 * (entries.length + 2))
    places.writeInt32BE(entries.length)
    let end = 0
    for (const [i, { key }] of entries.entries()) {
      end += entryFrameBytes + key.length
      places.writeInt32BE(end, 4 * (i + 2))
    }
    const bodies = entries.flatMap((entry) => [placeOf(entry), entry.key])
    const place = this.#write(kind, [places, ...bodies])
    const dataBlocks = entries.reduce((sum, entry) => sum + entry.dataBlocks, 0)
    return { ...place, key: entries[0].key, dataBlocks }
  }

  #write(kind: BlockKind, parts: readonly Buffer[]): BlockPlace {
    const block = Buffer.concat([Buffer.alloc(headerBytes), ...parts])
    this.#payloadBytes += block.length - headerBytes
    if (kind !== BlockKind.leafIndex) this.#upperBytes += block.length
    return this.#blocks.write(kind, block, block.length)
  }
}

function bytesOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { key }) => sum + entryFrameBytes + 2 + key.length, 0)
}

function placeOf({ offset, bytes }: BlockPlace): Buffer {
  const place = Buffer.alloc(entryFrameBytes)
  place.writeBigInt64BE(BigInt(offset))
  place.writeInt32BE(bytes, 8)
  return place
}

function rootEntry(entry: Entry): Buffer {
  return Buffer.concat([placeOf(entry), writeVlong(entry.key.length), entry.key])
}

/** Where the middle one of the data blocks is: its leaf, and its place there. */
function middleOf(leaves: readonly Entry[]): Buffer {
  const total = leaves.reduce((sum, { dataBlocks }) => sum + dataBlocks, 0)
  let rest = Math.floor((total - 1) / 2)
  let i = 0
  while (rest >= leaves[i].dataBlocks) rest -= leaves[i++].dataBlocks
  const place = Buffer.alloc(4)
  place.writeInt32BE(rest)
  return Buffer.concat([placeOf(leaves[i]), place])
}
