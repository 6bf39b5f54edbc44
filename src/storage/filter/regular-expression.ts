/**
 * Regular expressions of comparators: search for an expression anywhere in a text.
 *
 * Expressions given as text run on RE2, whose time grows linearly with the text. So no expression
 * can block the event loop. RE2 has no back-references and no look-around. The package `re2js` is
 * loaded when the first expression is made.
 */
import type { RE2JS } from 're2js'
import { shown } from '../../base/arguments.js'
import { CellarError, invalidArgument } from '../../base/errors.js'
import { requirePackage } from '../../base/load-package.js'

/** The engine that runs an expression given as text. */
export type RegularExpressionEngine = 'linear' | 'backtracking'

/** Tests whether a text contains the expression. */
export interface RegularExpression {
  test(text: string): boolean
}

/**
 * Compiles an expression; the dot matches line ends, as in HBase. A `RegExp` runs on JavaScript's
 * own engine, without the flags `g` and `y`, which keep state between calls. Throws
 * `ERR_INVALID_ARGUMENT`.
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
