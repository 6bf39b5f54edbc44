/** Checks of policy options. Every failure is an `ERR_INVALID_ARGUMENT` that names the option. */
import { invalidArgument } from '../../base/errors.js'
import type { PolicyName } from './choice.js'

/** The bounds of one numeric option, both inclusive. */
export interface NumberRange {
  readonly min: number
  /** Default Infinity. */
  readonly max?: number
  /** Whether fractions and Infinity are allowed. Default false. */
  readonly fractions?: boolean
}

/** The bounds of all numeric options of a policy. */
export type NumberRanges<Options> = {
  readonly [Name in keyof Options as Options[Name] extends number ? Name : never]: NumberRange
}

function checkNumber(
  policy: PolicyName,
  name: string,
  value: unknown,
  { min, max = Infinity, fractions = false }: NumberRange,
): void {
  const fits = typeof value === 'number' && value >= min && value <= max
  if (fits && (fractions || Number.isSafeInteger(value))) return
  const what = fractions ? 'number' : 'integer'
  const limits = max === Infinity ? `of at least ${min}` : `from ${min} to ${max}`
  throw invalidArgument(`option ${name} of compaction policy ${policy} must be ${what} ${limits}`)
}

/**
 * Fills in defaults and checks the numeric options.
 *
 * @throws `ERR_INVALID_ARGUMENT` if `options` is no object, has an unknown name, or has a number
 * out of range.
 */
export function completeOptions<Options extends object>(
  policy: PolicyName,
  defaults: Options,
  ranges: NumberRanges<Options>,
  options: unknown,
): Options {
  if (options === undefined) return defaults
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw invalidArgument(`the options of compaction policy ${policy} must be an object`)
  }
  const result: Record<string, unknown> = { ...(defaults as Record<string, unknown>) }
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    if (!Object.hasOwn(defaults, name)) {
      throw invalidArgument(`compaction policy ${policy} has no option ${name}`)
    }
    if (value !== undefined) result[name] = value
  }
  for (const [name, range] of Object.entries<NumberRange>(ranges)) {
    checkNumber(policy, name, result[name], range)
  }
  return result as unknown as Options
}

/** Throws `ERR_INVALID_ARGUMENT` unless the first option is at most as large as the second. */
export function checkOrder(
  policy: PolicyName,
  lowName: string,
  low: number,
  highName: string,
  high: number,
): void {
  if (low <= high) return
  throw invalidArgument(
    `option ${lowName} of compaction policy ${policy} must not be greater than ${highName}`,
  )
}
