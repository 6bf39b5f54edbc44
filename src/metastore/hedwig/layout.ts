/**
 * The layout record: which factory laid out the metadata of a region, and in which version. Table
 * `layout`, one row a region, field `layout` with `ManagerMeta` in text form.
 */
import { codeOf, MetastoreErrorCode } from '../bookkeeper/errors.js'
import type { MetaStore, MetastoreTable } from '../bookkeeper/types.js'
import { Value } from '../bookkeeper/value.js'
import { Version } from '../bookkeeper/version.js'
import { fromText } from '../records/text-reader.js'
import { toText } from '../records/text-form.js'
import { unexpectedCondition } from './errors.js'
import { managerMetaType, type ManagerMeta } from './records.js'

/** Name of the table. */
export const layoutTable = 'layout'

const field = 'layout'

/** The layout record of one region. */
export class FactoryLayout {
  readonly #table: MetastoreTable
  readonly #key: string

  private constructor(table: MetastoreTable, region: string) {
    this.#table = table
    this.#key = `METADATA/${region}`
  }

  /** Opens the table; `store` is initialised. */
  static async open(store: MetaStore, region: string): Promise<FactoryLayout> {
    return new FactoryLayout(await store.createTable(layoutTable), region)
  }

  /** The record; undefined if there is none. `UNEXPECTED_CONDITION` if it cannot be read. */
  async read(): Promise<ManagerMeta | undefined> {
    try {
      const { value } = await this.#table.get(this.#key)
      const bytes = value.getField(field)
      return fromText(managerMetaType, bytes ?? '')
    } catch (error) {
      if (codeOf(error) === MetastoreErrorCode.noKey) return undefined
      throw unexpectedCondition('the layout of the metadata cannot be read', error)
    }
  }

  /** Stores the record unless there is one, and returns the one that is stored then. */
  async create(layout: ManagerMeta): Promise<ManagerMeta> {
    try {
      const value = new Value({ [field]: toText(managerMetaType, layout) })
      await this.#table.put(this.#key, value, Version.NEW)
      return layout
    } catch (error) {
      if (codeOf(error) !== MetastoreErrorCode.keyExists) {
        throw unexpectedCondition('the layout of the metadata cannot be stored', error)
      }
    }
    const stored = await this.read()
    if (stored === undefined) throw unexpectedCondition('the layout of the metadata was removed')
    return stored
  }

  /** Ends this handle of the table. */
  close(): void {
    this.#table.close()
  }
}
