/**
 * Authentication and authorization. A principal has a token; its rules grant reads and writes of
 * fields of record tables. Everything without a rule is forbidden.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { checkArray, OptionNames } from '../../api/index.js'
import { MessagingError, MessagingErrorCode } from '../../systems/messaging/index.js'
import { RepositoryError, RepositoryErrorCode } from '../../systems/repository/index.js'
import { invalidArgument } from './http-errors.js'

/**
 * Fields: all or none, or field types by qualified name or by id; `{namespace}*` means all fields
 * of a namespace. A name means the field type that had the name when the server met it first, or
 * that was created with the name later. Renaming a field type therefore changes no rule. `except`
 * with a name that no field type ever had forbids all fields.
 */
export type FieldPermission =
  | boolean
  | {
      /** Default: all fields. */
      readonly fields?: readonly string[] | undefined
      /** Excluded fields. */
      readonly except?: readonly string[] | undefined
    }

/** The permissions of a principal for records. */
export interface AccessRule {
  /** Default: all repositories. */
  readonly repository?: string | undefined
  /** Default: all record tables. */
  readonly table?: string | undefined
  /**
   * Fields that are shown; other fields are left out. Default false: not even the existence of a
   * record is visible.
   */
  readonly read?: FieldPermission | undefined
  /** Fields that may be set and removed; requires `read`. Default false. */
  readonly write?: FieldPermission | undefined
  /**
   * Whether records may be deleted and restored; requires `read`. Default: whether all fields may
   * be written.
   */
  readonly delete?: boolean | undefined
}

/** A user with a token. */
export interface Principal {
  /** Unique. Scanners belong to the principal of this name. */
  readonly name: string
  /** Sent as `Authorization: Bearer TOKEN`. Unique. */
  readonly token: string
  /** Whether all operations of all systems are allowed. Default false. */
  readonly administrator?: boolean | undefined
  /** Whether field types and record types may be created and changed. Default false. */
  readonly changeSchema?: boolean | undefined
  /** Whether repositories and record tables may be created and dropped. Default false. */
  readonly changeTables?: boolean | undefined
  /**
   * Names of the indexes that may be searched, by document fields derived from readable fields
   * only. Default: none.
   */
  readonly search?: readonly string[] | undefined
  /** Default: none. */
  readonly rules?: readonly AccessRule[] | undefined
}

const principalNames = new OptionNames<Principal>('a principal', {
  name: true,
  token: true,
  administrator: true,
  changeSchema: true,
  changeTables: true,
  search: true,
  rules: true,
})
const ruleNames = new OptionNames<AccessRule>('a rule of a principal', {
  repository: true,
  table: true,
  read: true,
  write: true,
  delete: true,
})
type FieldList = Exclude<FieldPermission, boolean>
const listNames = new OptionNames<FieldList>('a list of fields', { fields: true, except: true })

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
      return new MessagingError(MessagingErrorCode.unauthorized, message)
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

/** `ERR_INVALID_ARGUMENT` for a token that is too short or that no header can carry. */
export function checkToken(token: unknown, what: string): void {
  if (typeof token === 'string' && token.length >= 8 && /^[\x21-\x7e]+$/.test(token)) return
  throw invalidArgument(`${what} must have 8 characters at least, and no spaces`)
}

/**
 * A copy of a principal, which may come from a file. `ERR_INVALID_ARGUMENT`. REQUIRES that the
 * caller catches errors of getters.
 */
export function copyPrincipal(principal: Principal): Principal {
  const { name, token, rules = [], search = [], ...flags } = principalNames.copy(principal)
  if (typeof name !== 'string' || name === '') throw invalidArgument('a principal needs a name')
  checkToken(token, `the token of '${name}'`)
  for (const [flag, value] of Object.entries(flags)) {
    if (value !== undefined) checkFlag(value, flag)
  }
  const copies = checkArray(rules, 'rules').map(copyRule)
  return { ...flags, name, token, rules: copies, search: copyTexts(search, 'search') }
}

function copyRule(given: AccessRule): AccessRule {
  const rule = ruleNames.copy(given)
  if (rule.delete !== undefined) checkFlag(rule.delete, 'delete')
  copyTexts([rule.repository ?? '', rule.table ?? ''], 'repository and table')
  return { ...rule, read: copyPermission(rule.read), write: copyPermission(rule.write) }
}

function copyPermission(permission: FieldPermission | undefined): FieldPermission | undefined {
  if (permission === undefined || typeof permission === 'boolean') return permission
  const { fields, except = [] } = listNames.copy(permission)
  const isLimited = fields !== undefined
  return { fields: isLimited ? copyFieldNames(fields) : undefined, except: copyFieldNames(except) }
}

/** Forms of the fields in a rule: `{namespace}local`, `{namespace}*`, or an id. */
const fieldForm = /^(\{[^{}]+\}.+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

function copyFieldNames(names: readonly string[]): readonly string[] {
  const copy = copyTexts(names, 'fields and except')
  const wrong = copy.find((name) => !fieldForm.test(name))
  if (wrong === undefined) return copy
  throw invalidArgument(`a rule names fields as {namespace}local or {namespace}*, not ${wrong}`)
}

function checkFlag(value: unknown, what: string): void {
  if (typeof value !== 'boolean') throw invalidArgument(`${what} must be true or false`)
}

function copyTexts(value: readonly string[], what: string): readonly string[] {
  const copy = checkArray(value, what)
  if (copy.every((each) => typeof each === 'string')) return copy
  throw invalidArgument(`${what} must be texts`)
}
