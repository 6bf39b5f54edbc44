/** The descriptions of tables that a database has read, so that calls can check families. */
import type { TableDescription } from '../../api/index.js'
import { noSuchFamily, noSuchTable } from '../../api/names.js'

export class TableCatalog {
  readonly #read: (name: string) => Promise<TableDescription>
  readonly #known = new Map<string, { description: TableDescription; families: string[] }>()
  /** Reads that run, so that calls of one moment share one. */
  readonly #reading = new Map<string, Promise<TableDescription>>()

  /** `read` reads a description from HBase. */
  constructor(read: (name: string) => Promise<TableDescription>) {
    this.#read = read
  }

  /** The description of a table. Throws `ERR_TABLE_NOT_FOUND` if it has not been read. */
  known(name: string): TableDescription {
    const known = this.#known.get(name)
    if (known !== undefined) return known.description
    throw noSuchTable(`${name}' is not known yet, or '${name}`)
  }

  async read(name: string): Promise<TableDescription> {
    const running = this.#reading.get(name)
    if (running !== undefined) return running
    const reading = this.#read(name)
    this.#reading.set(name, reading)
    const isCurrent = (): boolean => this.#reading.get(name) === reading
    try {
      const description = await reading
      const families = Object.keys(description.families)
      if (isCurrent()) this.#known.set(name, { description, families })
      return description
    } catch (error) {
      if (isCurrent()) this.forget(name)
      throw error
    } finally {
      if (isCurrent()) this.#reading.delete(name)
    }
  }

  /** Drops the description of a table that has changed, and passes over reads that run. */
  changed(name: string): void {
    this.forget(name)
    this.#reading.delete(name)
  }

  /** Reads the description of a table that has changed, after the change. */
  readChanged(name: string): Promise<TableDescription> {
    this.changed(name)
    return this.read(name)
  }

  /** Drops a description; the next call reads it again. */
  forget(name: string): void {
    this.#known.delete(name)
  }

  /**
   * All families of a table, if the known description has the given ones; undefined: it must be
   * read, by {@link checkFamilies}.
   */
  knownFamilies(name: string, families: readonly string[]): readonly string[] | undefined {
    const known = this.#known.get(name)?.families
    return known !== undefined && families.every((each) => known.includes(each)) ? known : undefined
  }

  /**
   * Checks names of families, and returns all of the table. A family that the description lacks may
   * be new, so the description is read again. Throws `ERR_NO_SUCH_COLUMN_FAMILY`.
   */
  async checkFamilies(name: string, families: readonly string[]): Promise<readonly string[]> {
    const known = this.knownFamilies(name, families)
    if (known !== undefined) return known
    const all = Object.keys((await this.read(name)).families)
    const absent = families.find((family) => !all.includes(family))
    if (absent !== undefined) throw noSuchFamily(absent, name, all)
    return all
  }
}
