/** Parses times of documents and queries: ISO 8601 in UTC or NOW, then date math. */
import { invalidArgument, shown } from '../../api/index.js'

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
