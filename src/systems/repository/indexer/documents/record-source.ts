/** Reads records at version tags for the document builder. */
import { RepositoryError, RepositoryErrorCode } from '../../errors.js'
import { lastTag } from '../../qualified-name.js'
import type { RecordTable } from '../../tables/record-table.js'
import type { StoredRecord } from '../../records/record.js'
import type { FieldType } from '../../schema/field-type.js'
import type { Place } from '../index-rows.js'

/** Finds a record table of the repository of an index; undefined if there is none. */
export type TableFinder = (name: string) => RecordTable | undefined

/** The records of one repository. */
export class RecordSource {
  readonly #findTable: TableFinder

  constructor(findTable: TableFinder) {
    this.#findTable = findTable
  }

  table(name: string): RecordTable | undefined {
    return this.#findTable(name)
  }

  /** The newest version of a record; undefined if the record does not exist. */
  async newest({ table, id }: Place): Promise<StoredRecord | undefined> {
    const records = this.#findTable(table)
    return records === undefined ? undefined : ifThere(() => records.read(id))
  }

  /** The version that a tag of a record points to; 0: no version, undefined: no such tag. */
  versionAt(newest: StoredRecord, tag: FieldType): number | undefined {
    if (tag.name === lastTag) return newest.version ?? 0
    const value = newest.fields[tag.name] as bigint | undefined
    return value === undefined ? undefined : Number(value)
  }

  /** The record at a tag; undefined if the tag, or the version it points to, is absent. */
  async at(place: Place, newest: StoredRecord, tag: FieldType): Promise<StoredRecord | undefined> {
    const version = this.versionAt(newest, tag)
    if (version === undefined) return undefined
    if (version === (newest.version ?? 0)) return newest
    const records = this.#findTable(place.table)
    if (records === undefined) return undefined
    if (version === 0) return ifThere(() => records.readTagged(place.id, tag.name))
    return ifThere(() => records.read(place.id, { version }))
  }
}

async function ifThere(
  read: () => Promise<StoredRecord | undefined>,
): Promise<StoredRecord | undefined> {
  try {
    return await read()
  } catch (error) {
    const code = error instanceof RepositoryError ? error.code : undefined
    const isAbsent =
      code === RepositoryErrorCode.recordNotFound || code === RepositoryErrorCode.versionNotFound
    if (isAbsent) return undefined
    throw error
  }
}
