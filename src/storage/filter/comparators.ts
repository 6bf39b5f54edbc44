/**
 * Comparators of filters (HBase: ByteArrayComparable and its subclasses), given as plain objects.
 * Each form is an entry of the table `forms`.
 */
import { checkObject, isBytes, readArguments, shown } from '../../base/arguments.js'
import { compareBytes } from '../../base/bytes.js'
import { invalidArgument } from '../../base/errors.js'
import {
  boolean,
  checked,
  choice,
  declareOptions,
  required,
  type Declared,
  type GivenOptions,
  type Settings,
} from '../../base/options.js'
import { escapeQualifier, type BytesLike } from '../cell/column-name.js'
import { compareBigDecimals, decodeBigDecimal, parseBigDecimal } from './big-decimal.js'
import { checkFilterCount, copyBytes } from './arguments.js'
import { makeRegularExpression, type RegularExpressionEngine } from './regular-expression.js'

/** A comparator: bytes alone mean `binary`, otherwise exactly one of the forms. */
export type ComparatorOption =
  | BytesLike
  | {
      /** Compares all bytes, unsigned (HBase: BinaryComparator). */
      readonly binary: BytesLike
    }
  | {
      /** Compares as many leading bytes as given (BinaryPrefixComparator). */
      readonly binaryPrefix: BytesLike
    }
  | {
      /** Compares as many bytes as given, from `offset` on (BinaryComponentComparator). */
      readonly binaryComponent: BytesLike
      /** Start of these bytes; what lies beyond the end of the stored bytes is absent. */
      readonly offset: number
    }
  | {
      /** Matches bytes of equal length if the combination is not all zeros (BitComparator). */
      readonly bit: BytesLike
      /** The bitwise combination of the stored bytes with these. */
      readonly operator: 'AND' | 'OR' | 'XOR'
    }
  | {
      /** Compares eight bytes as a signed big-endian number (LongComparator). */
      readonly long: number | bigint
    }
  | {
      /** Decimal text or a bigint; stored as by `encodeBigDecimal` (BigDecimalComparator). */
      readonly bigDecimal: string | bigint
    }
  | {
      /** Matches empty values, since null and empty are the same (NullComparator). */
      readonly null: true
    }
  | {
      /**
       * Finds the expression anywhere in the text (RegexStringComparator). The dot matches line
       * ends, as in HBase, and a leading `(?i)`, `(?m)`, `(?s)` is understood.
       */
      readonly regexString: string | RegExp
      /** Character set of the stored text. Default 'utf8'. */
      readonly charset?: 'utf8' | 'latin1'
      /** Whether upper and lower case count as equal. Default false. */
      readonly ignoreCase?: boolean
      /**
       * 'linear' (default) is RE2: its time grows in a straight line with the text, and it has no
       * back-references and no look-around. 'backtracking' is JavaScript's own engine, which a
       * `RegExp` always takes. WARNING: that one can take exponential time and blocks the event
       * loop meanwhile; never give it expressions of people you do not trust.
       */
      readonly engine?: RegularExpressionEngine
    }
  | {
      /** UTF-8 text that must occur; case is ignored (SubstringComparator). */
      readonly substring: string
    }

/**
 * Compares `source[start, end)` with the constant. Negative: the stored bytes are smaller; 0: they
 * are equal or match; NaN: they cannot be ordered, which only NOT_EQUAL accepts.
 */
type Compare = (source: Buffer, start: number, end: number) => number

/** A comparator with its constant. */
export interface Comparator {
  /** Name for messages. */
  readonly name: string
  /** False if the comparator can only tell "matches" from "does not match". */
  readonly orders: boolean
  readonly compare: Compare
  /** The constant in escaped form, which orders escaped bytes; undefined: there is none. */
  readonly escaped?: Buffer
}

type Made = Omit<Comparator, 'name'>
type Form = (name: string, given: object) => Made

function form<D extends Declared>(declared: D, make: (settings: Settings<D>) => Made): Form {
  return (name, given) => {
    const options = declareOptions(`a comparator {${name}}`, declared)
    return make(options.read(given as GivenOptions<D>))
  }
}

/** Compares as many bytes as the constant has, from an offset on. */
function comparePart(constant: Buffer, offset: number): Made {
  const compare: Compare = (source, start, end) => {
    const from = Math.min(end, start + offset)
    const to = Math.min(end, from + constant.length)
    return compareBytes(source, from, to, constant, 0, constant.length)
  }
  return { orders: true, compare }
}

/** A comparator without an order. */
function matching(matches: (source: Buffer, start: number, end: number) => boolean): Made {
  return { orders: false, compare: (source, start, end) => (matches(source, start, end) ? 0 : -1) }
}

/** Checks an integer of 64 bits, and returns its bytes. */
function checkLong(value: number | bigint, what: string): Buffer {
  const bytes = Buffer.alloc(8)
  const isInteger = typeof value === 'bigint' || Number.isSafeInteger(value)
  if (isInteger && BigInt.asIntN(64, BigInt(value)) === BigInt(value)) {
    bytes.writeBigInt64BE(BigInt(value))
    return bytes
  }
  throw invalidArgument(`${what} must be a 64-bit integer, got ${shown(value)}`)
}

const bytes = required(checked(copyBytes))
const bitOperators = {
  AND: (a: number, b: number) => a & b,
  OR: (a: number, b: number) => a | b,
  XOR: (a: number, b: number) => a ^ b,
}

const forms: Readonly<Record<string, Form>> = {
  binary: form({ binary: bytes }, ({ binary }) => ({
    orders: true,
    compare: (source, start, end) => compareBytes(source, start, end, binary, 0, binary.length),
    escaped: escapeQualifier(binary),
  })),
  binaryPrefix: form({ binaryPrefix: bytes }, ({ binaryPrefix }) => comparePart(binaryPrefix, 0)),
  binaryComponent: form(
    { binaryComponent: bytes, offset: required(checked(checkFilterCount)) },
    ({ binaryComponent, offset }) => comparePart(binaryComponent, offset),
  ),
  bit: form(
    { bit: bytes, operator: required(choice(['AND', 'OR', 'XOR'], undefined)) },
    ({ bit, operator }) => {
      const combine = bitOperators[operator]
      return matching((source, start, end) => {
        if (end - start !== bit.length) return false
        for (let i = 0; i < bit.length; i++)
          if (combine(source[start + i], bit[i]) !== 0) return true
        return false
      })
    },
  ),
  long: form({ long: required(checked(checkLong)) }, ({ long }) => {
    const high = long.readInt32BE(0)
    const low = long.readUInt32BE(4)
    const compare: Compare = (source, start, end) => {
      if (end - start !== 8) return NaN
      const order = source.readInt32BE(start) - high
      return order === 0 ? source.readUInt32BE(start + 4) - low : order
    }
    return { orders: true, compare }
  }),
  bigDecimal: form({ bigDecimal: required(checked(parseBigDecimal)) }, ({ bigDecimal }) => ({
    orders: true,
    compare: (source, start, end) => {
      const stored = decodeBigDecimal(source, start, end)
      return stored === undefined ? NaN : compareBigDecimals(stored, bigDecimal)
    },
  })),
  null: form({ null: required(boolean(false)) }, (given) => {
    if (given.null) return matching((_, start, end) => start === end)
    throw invalidArgument('null of a comparator can only be true, got false')
  }),
  regexString: form(
    {
      regexString: required(checked((value: string | RegExp) => value)),
      charset: choice(['utf8', 'latin1'], 'utf8'),
      ignoreCase: boolean(false),
      engine: choice(['linear', 'backtracking'], undefined),
    },
    ({ regexString, charset, ignoreCase, engine }) => {
      const expression = makeRegularExpression(regexString, ignoreCase, engine)
      return matching((source, start, end) => {
        return expression.test(source.toString(charset, start, end))
      })
    },
  ),
  substring: form({ substring: required(checked(checkString)) }, ({ substring }) => {
    const text = substring.toLowerCase()
    return matching((source, start, end) => {
      return source.toString('utf8', start, end).toLowerCase().includes(text)
    })
  }),
}

function checkString(value: string, what: string): string {
  if (typeof value === 'string') return value
  throw invalidArgument(`${what} must be a string, got ${shown(value)}`)
}

/** Makes a comparator. Throws `ERR_INVALID_ARGUMENT` if `option` is none. */
export function makeComparator(option: ComparatorOption): Comparator {
  const given = typeof option === 'string' || isBytes(option) ? { binary: option } : option
  return readArguments(() => {
    const parts: object = { ...checkObject(given, 'comparator') }
    const name = Object.keys(forms).find((each) => each in parts)
    if (name !== undefined) return { name, ...forms[name](name, parts) }
    const known = Object.keys(forms).map((each) => `{${each}}`)
    throw invalidArgument(`comparator must be bytes or one of ${known.join(', ')}`)
  })
}
