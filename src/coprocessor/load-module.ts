/**
 * Loads the modules of coprocessors, in whichever thread needs them.
 *
 * What was loaded once is kept per thread, as Node does, so that a flush that must not wait finds
 * the module of its hook in memory.
 */
import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import { coprocessorError } from './coprocessor-error.js'

/** The exports of a coprocessor module, not yet checked. */
export type ModuleExports = Readonly<Record<string, unknown>>

const loaded = new Map<string, ModuleExports>()

/**
 * Loads a module; `ERR_COPROCESSOR` names the coprocessor and the module. A failure is not kept:
 * the next call tries again (Node itself remembers a module that threw while it was evaluated, for
 * the life of the thread).
 */
export async function loadModule(name: string, module: string): Promise<ModuleExports> {
  const known = loaded.get(module)
  if (known !== undefined) return known
  try {
    checkSpecifier(module)
    const target = isAbsolute(module) ? pathToFileURL(module).href : module
    const exports = (await import(/* webpackIgnore: true */ target)) as ModuleExports
    loaded.set(module, exports)
    return exports
  } catch (cause) {
    throw coprocessorError(name, `loading module '${module}'`, cause)
  }
}

/** A module that {@link loadModule} has loaded in this thread; else `ERR_COPROCESSOR`. */
export function loadedModule(name: string, module: string): ModuleExports {
  const known = loaded.get(module)
  if (known !== undefined) return known
  throw coprocessorError(name, `finding module '${module}'`, 'it was not loaded')
}

function checkSpecifier(module: string): void {
  if (typeof module !== 'string' || module === '') {
    throw new TypeError('a module is named by a non-empty string')
  }
  if (!module.startsWith('.')) return
  throw new TypeError('give a URL or an absolute path: a relative one depends on who loads it')
}
