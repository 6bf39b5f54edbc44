/** The permissions of one principal for one record table. */
import { forbidden } from '../../../http/errors.js'
import { type AccessRule, type FieldPermission, type Principal } from '../../../http/access.js'
import { lastTag } from '../qualified-name.js'
import type { FieldNames } from './field-names.js'

const noIds: ReadonlySet<string> = new Set()

/** The repository and the table of an access check. */
export interface AccessPlace {
  /** The bindings of the names in the rules; undefined if all principals are administrators. */
  readonly names: FieldNames | undefined
  readonly repository: string
  readonly table: string
}

/** The permissions of a principal for one record table. */
export class TableAccess {
  readonly #principal: Principal
  readonly #names: FieldNames | undefined
  readonly #rules: readonly AccessRule[]

  constructor(principal: Principal, { names, repository, table }: AccessPlace) {
    this.#principal = principal
    this.#names = names
    this.#rules = (principal.rules ?? []).filter((rule) => {
      return (rule.repository ?? repository) === repository && (rule.table ?? table) === table
    })
  }

  get isAdministrator(): boolean {
    return this.#principal.administrator === true
  }

  /** Whether the field of a name may be read; a field that does not exist may not. */
  canRead(field: string): boolean {
    if (this.isAdministrator) return true
    const id = this.#names?.idOf(field)
    return id !== undefined && this.canReadId(id)
  }

  /** Whether the field type of an id may be read. */
  canReadId(id: string): boolean {
    return this.isAdministrator || this.#rules.some(({ read }) => this.#allows(read, id))
  }

  /** Whether the version of a version tag may be shown: the newest, and those of readable tags. */
  canReadTag(tag: string): boolean {
    return tag === lastTag || this.canRead(tag)
  }

  canWrite(field: string): boolean {
    if (this.isAdministrator) return true
    const id = this.#names?.idOf(field)
    if (id === undefined) return false
    return this.#rules.some(({ read, write }) => this.#allows(write, id) && this.#allows(read, id))
  }

  /** Whether at least one field may be read. */
  get readsRecords(): boolean {
    return this.isAdministrator || this.#rules.some(({ read }) => this.#isSome(read))
  }

  /** Whether every field may be read. */
  get readsAll(): boolean {
    return this.isAdministrator || this.#rules.some(({ read }) => isAll(read))
  }

  /** `ERR_FORBIDDEN` if no field may be read. */
  checkReadsRecords(): void {
    if (this.readsRecords) return
    throw forbidden('the records of this table cannot be read')
  }

  /** `ERR_FORBIDDEN` if no field may be written. */
  checkWritesRecords(): void {
    const mayWrite = ({ read, write }: AccessRule): boolean => {
      return this.#isSome(read) && this.#isSome(write)
    }
    if (this.isAdministrator || this.#rules.some(mayWrite)) return
    throw forbidden('the records of this table cannot be written')
  }

  /** `ERR_FORBIDDEN` unless whole records may be written. */
  checkWritesAll(): void {
    const writesAll = ({ read, write }: AccessRule): boolean => isAll(read) && isAll(write)
    if (this.isAdministrator || this.#rules.some(writesAll)) return
    throw forbidden('not all fields of the record can be written')
  }

  /** `ERR_FORBIDDEN` if records may not be deleted. */
  checkDeletes(): void {
    const mayDelete = (rule: AccessRule): boolean => {
      return this.#isSome(rule.read) && (rule.delete ?? (isAll(rule.read) && isAll(rule.write)))
    }
    if (this.isAdministrator || this.#rules.some(mayDelete)) return
    throw forbidden('the records of this table cannot be deleted')
  }

  /** Whether a permission may allow a field: of its list, it has one that it does not except. */
  #isSome(permission: FieldPermission | undefined): boolean {
    if (typeof permission !== 'object') return permission === true
    if (!this.#hasKnownExceptions(permission)) return false
    const { fields, except = [] } = permission
    return (
      fields === undefined ||
      fields.some((name) => [...this.#idsOf(name)].some((id) => !this.#isAmong(id, except)))
    )
  }

  #allows(permission: FieldPermission | undefined, id: string): boolean {
    if (typeof permission !== 'object') return permission === true
    if (!this.#hasKnownExceptions(permission)) return false
    const { fields, except = [] } = permission
    return (fields === undefined || this.#isAmong(id, fields)) && !this.#isAmong(id, except)
  }

  /** An exception of an unknown field could mean any: its rule allows nothing. */
  #hasKnownExceptions({ except = [] }: Exclude<FieldPermission, boolean>): boolean {
    return except.every((name) => name.endsWith('}*') || this.#idsOf(name).size > 0)
  }

  #isAmong(id: string, names: readonly string[]): boolean {
    return names.some((name) => this.#idsOf(name).has(id))
  }

  #idsOf(name: string): ReadonlySet<string> {
    return this.#names?.idsOf(name) ?? noIds
  }
}

function isAll(permission: FieldPermission | undefined): boolean {
  if (typeof permission !== 'object') return permission === true
  return permission.fields === undefined && (permission.except ?? []).length === 0
}
