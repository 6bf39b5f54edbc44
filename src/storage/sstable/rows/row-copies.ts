/**
 * Copies of rows whose cells lie in several sources, or in a memtable: as each row is now, put
 * together by a read, for the next read of the row. {@link RowLocations} leads to the copies.
 *
 * The memory is a ring of segments, each with an address ({@link BlockAddresses}). A new copy goes
 * to the end of the newest segment. If no segment may be added, the oldest one is used again with
 * another generation, and its copies are found no more.
 *
 * A copy is `[f64 sequence][entries]`: reads at this sequence and later ones see the entries, which
 * lie side by side as in a data block. All of them are plain puts, one of each column. A copy is
 * valid until a cell of its row is written; the writer tells {@link RowLocations}.
 *
 * Ownership: the memory belongs to the ring. A reader copies the entries in the call that found
 * them.
 */
import { emptyBytes } from '../../../base/bytes.js'
import type { BlockAddresses } from '../blocks/block-addresses.js'

/** Bounds of the size of a segment, and the number of segments between the bounds. */
const segmentBytesMin = 256
const segmentBytesMax = 256 * 1024
const segmentsWanted = 16

/** The largest part of a segment that a copy may take. */
const copyFraction = 1 / 4

/** Bytes of the sequence before the entries. */
const sequenceBytes = 8

export class RowCopies {
  /** Result of {@link reserve}: the memory, and where the entries begin. */
  memory: Buffer = emptyBytes
  start = 0
  /** Result of {@link reserve}: the address of the memory. */
  address = 0
  private readonly addresses: BlockAddresses
  private segmentBytes = 0
  private segmentsMax = 0
  private readonly segments: Buffer[] = []
  private readonly segmentAddresses: number[] = []
  /** Index of the segment that is being filled. */
  private newest = -1
  /** Bytes used of the newest segment. */
  private used = 0

  /** Allocates up to `bytesMax` bytes; below 256 no copy is kept. */
  constructor(addresses: BlockAddresses, bytesMax: number) {
    this.addresses = addresses
    this.resize(bytesMax)
  }

  /** Number of allocated bytes. */
  get bytes(): number {
    return this.segments.length * this.segmentBytes
  }

  /** Changes the bound; drops all copies if they take more, or segments change their size. */
  resize(bytesMax: number): void {
    const bytes = 2 ** Math.floor(Math.log2(Math.max(1, bytesMax / segmentsWanted)))
    const segmentBytes = Math.max(segmentBytesMin, Math.min(segmentBytesMax, bytes))
    this.segmentsMax = Math.floor(bytesMax / segmentBytes)
    if (segmentBytes === this.segmentBytes && this.segments.length <= this.segmentsMax) return
    this.segmentBytes = segmentBytes
    for (const address of this.segmentAddresses) this.addresses.remove(address)
    this.segments.length = 0
    this.segmentAddresses.length = 0
    this.newest = -1
    this.memory = emptyBytes
  }

  /** Reserves memory for a copy with `bytes` bytes of entries; false: it is not kept. */
  reserve(bytes: number, sequence: number): boolean {
    const { segmentBytes } = this
    if (sequenceBytes + bytes > segmentBytes * copyFraction || this.segmentsMax === 0) return false
    if (this.newest < 0 || this.used + sequenceBytes + bytes > segmentBytes) this.startSegment()
    this.memory = this.segments[this.newest]
    this.address = this.segmentAddresses[this.newest]
    this.memory.writeDoubleLE(sequence, this.used)
    this.start = this.used + sequenceBytes
    this.used = (this.start + bytes + sequenceBytes - 1) & -sequenceBytes
    return true
  }

  private startSegment(): void {
    const { addresses, segments, segmentAddresses } = this
    this.used = 0
    if (segments.length < this.segmentsMax) {
      this.newest = segments.length
      segments.push(Buffer.allocUnsafeSlow(this.segmentBytes))
    } else {
      // The segment behind the newest one is the oldest.
      this.newest = (this.newest + 1) % segments.length
      addresses.remove(segmentAddresses[this.newest])
    }
    segmentAddresses[this.newest] = addresses.add(segments[this.newest])
  }
}

/** The sequence from which on reads see the copy with entries at `start`. */
export function copySequence(memory: Buffer, start: number): number {
  return memory.readDoubleLE(start - sequenceBytes)
}
