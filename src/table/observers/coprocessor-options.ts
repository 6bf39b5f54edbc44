/** Checks the coprocessors that users register: live ones, and those in the schema of a table. */
import { checkArray, checkObject, readArguments, shown } from '../../base/arguments.js'
import { isDeepStrictEqual } from 'node:util'
import { CellarError, ErrorCode, invalidArgument } from '../../base/errors.js'
import { declareOptions, unchecked, required } from '../../base/options.js'
import { badAnswer, coprocessorError } from '../../storage/coprocessor/coprocessor-error.js'
import type { CellHookReference } from '../../storage/coprocessor/cell-hook.js'
import { loadModule, type ModuleExports } from '../../storage/coprocessor/load-module.js'
import { optionsDepthMax } from '../../storage/version/json-fields.js'
import { plainTableName } from '../../api/names.js'
import { CoprocessorPriority } from '../../storage/coprocessor/priority.js'
import type { CoprocessorSetting } from '../../storage/engine/catalog/catalog.js'
import {
  coprocessorOptions,
  tableCoprocessorOptions,
  type Coprocessor,
  type CoprocessorModule,
  type Endpoint,
  type TableCoprocessor,
} from '../../api/coprocessor.js'
import type { Observer } from '../../api/observer.js'
import { indexModule } from '../../comfort/indexes/catalog.js'
import { createIndexObserver } from '../../comfort/indexes/index-observer.js'

/** A coprocessor with defaults filled in and its modules loaded. */
export interface LoadedCoprocessor {
  readonly name: string
  /** Names of the tables to which it belongs; undefined = all. */
  readonly tables: readonly string[] | undefined
  readonly priority: number
  readonly observer: Observer | undefined
  readonly cellHook: Required<CellHookReference> | undefined
  readonly endpoints: Readonly<Record<string, Endpoint>>
}

const nameLengthMax = 200

const hookOptions = declareOptions('a cellHook', {
  module: required(unchecked<string>()),
  options: unchecked<object>(),
})

function checkPriority(priority: number | undefined, what: string): number {
  const { highest, user, lowest } = CoprocessorPriority
  if (priority === undefined) return user
  if (Number.isInteger(priority) && priority >= highest && priority <= lowest) return priority
  throw invalidArgument(
    `${what} priority must be an integer of 0 to 2^31-1, got ${shown(priority)}`,
  )
}

function checkHookOptions(options: unknown, what: string): Readonly<Record<string, unknown>> {
  if (options === undefined) return {}
  checkObject(options as object, `options of ${what}`)
  let copy: unknown
  try {
    copy = JSON.parse(JSON.stringify(options))
    if (isDeepStrictEqual(copy, options) && depthOf(copy) < optionsDepthMax) {
      return copy as Readonly<Record<string, unknown>>
    }
  } catch {
    // The error is thrown below.
  }
  throw invalidArgument(`options of ${what} must be plain JSON, nested less than 32 deep`)
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

function checkModule(module: unknown, what: string): string {
  if (typeof module === 'string' && module !== '') return module
  throw invalidArgument(`${what} needs a module: a URL, an absolute path or a package's name`)
}

/** Checks the coprocessors in the schema of a table. Throws `ERR_INVALID_ARGUMENT`. */
export function parseTableCoprocessors(value: unknown): readonly CoprocessorSetting[] {
  const list = checkArray(value as readonly TableCoprocessor[], 'coprocessors of a table')
  const modules = new Set<string>()
  return list.map((given): CoprocessorSetting => {
    const entry = tableCoprocessorOptions.check(given)
    const module = checkModule(entry.module, 'a coprocessor of a table')
    if (modules.has(module)) throw invalidArgument(`coprocessor '${module}' is named twice`)
    modules.add(module)
    const options = checkHookOptions(entry.options, `coprocessor '${module}'`)
    return { module, options, priority: checkPriority(entry.priority, 'a coprocessor:') }
  })
}

/** Checks a live coprocessor and loads the module of its hook. */
export async function loadCoprocessor(coprocessor: Coprocessor): Promise<LoadedCoprocessor> {
  const checked = readArguments(() => checkCoprocessor(coprocessor))
  const { cellHook, ...rest } = checked
  if (cellHook === undefined) return { ...rest, cellHook }
  const exports = await loadModule(rest.name, cellHook.module)
  if (typeof exports['createCellHook'] === 'function') return { ...rest, cellHook }
  throw badAnswer(rest.name, `module '${cellHook.module}'`, 'export a function createCellHook')
}

function checkCoprocessor(coprocessor: Coprocessor): LoadedCoprocessor {
  const given = coprocessorOptions.check(checkObject(coprocessor, 'a coprocessor'))
  const { name, tables, observer, endpoints = {} } = given
  if (typeof name !== 'string' || name === '' || name.length > nameLengthMax) {
    throw invalidArgument(`a coprocessor needs a name of 1 to ${nameLengthMax} characters`)
  }
  const what = `coprocessor '${name}'`
  const names = tables === undefined ? undefined : checkArray(tables, `tables of ${what}`)
  if (observer !== undefined) checkObject(observer, `observer of ${what}`)
  checkEndpoints(endpoints, what)
  return {
    name,
    tables: names?.map(plainTableName),
    priority: checkPriority(given.priority, `${what}:`),
    observer,
    cellHook: checkCellHook(given.cellHook, what),
    endpoints,
  }
}

function checkCellHook(
  cellHook: CellHookReference | undefined,
  what: string,
): Required<CellHookReference> | undefined {
  if (cellHook === undefined) return undefined
  const { module, options } = hookOptions.check(checkObject(cellHook, `cellHook of ${what}`))
  return {
    module: checkModule(module, `cellHook of ${what}`),
    options: checkHookOptions(options, what),
  }
}

function checkEndpoints(endpoints: unknown, what: string): void {
  for (const endpoint of Object.values(checkObject(endpoints as object, `endpoints of ${what}`))) {
    if (typeof endpoint !== 'function') throw invalidArgument(`endpoints of ${what}: functions`)
  }
}

/** The module of the package itself. */
const indexes: CoprocessorModule = {
  createObserver: ({ table, options }) => createIndexObserver(table, options),
}

/**
 * Loads a coprocessor of a table's schema. Throws `ERR_COPROCESSOR`, which names table and module.
 */
export async function loadTableCoprocessor(
  table: string,
  { module, options = {}, priority }: TableCoprocessor,
): Promise<LoadedCoprocessor> {
  const name = module.length > nameLengthMax ? `${module.slice(0, nameLengthMax - 1)}…` : module
  try {
    const exports = (
      module === indexModule ? indexes : await loadModule(name, module)
    ) as ModuleExports & CoprocessorModule
    const { createCellHook, createObserver, endpoints = {} } = exports
    if (createCellHook === undefined && createObserver === undefined && !exports.endpoints) {
      const expected = 'export createCellHook, createObserver or endpoints'
      throw badAnswer(name, 'its module', expected)
    }
    checkEndpoints(endpoints, name)
    return {
      name,
      tables: [table],
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
