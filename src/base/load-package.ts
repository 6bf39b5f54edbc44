/**
 * Loads a package when it is first needed, at once.
 *
 * Packages are looked for from this file; where a bundler has made a CommonJS module of it, which
 * has no address, from the program that runs.
 */
import { createRequire } from 'node:module'
import { CellarError, ErrorCode } from './errors.js'

/** Throws Node's own error if the package is absent or does not load. */
export function loadPackage<T>(name: string): T {
  const address = import.meta.url as string | undefined
  return createRequire(address ?? process.argv[1] ?? process.execPath)(name) as T
}

/** As {@link loadPackage}, but fails with `ERR_MISSING_PACKAGE` and says what to install. */
export function requirePackage<T>(name: string, purpose: string): T {
  try {
    return loadPackage(name)
  } catch (cause) {
    const folder = name.split('/', name.startsWith('@') ? 2 : 1).join('/')
    const message = `${purpose} needs the package ${folder}: npm install ${folder}`
    throw new CellarError(ErrorCode.missingPackage, message, { cause })
  }
}
