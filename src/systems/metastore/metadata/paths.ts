/**
 * Paths of records: `/`, or segments with a slash before each.
 *
 * Pulsar refuses null, blank and relative paths and paths that end in a slash. This package also
 * refuses empty segments, NUL and lone surrogates, because backends treat them differently.
 */
import type { CellarError } from '../../../api/index.js'
import { metadataError } from './errors.js'

/** Bytes of the longest path as UTF-8; a row key is two bytes longer. */
export const pathBytesMax = 32_000

const emptySegment = '//'

/** Throws `ERR_METADATA_INVALID_PATH` for an invalid path. */
export function checkPath(path: unknown): asserts path is string {
  if (typeof path !== 'string')
    throw metadataError('invalidPath', `a path is a string, got ${typeof path}`)
  if (path === '/') return
  if (path.charCodeAt(0) !== 0x2f) throw refused(path, 'does not begin with a slash')
  if (path.charCodeAt(path.length - 1) === 0x2f) throw refused(path, 'ends in a slash')
  if (path.includes(emptySegment)) throw refused(path, 'has an empty segment')
  if (path.includes('\0')) throw refused(path, 'holds NUL')
  if (!(path as string & { isWellFormed(): boolean }).isWellFormed()) {
    throw refused(path, 'holds a lone surrogate')
  }
  // UTF-8 needs at most three bytes for each UTF-16 unit.
  if (path.length * 3 > pathBytesMax && Buffer.byteLength(path) > pathBytesMax) {
    throw refused(path, `is longer than ${pathBytesMax} bytes`)
  }
}

function refused(path: string, why: string): CellarError {
  const shown = path.length > 80 ? `${path.slice(0, 80)}…` : path
  return metadataError('invalidPath', `the path ${JSON.stringify(shown)} ${why}`)
}

/** The parent path; undefined for `/`. */
export function parentOf(path: string): string | undefined {
  if (path === '/') return undefined
  const slash = path.lastIndexOf('/')
  return slash === 0 ? '/' : path.slice(0, slash)
}

/** The last segment; empty for `/`. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** The common prefix of the paths of all descendants. */
export function childPrefix(path: string): string {
  return path === '/' ? '/' : `${path}/`
}

/** The path of a child. */
export function childOf(path: string, name: string): string {
  if (typeof name !== 'string')
    throw metadataError('invalidPath', `a name is a string, got ${typeof name}`)
  return childPrefix(path) + name
}

/** Whether a path is `ancestor` or one of its descendants. */
export function isWithin(path: string, ancestor: string): boolean {
  return path === ancestor || path.startsWith(childPrefix(ancestor))
}

/** Number of segments: 0 for `/`. */
export function depthOf(path: string): number {
  if (path === '/') return 0
  let depth = 0
  for (let i = 0; i < path.length; i++) if (path.charCodeAt(i) === 0x2f) depth++
  return depth
}
