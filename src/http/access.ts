/**
 * Principals: users of the server. A principal has a token; its rules grant reads and writes of
 * fields of record tables. Everything without a rule is forbidden.
 */
import type { FastifyRequest } from 'fastify'
import {
  boolean,
  checkArray,
  checkBoolean,
  checked,
  declareOptions,
  invalidArgument,
  list,
  required,
  shown,
  text,
  type OptionsOf,
} from '../api/index.js'

const fieldList = declareOptions('a list of fields', {
  /** Default: all fields. */
  fields: checked(copyFieldNames),
  /** Excluded fields. */
  except: checked(copyFieldNames, []),
})

/**
 * Fields: all or none, or field types by qualified name or by id; `{namespace}*` means all fields
 * of a namespace. A name means the field type that had the name when the server met it first, or
 * that was created with the name later. Renaming a field type therefore changes no rule. `except`
 * with a name that no field type ever had forbids all fields.
 */
export type FieldPermission = boolean | OptionsOf<typeof fieldList>

const accessRule = declareOptions('a rule of a principal', {
  /** Default: all repositories. */
  repository: text(undefined),
  /** Default: all record tables. */
  table: text(undefined),
  /**
   * Fields that are shown; other fields are left out. Default false: not even the existence of a
   * record is visible.
   */
  read: checked(copyPermission),
  /** Fields that may be set and removed; requires `read`. Default false. */
  write: checked(copyPermission),
  /**
   * Whether records may be deleted; requires `read`. Who may also write all fields may bring
   * deleted records back. Default: whether all fields may be written.
   */
  delete: checked((value: boolean, what) => checkBoolean(value, what, false)),
})

/** The permissions of a principal for records. */
export interface AccessRule extends OptionsOf<typeof accessRule> {}

const principalOptions = declareOptions('a principal', {
  /** Unique. Scanners belong to the principal of this name. */
  name: required(checked(checkName)),
  /** Sent as `Authorization: Bearer TOKEN`. Unique. */
  token: required(checked(checkToken)),
  /** Whether all operations of all systems are allowed. Default false. */
  administrator: boolean(false),
  /** Whether field types and record types may be created and changed. Default false. */
  changeSchema: boolean(false),
  /** Whether repositories and record tables may be created and dropped. Default false. */
  changeTables: boolean(false),
  /**
   * Names of the indexes that may be searched, by document fields derived from readable fields
   * only. Default: none.
   */
  search: list(text('')),
  /** Default: none. */
  rules: list(required(checked((rule: AccessRule): AccessRule => accessRule.read(rule)))),
})

/** A user with a token. */
export interface Principal extends OptionsOf<typeof principalOptions> {}

const admitted = new WeakMap<object, Principal>()

/** Notes the principal of a request. */
export function admit({ raw }: FastifyRequest, principal: Principal): void {
  admitted.set(raw, principal)
}

/** The principal of an admitted request. */
export function principalOf({ raw }: FastifyRequest): Principal {
  return admitted.get(raw) ?? { name: '', token: '' }
}

/** `ERR_INVALID_ARGUMENT` for an empty text. */
export function checkName(name: string, what: string): string {
  if (typeof name === 'string' && name !== '') return name
  throw invalidArgument(`${what} must be a text that is not empty, got ${shown(name)}`)
}

/** `ERR_INVALID_ARGUMENT` for a token that is too short or that no header can carry. */
export function checkToken(token: string, what: string): string {
  if (typeof token === 'string' && token.length >= 8 && /^[\x21-\x7e]+$/.test(token)) return token
  throw invalidArgument(`${what} must have 8 characters at least, and no spaces`)
}

/** A copy of a principal, which may come from a file. `ERR_INVALID_ARGUMENT`. */
export function copyPrincipal(principal: Principal): Principal {
  return principalOptions.read(principal)
}

function copyPermission(permission: FieldPermission): FieldPermission {
  return typeof permission === 'boolean' ? permission : fieldList.read(permission)
}

/** Forms of the fields in a rule: `{namespace}local`, `{namespace}*`, or an id. */
const fieldForm = /^(\{[^{}]+\}.+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

function copyFieldNames(names: readonly string[], what: string): readonly string[] {
  const copy = checkArray(names, what)
  const wrong = copy.find((name) => typeof name !== 'string' || !fieldForm.test(name))
  if (wrong === undefined) return copy
  throw invalidArgument(
    `a rule names fields as {namespace}local or {namespace}*, not ${shown(wrong)}`,
  )
}
