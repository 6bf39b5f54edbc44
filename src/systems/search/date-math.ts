/** Parses times of documents and queries: ISO 8601 in UTC or NOW, then date math. */
import { invalidArgument, shown } from '../../api/index.js'

const iso = /^(-?\d{4,6}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z)/
const step = /^(?:\/([A-Z]+)|([+-]\d{1,9})([A-Z]+))/

const units: Readonly<
  Record<string, 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second' | 'ms'>
> = {
  YEAR: 'year',
  MONTH: 'month',
  DAY: 'day',
  DATE: 'day',
  HOUR: 'hour',
  MINUTE: 'minute',
  SECOND: 'second',
  MILLI: 'ms',
  MILLISECOND: 'ms',
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
    const unit = found === null ? undefined : units[(found[1] ?? found[3]).replace(/S$/, '')]
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

function round(time: Date, unit: (typeof units)[string]): void {
  switch (unit) {
    case 'year':
      time.setUTCMonth(0, 1)
      time.setUTCHours(0, 0, 0, 0)
      break
    case 'month':
      time.setUTCDate(1)
      time.setUTCHours(0, 0, 0, 0)
      break
    case 'day':
      time.setUTCHours(0, 0, 0, 0)
      break
    case 'hour':
      time.setUTCMinutes(0, 0, 0)
      break
    case 'minute':
      time.setUTCSeconds(0, 0)
      break
    case 'second':
      time.setUTCMilliseconds(0)
      break
    case 'ms':
  }
}

const fixedUnits = { day: 86_400_000, hour: 3_600_000, minute: 60_000, second: 1000, ms: 1 }

function add(time: Date, unit: (typeof units)[string], count: number): void {
  if (unit === 'year' || unit === 'month') {
    const day = time.getUTCDate()
    time.setUTCDate(1)
    time.setUTCMonth(time.getUTCMonth() + count * (unit === 'year' ? 12 : 1))
    // A day that the month lacks becomes its last day, as in java.time.
    const last = new Date(time)
    last.setUTCMonth(last.getUTCMonth() + 1, 0)
    time.setUTCDate(Math.min(day, last.getUTCDate()))
  } else time.setTime(time.getTime() + count * fixedUnits[unit])
}

function notATime(text: string): Error {
  return invalidArgument(`${shown(text)} is no time such as 2020-02-29T12:00:00Z or NOW/DAY`)
}
