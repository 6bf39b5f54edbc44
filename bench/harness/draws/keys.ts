/** Rows in the formats of the published benchmarks, written without allocating. */
import { Hash64, fnv1a64, modulo } from './fnv.js'
import type { Operation } from '../operation.js'

/** Writes the row of a record's number into a Buffer of its own; see `Operation.makeRow`. */
export interface KeyFormat {
  /** Sets `operation.row`. */
  set(operation: Operation, index: number): void
  /** A new Buffer with the row. */
  make(index: number): Buffer
}

/** Writes the last `count` decimal digits of a non-negative safe integer, with leading zeros. */
export function writeDigits(target: Buffer, start: number, count: number, value: number): void {
  let rest = value
  for (let at = start + count - 1; at >= start; at--) {
    const next = Math.floor(rest / 10)
    target[at] = 0x30 + (rest - next * 10)
    rest = next
  }
}

/** A format whose rows all have the same size. */
export interface FixedKeyFormat extends KeyFormat {
  /** Fills a Buffer of the right size. */
  write(row: Buffer, index: number): void
}

function fixedFormat(bytes: number, write: (row: Buffer, index: number) => void): FixedKeyFormat {
  return {
    write,
    set: (operation, index) => write(operation.makeRow(bytes), index),
    make: (index) => {
      const row = Buffer.alloc(bytes)
      write(row, index)
      return row
    },
  }
}

/** `digits` decimal digits, padded with zeros: 16 in LevelDB's db_bench, 26 in HBase's. */
export function decimalKeys(digits: number): FixedKeyFormat {
  return fixedFormat(digits, (row, index) => writeDigits(row, 0, digits, index))
}

const user = Buffer.from('user')

/** Scratch of {@link ycsbKeys}: keys are made synchronously. */
const hash = new Hash64()
const digits = Buffer.alloc(20)

/**
 * Writes a hash as decimal digits without leading zeros at the end of `digits`; returns the start.
 */
function writeHash({ high, low }: Hash64): number {
  // 63 bits in three steps of long division by 10^9, each exact as a double.
  const billion = 1e9
  const first = Math.floor(high / billion)
  const middle = modulo(high, billion) * 65536 + (low >>> 16)
  const last = modulo(middle, billion) * 65536 + (low & 0xffff)
  const quotient =
    first * 0x1_0000_0000 + Math.floor(middle / billion) * 65536 + Math.floor(last / billion)
  writeDigits(digits, 11, 9, modulo(last, billion))
  writeDigits(digits, 1, 10, quotient)
  let start = 1
  while (start < 19 && digits[start] === 0x30) start++
  return start
}

/** YCSB with `insertorder=hashed`: `user` and the FNV-1a hash of the number, zero padding 1. */
export const ycsbKeys: KeyFormat = {
  set: (operation, index) => {
    fnv1a64(index, hash)
    const start = writeHash(hash)
    const row = operation.makeRow(user.length + 20 - start)
    user.copy(row)
    digits.copy(row, user.length, start)
  },
  make: (index) => {
    fnv1a64(index, hash)
    return Buffer.concat([user, digits.subarray(writeHash(hash))])
  },
}
