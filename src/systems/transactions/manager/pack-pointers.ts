/** Packs write pointers for jobs: prune-job/packed-pointers.ts. */
import type { PackedPointers } from '../prune-job/packed-pointers.js'

/** Packs write pointers in any order; pointers that are not positive are left out. */
export function packPointers(pointers: Iterable<bigint>): PackedPointers {
  if (pointers instanceof BigUint64Array || pointers instanceof BigInt64Array) {
    const packed = splitHalves(pointers)
    if (isAscending(packed)) return packed
  }
  const sorted = BigUint64Array.from(new Set([...pointers].filter((pointer) => pointer > 0n)))
  return splitHalves(sorted.sort())
}

/** The largest of some packed pointers, or undefined if there are none. */
export function largestPointer({ count, high, low }: PackedPointers): bigint | undefined {
  return count === 0 ? undefined : (BigInt(high[count - 1]) << 32n) | BigInt(low[count - 1])
}

/** Allocates no bigint per pointer: a million of them would block the event loop. */
function splitHalves(pointers: BigUint64Array | BigInt64Array): PackedPointers {
  const count = pointers.length
  const words = new Uint32Array(pointers.buffer, pointers.byteOffset, 2 * count)
  const lowWord = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 0 : 1
  const high = new Uint32Array(count)
  const low = new Uint32Array(count)
  for (let i = 0; i < count; i++) {
    low[i] = words[2 * i + lowWord]
    high[i] = words[2 * i + 1 - lowWord]
  }
  return { count, high, low }
}

/** Whether pointers ascend strictly, and all are positive as signed numbers. */
function isAscending({ count, high, low }: PackedPointers): boolean {
  for (let i = 0; i < count; i++) {
    if (high[i] > 0x7fff_ffff) return false
    const previousHigh = i === 0 ? 0 : high[i - 1]
    const previousLow = i === 0 ? 0 : low[i - 1]
    if (high[i] < previousHigh || (high[i] === previousHigh && low[i] <= previousLow)) return false
  }
  return true
}
