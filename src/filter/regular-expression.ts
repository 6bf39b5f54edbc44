/**
 * Regular expressions of comparators: a search for an expression anywhere in a text.
 *
 * Expressions given as text run on RE2, whose time grows in a straight line with the text, so no
 * expression can block the event loop. RE2 has no back-references and no look-around. The package
 * is loaded when the first expression is made.
 */
import type { RE2JS } from 're2js'
import { checkChoice, shown } from '../base/arguments.js'
import { CellarError, invalidArgument } from '../base/errors.js'
import { requirePackage } from '../base/load-package.js'

/** Which engine runs an expression that is given as text. */
export type RegularExpressionEngine = 'linear' | 'backtracking'

/** Tells whether a text contains the expression. */
export interface RegularExpression {
  test(text: string): boolean
}

/**
 * Compiles with "dot matches all", as HBase does. A `RegExp` runs on JavaScript's own engine, never
 * with a flag that gives it a memory. `ERR_INVALID_ARGUMENT`.
 */
export function makeRegularExpression(
  expression: string | RegExp,
  ignoreCase: boolean,
  engine: RegularExpressionEngine | undefined,
): RegularExpression {
  if (expression instanceof RegExp) {
    if (engine === 'linear') throw invalidArgument('a RegExp cannot run on the linear engine')
    const flags = expression.flags.replace(/[gy]/g, '')
    return new RegExp(expression.source, ignoreCase && !flags.includes('i') ? `${flags}i` : flags)
  }
  if (typeof expression !== 'string') {
    throw invalidArgument(`regexString must be a string or a RegExp, got ${shown(expression)}`)
  }
  checkChoice(engine ?? 'linear', 'engine', ['linear', 'backtracking'])
  try {
    return engine === 'backtracking'
      ? compileBacktracking(expression, ignoreCase)
      : compileLinear(expression, ignoreCase)
  } catch (error) {
    if (error instanceof CellarError) throw error
    const { message } = error as Error
    const hint =
      engine === 'backtracking'
        ? ''
        : "; back-references and look-around need the engine 'backtracking'"
    throw invalidArgument(`regexString is not a valid expression: ${message}${hint}`)
  }
}

const purpose = "an expression for the engine 'linear'"

function compileLinear(expression: string, ignoreCase: boolean): RegularExpression {
  const loaded = requirePackage<{ readonly RE2JS: typeof RE2JS }>('re2js', purpose)
  const engine = loaded.RE2JS
  return engine.compile(expression, engine.DOTALL | (ignoreCase ? engine.CASE_INSENSITIVE : 0))
}

function compileBacktracking(expression: string, ignoreCase: boolean): RegularExpression {
  const [inline, letters] = /^\(\?([ims]+)\)/.exec(expression) ?? ['', '']
  const flags = new Set(['s', ...letters, ...(ignoreCase ? ['i'] : [])])
  return new RegExp(expression.slice(inline.length), [...flags].join(''))
}
