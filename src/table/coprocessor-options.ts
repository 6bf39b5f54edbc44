/** Checks what users register: live coprocessors, and those of a table's schema. */
import { isDeepStrictEqual } from 'node:util'
import { CellarError, ErrorCode, invalidArgument } from '../base/errors.js'
import { badAnswer, coprocessorError } from '../coprocessor/coprocessor-error.js'
import type { CellHookReference } from '../coprocessor/cell-hook.js'
import { loadModule, type ModuleExports } from '../coprocessor/load-module.js'
import { CoprocessorPriority } from '../coprocessor/priority.js'
import type { CoprocessorSetting } from '../engine/catalog.js'
import type {
  Coprocessor,
  CoprocessorModule,
  Endpoint,
  TableCoprocessor,
} from '../api/coprocessor.js'
import type { Observer } from '../api/observer.js'
import { checkObject } from './table-core.js'

/** A coprocessor with its defaults filled in and its modules in memory. */
export interface LoadedCoprocessor {
  readonly name: string
  readonly priority: number
  readonly observer: Observer | undefined
  readonly cellHook: Required<CellHookReference> | undefined
  readonly endpoints: Readonly<Record<string, Endpoint>>
}

const nameLengthMax = 200

function checkNames(options: object, known: readonly string[], what: string): void {
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    throw invalidArgument(`${what} has no option '${name}'; it has: ${known.join(', ')}`)
  }
}

function checkPriority(priority: number | undefined, what: string): number {
  const { highest, user, lowest } = CoprocessorPriority
  if (priority === undefined) return user
  if (Number.isInteger(priority) && priority >= highest && priority <= lowest) return priority
  throw invalidArgument(`${what} priority must be an integer of 0 to 2^31-1, got ${priority}`)
}

function checkHookOptions(options: unknown, what: string): Readonly<Record<string, unknown>> {
  if (options === undefined) return {}
  checkObject(options as object, `options of ${what}`)
  let copy: unknown
  try {
    copy = JSON.parse(JSON.stringify(options))
  } catch {
    copy = undefined
  }
  if (isDeepStrictEqual(copy, options)) return copy as Readonly<Record<string, unknown>>
  throw invalidArgument(`options of ${what} must be plain JSON`)
}

function checkModule(module: unknown, what: string): string {
  if (typeof module === 'string' && module !== '') return module
  throw invalidArgument(`${what} needs a module: a URL, an absolute path or a package's name`)
}

/** Checks the coprocessors of a table's schema; `ERR_INVALID_ARGUMENT`. */
export function parseTableCoprocessors(value: unknown): readonly CoprocessorSetting[] {
  if (!Array.isArray(value)) throw invalidArgument('coprocessors of a table must be an array')
  const modules = new Set<string>()
  return value.map((entry: TableCoprocessor): CoprocessorSetting => {
    checkObject(entry, 'a coprocessor of a table')
    checkNames(entry, ['module', 'options', 'priority'], 'a coprocessor of a table')
    const module = checkModule(entry.module, 'a coprocessor of a table')
    if (modules.has(module)) throw invalidArgument(`coprocessor '${module}' is named twice`)
    modules.add(module)
    const options = checkHookOptions(entry.options, `coprocessor '${module}'`)
    return { module, options, priority: checkPriority(entry.priority, 'a coprocessor:') }
  })
}

/** Checks a live coprocessor and loads the module of its hook. */
export async function loadCoprocessor(coprocessor: Coprocessor): Promise<LoadedCoprocessor> {
  const known = ['name', 'tables', 'priority', 'observer', 'cellHook', 'endpoints']
  checkNames(checkObject(coprocessor, 'a coprocessor'), known, 'a coprocessor')
  const { name, tables, observer, cellHook, endpoints = {} } = coprocessor
  if (typeof name !== 'string' || name === '' || name.length > nameLengthMax) {
    throw invalidArgument(`a coprocessor needs a name of 1 to ${nameLengthMax} characters`)
  }
  const what = `coprocessor '${name}'`
  if (tables !== undefined && !Array.isArray(tables)) {
    throw invalidArgument(`tables of ${what} must be an array of names`)
  }
  if (observer !== undefined) checkObject(observer, `observer of ${what}`)
  checkEndpoints(endpoints, what)
  const priority = checkPriority(coprocessor.priority, `${what}:`)
  if (cellHook === undefined) return { name, priority, observer, cellHook, endpoints }
  checkNames(checkObject(cellHook, `cellHook of ${what}`), ['module', 'options'], 'a cellHook')
  const module = checkModule(cellHook.module, `cellHook of ${what}`)
  const options = checkHookOptions(cellHook.options, what)
  const exports = await loadModule(name, module)
  if (typeof exports['createCellHook'] === 'function') {
    return { name, priority, observer, cellHook: { module, options }, endpoints }
  }
  throw badAnswer(name, `module '${module}'`, 'export a function createCellHook')
}

function checkEndpoints(endpoints: unknown, what: string): void {
  for (const endpoint of Object.values(checkObject(endpoints as object, `endpoints of ${what}`))) {
    if (typeof endpoint !== 'function') throw invalidArgument(`endpoints of ${what}: functions`)
  }
}

/** Loads a coprocessor of a table's schema; `ERR_COPROCESSOR` names table and module. */
export async function loadTableCoprocessor(
  table: string,
  { module, options = {}, priority }: TableCoprocessor,
): Promise<LoadedCoprocessor> {
  const name = module.length > nameLengthMax ? `${module.slice(0, nameLengthMax - 1)}…` : module
  try {
    const exports: ModuleExports & CoprocessorModule = await loadModule(name, module)
    const { createCellHook, createObserver, endpoints = {} } = exports
    if (createCellHook === undefined && createObserver === undefined && !exports.endpoints) {
      const expected = 'export createCellHook, createObserver or endpoints'
      throw badAnswer(name, 'its module', expected)
    }
    checkEndpoints(endpoints, name)
    return {
      name,
      priority: checkPriority(priority, name),
      observer: createObserver?.({ table, options }),
      cellHook: createCellHook === undefined ? undefined : { module, options },
      endpoints,
    }
  } catch (cause) {
    const known = cause instanceof CellarError ? cause : coprocessorError(name, 'its start', cause)
    const message = `table '${table}': ${known.message}`
    throw new CellarError(ErrorCode.coprocessor, message, { cause: known.cause ?? known })
  }
}
