/**
 * Authentication and authorization. A principal has a token; its rules grant reads and writes of
 * fields of record tables. Everything without a rule is forbidden.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import {
  CellarError,
  boolean,
  checkArray,
  checkBoolean,
  checked,
  declareOptions,
  list,
  required,
  shown,
  text,
  type OptionsOf,
} from '../../api/index.js'
import { MessagingErrorCode } from '../../systems/messaging/index.js'
import { RepositoryError, RepositoryErrorCode } from '../../systems/repository/index.js'
import { invalidArgument } from './http-errors.js'

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
   * Whether records may be deleted and restored; requires `read`. Default: whether all fields may
   * be written.
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

const everybody: Principal = { name: '', token: '', administrator: true }

/** The part of a system that the gate needs. */
interface GuardedSystem {
  readonly sharedPrefix?: string | undefined
  readonly publicPaths?: readonly string[] | undefined
}

const admitted = new WeakMap<object, Principal>()

/** The principal of an admitted request. */
export function principalOf({ raw }: FastifyRequest): Principal {
  return admitted.get(raw) ?? { name: '', token: '' }
}

/**
 * Admits requests with a valid token to the routes that are open to its principal. The options are
 * those of the server, already checked.
 */
export class Gate {
  readonly #principals: readonly (readonly [digest: Buffer, principal: Principal])[]
  readonly #publicPaths: ReadonlySet<string>
  readonly #sharedPrefixes: readonly string[]

  /** `ERR_INVALID_ARGUMENT`. */
  constructor(
    {
      token,
      principals = [],
    }: { token?: string | undefined; principals?: readonly Principal[] | undefined },
    systems: readonly GuardedSystem[],
  ) {
    const all = [...principals]
    if (token !== undefined) all.push({ ...everybody, token })
    if (new Set(all.map((each) => each.token)).size < all.length) {
      throw invalidArgument('two principals have one token')
    }
    this.#principals = all.map((principal) => [digest(`Bearer ${principal.token}`), principal])
    this.#publicPaths = new Set(['/health', ...systems.flatMap((each) => each.publicPaths ?? [])])
    this.#sharedPrefixes = systems.flatMap(({ sharedPrefix }) => sharedPrefix ?? [])
  }

  /**
   * The reason why a request is refused; undefined for an admitted one. `ERR_UNAUTHORIZED`,
   * `ERR_FORBIDDEN`.
   */
  refusal(request: FastifyRequest): Error | undefined {
    const route = request.routeOptions.url
    if (this.#publicPaths.has(route ?? '')) return undefined
    const principal = this.#find(request)
    if (principal === undefined) {
      const message = 'the token is missing or wrong'
      return new CellarError(MessagingErrorCode.unauthorized, message)
    }
    const isShared = this.#sharedPrefixes.some((prefix) => route?.startsWith(prefix))
    if (principal.administrator !== true && !isShared) return forbidden('for administrators only')
    admitted.set(request.raw, principal)
    return undefined
  }

  #find({ headers }: FastifyRequest): Principal | undefined {
    if (this.#principals.length === 0) return everybody
    const given = digest(headers.authorization ?? '')
    return this.#principals.find(([expected]) => timingSafeEqual(given, expected))?.[1]
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** Makes an `ERR_FORBIDDEN`. */
export function forbidden(what: string): RepositoryError {
  return new RepositoryError(RepositoryErrorCode.forbidden, `no permission: ${what}`)
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
