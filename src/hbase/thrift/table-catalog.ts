/** The descriptions of tables that a database has read, so that calls can check families. */
import type { TableDescription } from '../../api/index.js'
import { noSuchTable } from '../../api/names.js'
import { noSuchFamily } from '../../checks/reads.js'

/** Descriptions by name of the table. */
export class TableCatalog {
  readonly #read: (name: string) => Promise<TableDescription>
  readonly #known = new Map<string, TableDescription>()
  /** Reads that run, so that calls of one moment share one. */
  readonly #reading = new Map<string, Promise<TableDescription>>()

  /** `read` reads a description from HBase. */
  constructor(read: (name: string) => Promise<TableDescription>) {
    this.#read = read
  }

  /** The description of a table. Throws `ERR_TABLE_NOT_FOUND` if it has not been read. */
  known(name: string): TableDescription {
    const description = this.#known.get(name)
    if (description !== undefined) return description
    throw noSuchTable(`${name}' is not known yet, or '${name}`)
  }

  /** Reads a description, and keeps it. */
  async read(name: string): Promise<TableDescription> {
    const running = this.#reading.get(name)
    if (running !== undefined) return running
    const reading = this.#read(name)
    this.#reading.set(name, reading)
    try {
      const description = await reading
      this.#known.set(name, description)
      return description
    } catch (error) {
      this.#known.delete(name)
      throw error
    } finally {
      this.#reading.delete(name)
    }
  }

  /** Drops a description; the next call reads it again. */
  forget(name: string): void {
    this.#known.delete(name)
  }

  /**
   * Checks names of families, and returns all of the table. A family that the description lacks may
   * be new, so the description is read again. Throws `ERR_NO_SUCH_COLUMN_FAMILY`.
   */
  async checkFamilies(name: string, families: readonly string[]): Promise<readonly string[]> {
    const known = this.#known.get(name)
    if (known !== undefined && missing(known, families) === undefined)
      return Object.keys(known.families)
    const fresh = await this.read(name)
    const absent = missing(fresh, families)
    const all = Object.keys(fresh.families)
    if (absent !== undefined) throw noSuchFamily(absent, name, all)
    return all
  }
}

function missing(description: TableDescription, families: readonly string[]): string | undefined {
  return families.find((family) => !Object.hasOwn(description.families, family))
}
