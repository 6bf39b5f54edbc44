/**
 * A Bloom filter with one 512-bit line per key, so that a lookup costs one cache miss.
 *
 * The high half of a key's hash chooses the line. The low half, repeatedly multiplied by an odd
 * constant, gives the bits: the top nine bits of each product. At 10 bits a key it sets 6 bits of
 * one line, and about 1 % of absent keys pass (FORMAT.md has the measured rates). Keys that were
 * added always pass.
 */
import { assert } from '../../base/assert.js'
import type { Hash64 } from '../../base/hash.js'
import { growNumbers } from './grow.js'
import { sectionBytesMax } from './format.js'

/** Size of a line in bytes. Part of the disk format: never change. */
const lineBytes = 64
/** Odd, close to 2^32 divided by the golden ratio. Part of the disk format: never change. */
const multiplier = 0x9e37_79b9
/** Maximum number of bits per key. Part of the disk format: never change. */
const probesMax = 16

/**
 * Number of bits that each key sets, by the filter's bits per key. Less than the theoretical
 * optimum, because lines fill unevenly.
 */
function probesFor(bitsPerKey: number): number {
  return Math.min(probesMax, Math.max(1, Math.round(bitsPerKey * 0.6)))
}

function lineOffset(hashHigh: number, lines: number): number {
  return Math.floor(((hashHigh >>> 0) / 0x1_0000_0000) * lines) * lineBytes
}

/** Collects hashes and builds the filter once their number is known. */
export class FilterBuilder {
  private readonly bitsPerKey: number
  private hashes = new Uint32Array(1024)
  private used = 0

  /** REQUIRES bitsPerKey > 0. */
  constructor(bitsPerKey: number) {
    assert(bitsPerKey > 0, 'filter: bits per key')
    this.bitsPerKey = bitsPerKey
  }

  /** Number of hashes; consecutive equal hashes count once. */
  get keyCount(): number {
    return this.used / 2
  }

  /** Adds a key by its hash. Does not keep the object. */
  add(hash: Hash64): void {
    const { used } = this
    const low = hash.low >>> 0
    const high = hash.high >>> 0
    // The cells of a row come as consecutive equal keys.
    if (used > 0 && this.hashes[used - 2] === low && this.hashes[used - 1] === high) return
    if (used + 2 > this.hashes.length) this.hashes = growNumbers(this.hashes, used + 2)
    this.hashes[used] = low
    this.hashes[used + 1] = high
    this.used = used + 2
  }

  /** The payload of the section: whole lines, then the number of probes as one byte. */
  finish(): Buffer {
    const { hashes, used } = this
    const probes = probesFor(this.bitsPerKey)
    const wanted = Math.ceil((this.keyCount * this.bitsPerKey) / (lineBytes * 8))
    const lines = Math.min(Math.max(1, wanted), Math.floor(sectionBytesMax / lineBytes) - 1)
    const payload = Buffer.alloc(lines * lineBytes + 1)
    for (let i = 0; i < used; i += 2) {
      const line = lineOffset(hashes[i + 1], lines)
      let product = hashes[i]
      for (let probe = 0; probe < probes; probe++) {
        const bit = product >>> 23
        payload[line + (bit >>> 3)] |= 1 << (bit & 7)
        product = Math.imul(product, multiplier)
      }
    }
    payload[lines * lineBytes] = probes
    return payload
  }
}

/** A filter read from a file. */
export class Filter {
  private readonly bits: Buffer
  private readonly lines: number
  private readonly probes: number

  private constructor(bits: Buffer, lines: number, probes: number) {
    this.bits = bits
    this.lines = lines
    this.probes = probes
  }

  /** Takes over a payload of {@link FilterBuilder.finish}; undefined if it is malformed. */
  static decode(payload: Buffer): Filter | undefined {
    const lines = (payload.length - 1) / lineBytes
    if (!Number.isInteger(lines) || lines < 1) return undefined
    const probes = payload[payload.length - 1]
    if (probes < 1 || probes > probesMax) return undefined
    return new Filter(payload, lines, probes)
  }

  /** Size in memory. */
  get bytes(): number {
    return this.bits.length
  }

  /** False only if no key with this hash was added. */
  mayContain(hash: Hash64): boolean {
    const { bits, probes } = this
    const line = lineOffset(hash.high, this.lines)
    let product = hash.low | 0
    for (let probe = 0; probe < probes; probe++) {
      const bit = product >>> 23
      if ((bits[line + (bit >>> 3)] & (1 << (bit & 7))) === 0) return false
      product = Math.imul(product, multiplier)
    }
    return true
  }
}
