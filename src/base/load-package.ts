/**
 * Loads an optional package synchronously, when it is first needed.
 *
 * Node looks for the package from the place of this file. A bundle has another place: a CommonJS
 * module has no address at all, and webpack writes the place of the source, perhaps of another
 * machine, into the bundle. So Node also looks from the place of the running program.
 */
import { CellarError, ErrorCode } from './errors.js'

// Not imported: webpack puts `undefined` in the place of an imported createRequire.
const { createRequire } = process.getBuiltinModule('node:module')

/** Loads a package. Throws Node's own error if the package is absent or does not load. */
export function loadPackage<T>(name: string): T {
  const program = process.argv[1] ?? process.execPath
  const address = import.meta.url as string | undefined
  if (address === undefined) return createRequire(program)(name) as T
  try {
    return createRequire(address)(name) as T
  } catch (error) {
    if (!isMissing(error, name)) throw error
    return createRequire(program)(name) as T
  }
}

/** Whether a package is there; it is not loaded. */
export function isInstalled(name: string): boolean {
  const program = process.argv[1] ?? process.execPath
  const address = import.meta.url as string | undefined
  return [address, program].some((place) => {
    if (place === undefined) return false
    try {
      return createRequire(place).resolve(name) !== ''
    } catch {
      return false
    }
  })
}

/** Whether Node found no package, as opposed to one that does not load. */
function isMissing(error: unknown, name: string): boolean {
  const { code, message } = error as NodeJS.ErrnoException
  return code === 'MODULE_NOT_FOUND' && message.startsWith(`Cannot find module '${name}'`)
}

/**
 * As `loadPackage`, but throws `ERR_MISSING_PACKAGE`, whose message says what to install, or
 * `ERR_IO` if the system refuses a call, for example because no descriptor is left.
 */
export function requirePackage<T>(name: string, purpose: string): T {
  try {
    return loadPackage(name)
  } catch (cause) {
    const folder = name.split('/', name.startsWith('@') ? 2 : 1).join('/')
    if (cause instanceof Error && 'syscall' in cause) {
      const message = `${purpose} cannot load the package ${folder}: ${cause.message}`
      throw new CellarError(ErrorCode.io, message, { cause })
    }
    const message = `${purpose} needs the package ${folder}: npm install ${folder}`
    throw new CellarError(ErrorCode.missingPackage, message, { cause })
  }
}
