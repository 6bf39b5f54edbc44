/**
 * Loads the modules of coprocessors in the thread that needs them.
 *
 * Loaded modules are kept per thread, as Node does. So a flush that must not wait finds the module
 * of its hook in memory.
 */
import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import { coprocessorError } from './coprocessor-error.js'

/** The exports of a coprocessor module, not yet checked. */
export type ModuleExports = Readonly<Record<string, unknown>>

const loaded = new Map<string, ModuleExports>()

/**
 * Loads a module. Throws `ERR_COPROCESSOR`, which names the coprocessor and the module. After a
 * failure the next call tries again. However, Node remembers for the life of the thread that a
 * module threw while it was evaluated.
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

/**
 * Returns a module that {@link loadModule} has loaded in this thread. Throws `ERR_COPROCESSOR` if
 * it was not.
 */
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
