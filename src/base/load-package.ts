/**
 * Loads an optional package synchronously, when it is first needed.
 *
 * Node looks for the package from the place of this file. A bundled CommonJS module has no address;
 * there Node looks from the place of the running program.
 */
import { createRequire } from 'node:module'
import { CellarError, ErrorCode } from './errors.js'

/** Loads a package. Throws Node's own error if the package is absent or does not load. */
export function loadPackage<T>(name: string): T {
  const address = import.meta.url as string | undefined
  return createRequire(address ?? process.argv[1] ?? process.execPath)(name) as T
}

/** As `loadPackage`, but throws `ERR_MISSING_PACKAGE`, whose message says what to install. */
export function requirePackage<T>(name: string, purpose: string): T {
  try {
    return loadPackage(name)
  } catch (cause) {
    const folder = name.split('/', name.startsWith('@') ? 2 : 1).join('/')
    const message = `${purpose} needs the package ${folder}: npm install ${folder}`
    throw new CellarError(ErrorCode.missingPackage, message, { cause })
  }
}
