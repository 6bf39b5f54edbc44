/** Names of fields and record types: `{namespace}local`. */
import { checkText, isText, shown } from '../../api/index.js'
import { invalidArgument } from './errors.js'

/** A qualified name as text: `{namespace}local`. */
export type QualifiedName = `{${string}}${string}`

/** The namespace of version tags. */
export const versionTagNamespace = 'org.lilyproject.vtag'
const versionTagPrefix = `{${versionTagNamespace}}`
/** The namespace of system fields, such as `{org.lilyproject.system}version`. */
export const systemNamespace = 'org.lilyproject.system'
/** The field that stands for the version of a record in conditions. */
export const versionField: QualifiedName = `{${systemNamespace}}version`
/** The virtual version tag of the newest version. */
export const lastTag: QualifiedName = `{${versionTagNamespace}}last`

const pattern = /^\{([^{}\u0000-\u001f]*)\}([^{}\u0000-\u001f]+)$/
const nameBytesMax = 1024

/** Splits a name into namespace and local name. `ERR_INVALID_ARGUMENT` for other forms. */
export function parseName(name: unknown, what = 'a qualified name'): readonly [string, string] {
  checkText(what, 'what a name is called')
  const match = typeof name === 'string' && name.length <= nameBytesMax ? pattern.exec(name) : null
  if (match !== null && isText(name)) return [match[1], match[2]]
  throw invalidArgument(`${what} has the form '{namespace}local', got ${shown(name)}`)
}

/** Checks a qualified name. `ERR_INVALID_ARGUMENT`. */
export function checkName(name: unknown, what?: string): QualifiedName {
  parseName(name, what)
  return name as QualifiedName
}

/** Makes a qualified name. `ERR_INVALID_ARGUMENT`. */
export function qualifiedName(namespace: string, local: string): QualifiedName {
  return checkName(`{${checkText(namespace, 'a namespace')}}${checkText(local, 'a local name')}`)
}

/** Whether a field is a version tag. */
export function isVersionTag(name: string): boolean {
  return name.startsWith(versionTagPrefix)
}

/** The name of a version tag, which may be given without its namespace. */
export function tagNameOf(tag: string): string {
  return tag.startsWith('{') ? tag : `${versionTagPrefix}${tag}`
}
