/**
 * Comparators of filters (HBase: ByteArrayComparable and its subclasses), given as plain objects.
 *
 * A comparator compares stored bytes with its constant. The result is negative if the stored bytes
 * are smaller, 0 if they are equal or match, and NaN if they cannot be ordered. Only NOT_EQUAL
 * accepts NaN.
 */
import {
  OptionNames,
  checkBoolean,
  checkObject,
  isBytes,
  readArguments,
  shown,
} from '../../base/arguments.js'
import { compareBytes } from '../../base/bytes.js'
import { invalidArgument } from '../../base/errors.js'
import { hasEscape, unescape } from '../cell/cell-key.js'
import { escapeQualifier, type BytesLike } from '../cell/column-name.js'
import { checkFilterCount, copyBytes } from './parse/arguments.js'
import { compareBigDecimals, decodeBigDecimal, parseBigDecimal } from './big-decimal.js'
import {
  makeRegularExpression,
  type RegularExpression,
  type RegularExpressionEngine,
} from './regular-expression.js'
import type { BigDecimal } from './big-decimal.js'

/**
 * A comparator. Bytes alone mean `binary`. Exactly one of the forms:
 *
 * - `binary`: all bytes, unsigned (HBase: BinaryComparator).
 * - `binaryPrefix`: as many leading bytes as the constant has (BinaryPrefixComparator).
 * - `binaryComponent`: the bytes from `offset` on, as many as the constant has
 *   (BinaryComponentComparator); what lies beyond the end of the stored bytes is absent.
 * - `bit`: matches if the bitwise AND, OR or XOR of stored bytes and constant is not all zeros;
 *   different lengths never match (BitComparator).
 * - `long`: eight stored bytes as a signed big-endian number (LongComparator); other lengths are
 *   not comparable.
 * - `bigDecimal`: the constant as decimal text or bigint; stored in HBase's form, see
 *   `encodeBigDecimal` (BigDecimalComparator).
 * - `null`: matches empty values, since null and empty are the same (NullComparator).
 * - `regexString`: finds the expression anywhere in the text (RegexStringComparator); the dot
 *   matches line ends, as in HBase, and a leading `(?i)`, `(?m)`, `(?s)` is understood. `charset`
 *   says how bytes become text: 'utf8' (default) or 'latin1'. `engine` 'linear' (default) is RE2:
 *   its time grows in a straight line with the text, and it has no back-references and no
 *   look-around. 'backtracking' is JavaScript's own engine, which a `RegExp` always takes. WARNING:
 *   that one can take exponential time and blocks the event loop meanwhile; never give it
 *   expressions of people you do not trust.
 * - `substring`: contains the UTF-8 text, ignoring case (SubstringComparator).
 */
export type ComparatorOption =
  | BytesLike
  | {
      /** Compares bytes. */
      readonly binary: BytesLike
    }
  | {
      /** Compares the first bytes, as many as given. */
      readonly binaryPrefix: BytesLike
    }
  | {
      /** Compares bytes at `offset`. */
      readonly binaryComponent: BytesLike
      /** Where the bytes begin. */
      readonly offset: number
    }
  | {
      /** Combines the bytes with these; equal if a bit is left. */
      readonly bit: BytesLike
      /** How bits are combined. */
      readonly operator: 'AND' | 'OR' | 'XOR'
    }
  | {
      /** Compares signed numbers of 8 bytes. */
      readonly long: number | bigint
    }
  | {
      /** Compares numbers in the form of Java's BigDecimal. */
      readonly bigDecimal: string | bigint
    }
  | {
      /** Compares with the absence of a value. */
      readonly null: true
    }
  | {
      /** A regular expression as text. */
      readonly regexString: string | RegExp
      /** Character set of the stored text. Default UTF-8. */
      readonly charset?: 'utf8' | 'latin1'
      /** Whether upper and lower case count as equal. */
      readonly ignoreCase?: boolean
      /** Whose regular expressions. */
      readonly engine?: RegularExpressionEngine
    }
  | {
      /** Text that must occur; case is ignored. */
      readonly substring: string
    }

/** The result of {@link makeComparator}. */
export abstract class Comparator {
  /** Name for messages. */
  abstract readonly name: string
  /** False if the comparator can only tell "matches" from "does not match". */
  readonly orders: boolean

  constructor(orders: boolean) {
    this.orders = orders
  }

  /** Compares plain bytes with the constant. */
  abstract compare(source: Buffer, start: number, end: number): number

  /** Compares escaped bytes with the constant. */
  compareEscaped(source: Buffer, start: number, end: number): number {
    if (!hasEscape(source, start, end)) return this.compare(source, start, end)
    const plain = unescape(source, start, end)
    return this.compare(plain, 0, plain.length)
  }
}

class BinaryComparator extends Comparator {
  readonly name = 'binary'
  private readonly constant: Buffer
  private readonly escaped: Buffer

  constructor(constant: BytesLike) {
    super(true)
    this.constant = copyBytes(constant, 'binary')
    this.escaped = escapeQualifier(this.constant)
  }

  compare(source: Buffer, start: number, end: number): number {
    return compareBytes(source, start, end, this.constant, 0, this.constant.length)
  }

  override compareEscaped(source: Buffer, start: number, end: number): number {
    return compareBytes(source, start, end, this.escaped, 0, this.escaped.length)
  }
}

class BinaryComponentComparator extends Comparator {
  readonly name: string
  private readonly constant: Buffer
  private readonly offset: number

  constructor(name: string, constant: BytesLike, offset: number) {
    super(true)
    this.name = name
    this.constant = copyBytes(constant, name)
    this.offset = checkFilterCount(offset, 'offset')
  }

  compare(source: Buffer, start: number, end: number): number {
    const from = Math.min(end, start + this.offset)
    const to = Math.min(end, from + this.constant.length)
    return compareBytes(source, from, to, this.constant, 0, this.constant.length)
  }
}

class BitComparator extends Comparator {
  readonly name = 'bit'
  private readonly constant: Buffer
  private readonly operator: 'AND' | 'OR' | 'XOR'

  constructor(constant: BytesLike, operator: 'AND' | 'OR' | 'XOR') {
    super(false)
    this.constant = copyBytes(constant, 'bit')
    if (operator !== 'AND' && operator !== 'OR' && operator !== 'XOR') {
      throw invalidArgument(`operator of bit must be AND, OR or XOR, got ${shown(operator)}`)
    }
    this.operator = operator
  }

  compare(source: Buffer, start: number, end: number): number {
    const constant = this.constant
    if (end - start !== constant.length) return -1
    const operator = this.operator
    for (let i = 0; i < constant.length; i++) {
      const a = source[start + i]
      const b = constant[i]
      const bits = operator === 'AND' ? a & b : operator === 'OR' ? a | b : a ^ b
      if (bits !== 0) return 0
    }
    return -1
  }
}

class LongComparator extends Comparator {
  readonly name = 'long'
  private readonly high: number
  private readonly low: number

  constructor(constant: number | bigint) {
    super(true)
    const isInteger = typeof constant === 'bigint' || Number.isSafeInteger(constant)
    if (!isInteger || BigInt.asIntN(64, BigInt(constant)) !== BigInt(constant)) {
      throw invalidArgument(`long must be a 64-bit integer, got ${shown(constant)}`)
    }
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64BE(BigInt(constant))
    this.high = bytes.readInt32BE(0)
    this.low = bytes.readUInt32BE(4)
  }

  compare(source: Buffer, start: number, end: number): number {
    if (end - start !== 8) return NaN
    const high = source.readInt32BE(start)
    return high === this.high ? source.readUInt32BE(start + 4) - this.low : high - this.high
  }
}

class BigDecimalComparator extends Comparator {
  readonly name = 'bigDecimal'
  private readonly constant: BigDecimal

  constructor(constant: string | bigint) {
    super(true)
    this.constant = parseBigDecimal(constant)
  }

  compare(source: Buffer, start: number, end: number): number {
    const stored = decodeBigDecimal(source, start, end)
    return stored === undefined ? NaN : compareBigDecimals(stored, this.constant)
  }
}

class NullComparator extends Comparator {
  readonly name = 'null'

  constructor() {
    super(false)
  }

  compare(_source: Buffer, start: number, end: number): number {
    return start === end ? 0 : -1
  }
}

class RegexStringComparator extends Comparator {
  readonly name = 'regexString'
  private readonly expression: RegularExpression
  private readonly charset: 'utf8' | 'latin1'

  constructor({ regexString, charset, ignoreCase, engine }: ComparatorParts) {
    super(false)
    if (charset !== undefined && charset !== 'utf8' && charset !== 'latin1') {
      throw invalidArgument(`charset must be 'utf8' or 'latin1', got ${shown(charset)}`)
    }
    this.charset = charset ?? 'utf8'
    const ignoresCase = checkBoolean(ignoreCase, 'ignoreCase', false)
    this.expression = makeRegularExpression(regexString!, ignoresCase, engine)
  }

  compare(source: Buffer, start: number, end: number): number {
    return this.expression.test(source.toString(this.charset, start, end)) ? 0 : -1
  }
}

class SubstringComparator extends Comparator {
  readonly name = 'substring'
  private readonly text: string

  constructor(text: string) {
    super(false)
    if (typeof text !== 'string') {
      throw invalidArgument(`substring must be a string, got ${shown(text)}`)
    }
    this.text = text.toLowerCase()
  }

  compare(source: Buffer, start: number, end: number): number {
    return source.toString('utf8', start, end).toLowerCase().includes(this.text) ? 0 : -1
  }
}

/** The properties of all forms together. */
interface ComparatorParts {
  readonly binary?: BytesLike
  readonly binaryPrefix?: BytesLike
  readonly binaryComponent?: BytesLike
  readonly offset?: number
  readonly bit?: BytesLike
  readonly operator?: 'AND' | 'OR' | 'XOR'
  readonly long?: number | bigint
  readonly bigDecimal?: string | bigint
  readonly null?: true
  readonly regexString?: string | RegExp
  readonly charset?: 'utf8' | 'latin1'
  readonly ignoreCase?: boolean
  readonly engine?: RegularExpressionEngine
  readonly substring?: string
}

interface Form {
  readonly names: OptionNames<ComparatorParts>
  readonly make: (parts: ComparatorParts) => Comparator
}

function form(
  name: keyof ComparatorParts,
  others: readonly (keyof ComparatorParts)[],
  make: Form['make'],
): [string, Form] {
  const entries = [name, ...others].map((each) => [each, true])
  const known = Object.fromEntries(entries) as Record<keyof ComparatorParts, true>
  return [name, { names: new OptionNames<ComparatorParts>(`a comparator {${name}}`, known), make }]
}

const forms: ReadonlyMap<string, Form> = new Map([
  form('binary', [], (parts) => new BinaryComparator(parts.binary!)),
  form('binaryPrefix', [], (parts) => {
    return new BinaryComponentComparator('binaryPrefix', parts.binaryPrefix!, 0)
  }),
  form('binaryComponent', ['offset'], (parts) => {
    return new BinaryComponentComparator('binaryComponent', parts.binaryComponent!, parts.offset!)
  }),
  form('bit', ['operator'], (parts) => new BitComparator(parts.bit!, parts.operator!)),
  form('long', [], (parts) => new LongComparator(parts.long!)),
  form('bigDecimal', [], (parts) => new BigDecimalComparator(parts.bigDecimal!)),
  form('null', [], (parts) => {
    if (parts.null === true) return new NullComparator()
    throw invalidArgument(`null of a comparator can only be true, got ${shown(parts.null)}`)
  }),
  form('regexString', ['charset', 'ignoreCase', 'engine'], (parts) => {
    return new RegexStringComparator(parts)
  }),
  form('substring', [], (parts) => new SubstringComparator(parts.substring!)),
])

/** Makes a comparator. Throws `ERR_INVALID_ARGUMENT` if `option` is none. */
export function makeComparator(option: ComparatorOption): Comparator {
  if (typeof option === 'string' || isBytes(option)) return new BinaryComparator(option)
  return readArguments(() => {
    const parts: ComparatorParts = { ...checkObject(option, 'comparator') }
    for (const [name, { names, make }] of forms) {
      if (name in parts) return make(names.check(parts))
    }
    throw invalidArgument(
      `comparator must be bytes or one of ${[...forms.keys()].map((name) => `{${name}}`).join(', ')}`,
    )
  })
}
