/** Reads records at version tags for the documents of an index. */
import { hasCode } from '../../errors.js'
import { lastTag } from '../../qualified-name.js'
import type { StoredRecord } from '../../records/record.js'
import type { FieldType } from '../../schema/field-type.js'
import type { RecordTable } from '../../tables/record-table.js'
import type { Place } from '../index-rows.js'

/** The records of one repository. */
export class RecordSource {
  /** A record table of the repository; undefined if there is none of that name. */
  readonly table: (name: string) => RecordTable | undefined

  constructor(table: (name: string) => RecordTable | undefined) {
    this.table = table
  }

  /** The newest version of a record; undefined if the record does not exist. */
  async newest({ table, id }: Place): Promise<StoredRecord | undefined> {
    return ifThere(this.table(table)?.read(id))
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
    const records = this.table(place.table)
    if (version === 0) return ifThere(records?.readTagged(place.id, tag.name))
    return ifThere(records?.read(place.id, { version }))
  }
}

async function ifThere<T>(reading: Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (hasCode(error, 'recordNotFound', 'versionNotFound')) return undefined
    throw error
  }
}
