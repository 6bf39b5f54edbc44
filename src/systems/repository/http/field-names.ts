/**
 * Binds the field names in the rules of principals to ids of field types. The bindings are stored,
 * so renaming a field type changes no permission, not even after a restart of the server.
 */
import type { RepositoryManager } from '../index.js'
import { areTexts, hasMembers, storedJson } from '../stored-cells.js'
import type { Principal } from '../../../http/access.js'

/** The stored bindings: the ids of each name, and the ordinal of the last field type examined. */
interface StoredNames {
  readonly through: number
  readonly names: Readonly<Record<string, readonly string[]>>
}

const family = 'a'
const row = 'names'
const column = `${family}:n`
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const none: ReadonlySet<string> = new Set()
const opened = new WeakMap<RepositoryManager, Promise<FieldNames>>()

/** The names of one repository manager. */
export class FieldNames {
  readonly #manager: RepositoryManager
  readonly #ids = new Map<string, Set<string>>()
  #through = 0
  #isSaved = true
  #last: Promise<unknown> = Promise.resolve()

  private constructor(manager: RepositoryManager) {
    this.#manager = manager
  }

  /** The bindings of a manager, which all its servers share. */
  static of(manager: RepositoryManager): Promise<FieldNames> {
    let names = opened.get(manager)
    if (names === undefined) {
      names = new FieldNames(manager).#load()
      opened.set(manager, names)
      names.catch(() => opened.delete(manager))
    }
    return names
  }

  /** Binds the names in the rules of these principals, and the names of new field types. */
  async bind(principals: readonly Principal[]): Promise<void> {
    this.#bindNewFields()
    for (const name of namesOf(principals)) {
      if (this.#ids.has(name)) continue
      const fields = this.#manager.types.listFieldTypes().filter((each) => means(name, each.name))
      this.#ids.set(name, new Set(fields.map(({ id }) => id)))
      this.#isSaved = false
    }
    if (this.#isSaved) return
    this.#last = this.#last.catch(() => undefined).then(() => this.#save())
    await this.#last
  }

  /** Ids of the field types that a name in a rule means; an id means itself. */
  idsOf(name: string): ReadonlySet<string> {
    if (!uuid.test(name)) return this.#ids.get(name) ?? none
    return this.#manager.types.listFieldTypes().some(({ id }) => id === name)
      ? new Set([name])
      : none
  }

  /** The id of the field type that has a name now. */
  idOf(name: string): string | undefined {
    return this.#manager.types.schema.findField(name)?.id
  }

  async #load(): Promise<this> {
    const { database, tablePrefix } = this.#manager.parts
    await database.admin.ensureTable(`${tablePrefix}.access`, { families: { [family]: {} } })
    const found = await database.table(`${tablePrefix}.access`).get({ row, columns: [column] })
    const stored = storedJson(found, column, 'the fields in the rules of principals', areNames)
    for (const [name, ids] of Object.entries(stored?.names ?? {})) this.#ids.set(name, new Set(ids))
    this.#through = stored?.through ?? 0
    return this
  }

  /** A new field type is bound to the names that match when it is first seen. */
  #bindNewFields(): void {
    const { schema } = this.#manager.types
    for (; this.#through < schema.ordinalMax; this.#through++) {
      const field = schema.fieldAt(this.#through + 1)
      if (field !== undefined) {
        for (const [name, ids] of this.#ids) if (means(name, field.name)) ids.add(field.id)
      }
      this.#isSaved = false
    }
  }

  async #save(): Promise<void> {
    if (this.#isSaved) return
    const names = Object.fromEntries([...this.#ids].map(([name, ids]) => [name, [...ids]]))
    const stored: StoredNames = { through: this.#through, names }
    this.#isSaved = true
    try {
      const { database, tablePrefix } = this.#manager.parts
      const cells = { [column]: JSON.stringify(stored) }
      await database.table(`${tablePrefix}.access`).put({ row, cells })
    } catch (error) {
      this.#isSaved = false
      throw error
    }
  }
}

function areNames(value: unknown): value is StoredNames {
  if (!hasMembers(value, { names: 'object', through: 'number' })) return false
  return Object.values((value as StoredNames).names).every(areTexts)
}

/** Whether a name in a rule matches the name of a field type. */
function means(name: string, field: string): boolean {
  return name === field || (name.endsWith('}*') && field.startsWith(name.slice(0, -1)))
}

function namesOf(principals: readonly Principal[]): Set<string> {
  const names = new Set<string>()
  for (const { read, write } of principals.flatMap(({ rules = [] }) => rules)) {
    for (const permission of [read, write]) {
      if (typeof permission !== 'object') continue
      for (const name of [...(permission.fields ?? []), ...(permission.except ?? [])]) {
        if (!uuid.test(name)) names.add(name)
      }
    }
  }
  return names
}
