/**
 * Binds the field names in the rules of principals to ids of field types. The bindings are stored,
 * so renaming a field type changes no permission, not even after a restart of the server.
 */
import { CallOrder } from '../../../comfort/call-order.js'
import type { RepositoryManager } from '../index.js'
import { areTexts, hasMembers, storedJson } from '../stored-cells.js'
import type { Principal } from '../../../http/access.js'

/** The stored bindings: the ids of each name, and which field types were examined. */
interface StoredNames {
  /** The ordinal of the last field type examined. */
  readonly through: number
  /** Ordinals before it whose field types were not known yet; absent if there are none. */
  readonly missed?: readonly number[] | undefined
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
  /** Ordinals up to `#through` of types of another manager that are not read yet. */
  readonly #missed = new Set<number>()
  #isSaved = true
  readonly #saves = new CallOrder()

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
    await this.#saves.run(() => this.#save())
  }

  /** Ids of the field types that a name in a rule means; an id means itself. */
  idsOf(name: string): ReadonlySet<string> {
    // A field type may be newer than the request.
    this.#bindNewFields()
    if (!uuid.test(name)) return this.#ids.get(name) ?? none
    return this.#manager.types.schema.hasFieldId(name) ? new Set([name]) : none
  }

  /** The id of the field type that has a name now. */
  idOf(name: string): string | undefined {
    return this.#manager.types.schema.findField(name)?.id
  }

  get #table(): string {
    return `${this.#manager.settings.tablePrefix}.access`
  }

  async #load(): Promise<this> {
    const { database } = this.#manager
    this.#manager.checkOpen()
    await database.admin.ensureTable(this.#table, { families: { [family]: {} } })
    const found = await database.table(this.#table).get({ row, columns: [column] })
    const stored = storedJson(found, column, 'the fields in the rules of principals', areNames)
    for (const [name, ids] of Object.entries(stored?.names ?? {})) this.#ids.set(name, new Set(ids))
    this.#through = stored?.through ?? 0
    for (const ordinal of stored?.missed ?? []) this.#missed.add(ordinal)
    return this
  }

  /** A new field type is bound to the names that match when it is first seen. */
  #bindNewFields(): void {
    const { schema } = this.#manager.types
    while (this.#through < schema.ordinalMax) this.#missed.add(++this.#through)
    for (const ordinal of this.#missed) {
      const field = schema.fieldAt(ordinal)
      if (field === undefined) continue
      for (const [name, ids] of this.#ids) if (means(name, field.name)) ids.add(field.id)
      this.#missed.delete(ordinal)
      this.#isSaved = false
    }
  }

  async #save(): Promise<void> {
    if (this.#isSaved) return
    const names = Object.fromEntries([...this.#ids].map(([name, ids]) => [name, [...ids]]))
    const missed = this.#missed.size === 0 ? undefined : [...this.#missed]
    const stored: StoredNames = { through: this.#through, missed, names }
    this.#isSaved = true
    try {
      this.#manager.checkOpen()
      const cells = { [column]: JSON.stringify(stored) }
      await this.#manager.database.table(this.#table).put({ row, cells })
    } catch (error) {
      this.#isSaved = false
      throw error
    }
  }
}

function areNames(value: unknown): value is StoredNames {
  if (!hasMembers(value, { names: 'object', through: 'number' })) return false
  const { names, missed = [] } = value as StoredNames
  const areNumbers = Array.isArray(missed) && missed.every(Number.isSafeInteger)
  return areNumbers && Object.values(names).every(areTexts)
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
