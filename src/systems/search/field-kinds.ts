/**
 * Kinds of fields by name, and the index terms of their values.
 *
 * A term is a string with one character per byte, so the order of JavaScript strings is the order
 * of the bytes. The bytes of a text are its UTF-8 form. A number has eight bytes, which sort as the
 * numbers do. Times are ISO 8601 in UTC or NOW, followed by date math.
 */
import { checkChoice, invalidArgument, isText, shown } from '../../api/index.js'
import { keyParts, type KeyPart } from '../../comfort/keys/key-parts.js'
import { reservedFields } from './search-backend.js'

/** How a field is indexed: `text` by its words, all others by the whole value. */
export type FieldKind = 'text' | 'literal' | 'long' | 'double' | 'date' | 'boolean'

/** All kinds; the index of a kind is its number in stored segments. */
export const fieldKindNames: readonly FieldKind[] = [
  'text',
  'literal',
  'long',
  'double',
  'date',
  'boolean',
]

/** Kinds by field name. A pattern is a name, or an ending or a beginning with a star. */
export type FieldPatterns = Readonly<Record<string, FieldKind>>

/** The default patterns of an index; `_mv` is for fields with several values. */
export const defaultFieldPatterns: FieldPatterns = {
  ...ending('_t', 'text'),
  ...ending('_s', 'literal'),
  ...ending('_i', 'long'),
  ...ending('_l', 'long'),
  ...ending('_f', 'double'),
  ...ending('_d', 'double'),
  ...ending('_dt', 'date'),
  ...ending('_b', 'boolean'),
}

function ending(suffix: string, kind: FieldKind): FieldPatterns {
  return { [`*${suffix}`]: kind, [`*${suffix}_mv`]: kind }
}

const reserved: FieldPatterns = {
  ...Object.fromEntries(Object.values(reservedFields).map((name) => [name, 'literal'] as const)),
  [reservedFields.version]: 'long',
}

/** Maximum length of a term in bytes, as in Lucene. */
export const termBytesMax = 32_766

/** Kinds of the fields of one index. */
export class FieldKinds {
  readonly #names = new Map<string, FieldKind>(Object.entries(reserved))
  /** Longest first, so that the longest matching pattern wins. */
  readonly #patterns: { readonly part: string; readonly isEnding: boolean; kind: FieldKind }[] = []
  readonly #others: FieldKind | undefined

  /** `others` is the kind of fields that match no pattern; undefined refuses them. */
  constructor(patterns: FieldPatterns, others: FieldKind | undefined) {
    for (const [pattern, kind] of Object.entries(patterns)) {
      checkChoice(kind, `fields['${pattern}']`, fieldKindNames)
      const stars = pattern.split('*').length - 1
      if (Object.hasOwn(reserved, pattern) || pattern === '' || stars > 1) throw wrong(pattern)
      if (stars === 0) this.#names.set(pattern, kind)
      else if (pattern.startsWith('*')) {
        this.#patterns.push({ part: pattern.slice(1), isEnding: true, kind })
      } else if (pattern.endsWith('*')) {
        this.#patterns.push({ part: pattern.slice(0, -1), isEnding: false, kind })
      } else throw wrong(pattern)
    }
    this.#patterns.sort((a, b) => b.part.length - a.part.length)
    this.#others = others
  }

  /** The kind of a field; undefined if the index has no such field. */
  of(name: string): FieldKind | undefined {
    const named = this.#names.get(name)
    if (named !== undefined) return named
    for (const { part, isEnding, kind } of this.#patterns) {
      if (isEnding ? name.endsWith(part) : name.startsWith(part)) return kind
    }
    return this.#others
  }
}

function wrong(pattern: string): Error {
  return invalidArgument(
    `fields has names, *endings and beginnings*, none of them reserved; got ${shown(pattern)}`,
  )
}

const plainAscii = /^[\0-\x7f]*$/

/** The term of a text: its UTF-8 bytes, one character each. */
export function textTerm(text: string): string {
  return plainAscii.test(text) ? text : Buffer.from(text, 'utf8').toString('latin1')
}

const eight = Buffer.alloc(8)

/** The term of a whole value. `ERR_INVALID_ARGUMENT` if the value is not valid for the kind. */
export function termOf(kind: Exclude<FieldKind, 'text'>, value: string, now: number): string {
  switch (kind) {
    case 'literal': {
      if (!isText(value)) throw invalidArgument('a value has a surrogate without its other half')
      const term = textTerm(value)
      if (term.length > termBytesMax) {
        throw invalidArgument(`a value has ${term.length} bytes; at most ${termBytesMax} fit`)
      }
      return term
    }
    case 'long': {
      const trimmed = value.trim()
      const number = /^[+-]?\d{1,30}$/.test(trimmed)
        ? BigInt(trimmed.replace(/^\+/, ''))
        : undefined
      if (number === undefined || BigInt.asIntN(64, number) !== number) {
        throw invalidArgument(`${shown(value)} is no whole number of 64 bits`)
      }
      return numberTerm(keyParts.int64, number)
    }
    case 'double': {
      const number = /^\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*$/.test(value)
        ? Number(value)
        : NaN
      if (!Number.isFinite(number)) throw invalidArgument(`${shown(value)} is no finite number`)
      // Adding 0 turns -0 into 0, so both have the same term.
      return numberTerm(keyParts.double, number + 0)
    }
    case 'date':
      return numberTerm(keyParts.int64, BigInt(parseTime(value.trim(), now)))
    case 'boolean': {
      const text = value.trim().toLowerCase()
      if (text === 'true') return '\x01'
      if (text === 'false') return '\0'
      throw invalidArgument(`${shown(value)} is neither true nor false`)
    }
  }
}

function numberTerm<T>(part: KeyPart<T>, number: T): string {
  part.write(eight, 0, number, 'a value', false)
  return eight.toString('latin1')
}

const iso = /^(-?\d{4,6}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z)/
const step = /^(?:\/([A-Z]+)|([+-]\d{1,9})([A-Z]+))/

const day = 86_400_000

/** Lengths of units: months for those without a fixed number of milliseconds. */
const units: Readonly<Record<string, { readonly months: number; readonly milliseconds: number }>> =
  {
    YEAR: { months: 12, milliseconds: 0 },
    MONTH: { months: 1, milliseconds: 0 },
    DAY: { months: 0, milliseconds: day },
    DATE: { months: 0, milliseconds: day },
    HOUR: { months: 0, milliseconds: 3_600_000 },
    MINUTE: { months: 0, milliseconds: 60_000 },
    SECOND: { months: 0, milliseconds: 1000 },
    MILLI: { months: 0, milliseconds: 1 },
    MILLISECOND: { months: 0, milliseconds: 1 },
  }

/**
 * Parses a text such as `2020-02-29T12:00:00Z`, `2020-02-29T12:00:00Z/DAY` or `NOW/DAY+1MONTH` into
 * milliseconds since 1970. Throws `ERR_INVALID_ARGUMENT`.
 */
export function parseTime(text: string, now: number): number {
  const fixed = iso.exec(text)
  let rest: string
  let time: Date
  if (fixed !== null) {
    time = new Date(isoForm(fixed[1]))
    rest = text.slice(fixed[1].length)
  } else if (text.startsWith('NOW')) {
    time = new Date(now)
    rest = text.slice(3)
  } else throw notATime(text)
  // Date corrects 30 February to 1 March instead of refusing it.
  if (fixed !== null && time.getUTCDate() !== Number(/-(\d{2})T/.exec(fixed[1])?.[1])) {
    throw notATime(text)
  }
  for (let steps = 0; rest !== ''; steps++) {
    const found = step.exec(rest)
    const name = (found?.[1] ?? found?.[3] ?? '').replace(/S$/, '')
    const unit = Object.hasOwn(units, name) ? units[name] : undefined
    if (found === null || unit === undefined || steps > 20) throw notATime(text)
    if (found[2] === undefined) round(time, unit)
    else add(time, unit, Number(found[2]))
    rest = rest.slice(found[0].length)
  }
  const milliseconds = time.getTime()
  if (Number.isNaN(milliseconds)) throw notATime(text)
  return milliseconds
}

/** Converts years and fractions of a second into the form that `Date` parses. */
function isoForm(text: string): string {
  const [, sign, year, rest] = /^(-?)(\d{4,6})(.*)Z$/.exec(text)!
  const isLong = sign !== '' || year.length > 4
  const whole = isLong ? `${sign === '' ? '+' : '-'}${year.padStart(6, '0')}` : year
  return `${whole}${rest.replace(/(\.\d{3})\d+$/, '$1')}Z`
}

function round(time: Date, { months, milliseconds }: (typeof units)[string]): void {
  if (months === 12) time.setUTCMonth(0, 1)
  else if (months === 1) time.setUTCDate(1)
  const length = months > 0 ? day : milliseconds
  time.setTime(Math.floor(time.getTime() / length) * length)
}

function add(time: Date, { months, milliseconds }: (typeof units)[string], count: number): void {
  if (months === 0) {
    time.setTime(time.getTime() + count * milliseconds)
    return
  }
  const date = time.getUTCDate()
  time.setUTCDate(1)
  time.setUTCMonth(time.getUTCMonth() + count * months)
  // A day that the month lacks becomes its last day, as in java.time.
  const last = new Date(time)
  last.setUTCMonth(last.getUTCMonth() + 1, 0)
  time.setUTCDate(Math.min(date, last.getUTCDate()))
}

function notATime(text: string): Error {
  return invalidArgument(`${shown(text)} is no time such as 2020-02-29T12:00:00Z or NOW/DAY`)
}
