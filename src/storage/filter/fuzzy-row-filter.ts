/** The filter that HBase calls FuzzyRowFilter. */
import { isBytes } from '../../base/arguments.js'
import { compareBytes } from '../../base/bytes.js'
import { invalidArgument } from '../../base/errors.js'
import { checked, declareOptions, required, type OptionsOf } from '../../base/options.js'
import { checkList, copyBytes } from './arguments.js'
import { RowKeyFilter } from './filter-base.js'

const patternOptions = declareOptions('a pattern', {
  /** Bytes of the row key. */
  key: required(checked(copyBytes)),
  /** One number per byte of the key: 0 = the row must have this byte, 1 = any byte. */
  mask: required(
    checked((mask: Uint8Array | readonly number[]) => {
      return isBytes(mask) ? mask : checkList(mask, 'mask')
    }),
  ),
})

/** A pattern for rows. */
export interface FuzzyPattern extends OptionsOf<typeof patternOptions> {}

interface Pattern {
  readonly key: Buffer
  /** 0 = this byte, 1 = any byte. */
  readonly mask: Buffer
}

/**
 * Returns the rows that match one of several patterns of fixed and arbitrary bytes (HBase:
 * FuzzyRowFilter). Longer rows are matched by their beginning. Rows shorter than a pattern do not
 * match it; in HBase that depends on where its jumps land. Forward scans jump from candidate to
 * candidate.
 */
export class FuzzyRowFilter extends RowKeyFilter {
  /** Always true. */
  readonly givesHints = true
  private readonly patterns: readonly Pattern[]

  /** Throws `ERR_INVALID_ARGUMENT` for an empty list and for masks that do not fit their key. */
  constructor(patterns: readonly FuzzyPattern[]) {
    super()
    const list = checkList(patterns, 'patterns')
    if (list.length === 0) throw invalidArgument('patterns is empty')
    this.patterns = list.map(checkPattern)
  }

  protected override judge(row: Buffer): boolean {
    for (const { key, mask } of this.patterns) if (matchesFuzzyRow(row, key, mask)) return true
    let best: Buffer | undefined = undefined
    for (const { key, mask } of this.patterns) {
      const next = nextFuzzyRow(row, key, mask, this.reversed)
      if (next === undefined) continue
      if (best === undefined) best = next
      else if (compareBytes(next, 0, next.length, best, 0, best.length) < 0) best = next
    }
    if (best === undefined) this.done = true
    else if (!this.reversed) this.jumpTo(best)
    return false
  }
}

function checkPattern(pattern: FuzzyPattern): Pattern {
  const { key, mask: given } = patternOptions.read(pattern)
  if (given.length !== key.length) {
    throw invalidArgument(`mask must hold ${key.length} numbers, one for each byte of the key`)
  }
  for (const each of given) {
    if (each !== 0 && each !== 1) throw invalidArgument('mask must hold only 0 and 1')
  }
  const mask = Buffer.from(given)
  for (let i = 0; i < given.length; i++) {
    if (mask[i] === 1) key[i] = 0
  }
  return { key, mask }
}

/** Whether a row matches: mask 0 = the byte is fixed, 1 = any byte. */
export function matchesFuzzyRow(row: Uint8Array, key: Uint8Array, mask: Uint8Array): boolean {
  if (row.length < key.length) return false
  for (let i = 0; i < key.length; i++) {
    if (mask[i] === 0 && row[i] !== key[i]) return false
  }
  return true
}

/**
 * The smallest matching string after `row` or, reversed, the largest before it; undefined if there
 * is none. There is no largest string in reverse, so the result is filled with FF up to the length
 * of `row`. REQUIRES that `row` does not match.
 */
export function nextFuzzyRow(
  row: Uint8Array,
  key: Uint8Array,
  mask: Uint8Array,
  reversed: boolean,
): Buffer | undefined {
  const result = Buffer.alloc(reversed ? Math.max(row.length, key.length) : key.length)
  const last = reversed ? 0 : 0xff
  const step = reversed ? -1 : 1
  /** Last index at which an arbitrary byte can be changed by one step. */
  let movable = -1
  let at = 0
  for (; at < key.length; at++) {
    // Strings that are longer than the row are smaller only if an earlier byte is smaller.
    if (reversed && at >= row.length) return moveOn(result, movable, key, mask, step)
    const byte = at < row.length ? row[at] : 0
    if (mask[at] !== 0) {
      result[at] = byte
      if (byte !== last) movable = at
    } else {
      result[at] = key[at]
      const order = (key[at] - byte) * step
      if (order > 0) return fillRest(result, at + 1, key, mask, reversed)
      if (order < 0) return moveOn(result, movable, key, mask, step)
    }
  }
  return result
}

/** Changes the byte at `movable` by one step and chooses the nearest values for the rest. */
function moveOn(
  result: Buffer,
  movable: number,
  key: Uint8Array,
  mask: Uint8Array,
  step: number,
): Buffer | undefined {
  if (movable < 0) return undefined
  result[movable] += step
  return fillRest(result, movable + 1, key, mask, step < 0)
}

function fillRest(
  result: Buffer,
  from: number,
  key: Uint8Array,
  mask: Uint8Array,
  reversed: boolean,
): Buffer {
  for (let i = from; i < result.length; i++) {
    result[i] = i < key.length && mask[i] === 0 ? key[i] : reversed ? 0xff : 0
  }
  return result
}
