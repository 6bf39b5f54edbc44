/** Reads records of one table: newest versions, old versions, several records, and variants. */
import {
  checkArray,
  checked,
  checkText,
  declareOptions,
  readArguments,
  requireCapability,
  type OptionsOf,
  type Result,
} from '../../../../api/index.js'
import { invalidArgument, recordNotFound, repositoryError, versionNotFound } from '../../errors.js'
import { lastTag, tagNameOf } from '../../qualified-name.js'
import { RecordId, storedRecordId, type RecordIdLike } from '../../record-id.js'
import { decodeField } from '../field-values.js'
import { headColumn, versionColumn, type HeadHeader, type RecordState } from '../record-state.js'
import { checkVersion, versionOption, type StoredRecord } from '../record.js'
import type { TableContext } from '../table-context.js'
import {
  exists,
  getOf,
  headerIn,
  headerOf,
  lacksVersion,
  readLive,
  versionAt,
  versionParts,
  versionsAtOnce,
  viewOf,
  type WantedFields,
} from './record-heads.js'
import { scanRecords, type RecordScan } from './record-scanner.js'

const fields = {
  /** Qualified names; absent or empty = all fields. */
  fields: checked(checkArray<string>),
}

const fieldsOptions = declareOptions('a read of records', fields)

/** Options of a read that says by itself which version is read. */
export interface FieldOptions extends OptionsOf<typeof fieldsOptions> {}

const readOptions = declareOptions('a read of a record', {
  /** Default: the newest version. */
  version: versionOption,
  ...fields,
})

/** Options of a read. */
export interface ReadOptions extends OptionsOf<typeof readOptions> {}

const rangeOptions = declareOptions('a range of versions', {
  /** The first version, inclusive. Default 1. */
  from: versionOption,
  /** The last version, inclusive. Default: the newest. */
  to: versionOption,
})

/** Versions to read: a list, or a range with inclusive bounds. */
export type VersionSelection = readonly number[] | OptionsOf<typeof rangeOptions>

/** The reads of a record table. */
export abstract class RecordReader {
  /** @internal */
  readonly context: TableContext

  /** @internal */
  constructor(context: TableContext) {
    this.context = context
  }

  /** Name of the record table in its repository. */
  get name(): string {
    return this.context.name
  }

  /** Name of the repository. */
  get repository(): string {
    return this.context.repository
  }

  /**
   * Reads a record. `ERR_RECORD_NOT_FOUND`, `ERR_VERSION_NOT_FOUND`,
   * `ERR_FIELD_TYPE_NOT_FOUND`.
   */
  async read(idLike: RecordIdLike, options?: ReadOptions): Promise<StoredRecord> {
    this.context.checkOpen()
    const id = RecordId.of(idLike)
    const { version, wanted } = this.#asked(options)
    return this.#shown(id, await this.context.table.get(getOf(id, version)), version, wanted)
  }

  /**
   * Synchronous {@link read}; blocks while the record is read from the disk. Also `ERR_UNSUPPORTED`
   * if the backend lacks the capability `sync`.
   */
  readSync(idLike: RecordIdLike, options?: ReadOptions): StoredRecord {
    this.context.checkOpen()
    const { syncTable, database } = this.context
    if (syncTable === undefined) {
      requireCapability(database.capabilities, 'sync', 'a synchronous read of a record')
    }
    const id = RecordId.of(idLike)
    const { version, wanted } = this.#asked(options)
    return this.#shown(id, syncTable!.getSync(getOf(id, version)), version, wanted)
  }

  /** Reads several records in the order of the ids; missing records are left out. */
  async readList(ids: readonly RecordIdLike[], options?: FieldOptions): Promise<StoredRecord[]> {
    this.context.checkOpen()
    const { wanted } = this.#asked(options, fieldsOptions)
    const parsed = checkArray(ids, 'ids').map((id) => RecordId.of(id))
    const rows = await this.context.table.getList(parsed.map((id) => getOf(id)))
    return rows.flatMap((row, index) => {
      const bytes = row.value(headColumn)
      if (bytes === undefined || headerIn(parsed[index], bytes).isDeleted) return []
      return [viewOf(this.context, parsed[index], bytes, wanted)]
    })
  }

  /** Reads several versions, ascending; missing versions are left out. */
  async readVersions(
    idLike: RecordIdLike,
    versions: VersionSelection,
    options?: FieldOptions,
  ): Promise<StoredRecord[]> {
    this.context.checkOpen()
    const id = RecordId.of(idLike)
    const chosen = checkSelection(versions)
    const { wanted } = this.#asked(options, fieldsOptions)
    const { table } = this.context
    const header = headerOf(id, await table.get(getOf(id)))
    const records: StoredRecord[] = []
    for (const part of selectVersions(chosen, header)) {
      const columns = [headColumn, ...part.map(versionColumn)]
      const row = await table.get({ row: id.bytes, columns })
      // The record may have changed since its header was read; this row is one consistent state.
      records.push(...this.#versionsOfRow(id, row, part, wanted))
    }
    return records
  }

  /** Reads the version that a tag points to; undefined if the tag or that version is absent. */
  async readTagged(
    idLike: RecordIdLike,
    tag: string,
    options?: FieldOptions,
  ): Promise<StoredRecord | undefined> {
    const id = RecordId.of(idLike)
    checkText(tag, 'a version tag')
    const { wanted } = this.#asked(options, fieldsOptions)
    const head = await readLive(this.context, id)
    const version = this.#versionOfTag(head.state, tag)
    if (version === 0) return viewOf(this.context, id, head.bytes, wanted, { version })
    const { first, version: newest } = head.state
    if (version === undefined || version < first || version > newest) return undefined
    const row = await this.context.table.get(getOf(id, version))
    return this.#versionsOfRow(id, row, [version], wanted).at(0)
  }

  /**
   * Reads the version that was the newest at a time in milliseconds. Non-versioned fields have
   * their present values. `ERR_VERSION_NOT_FOUND` if there was no version yet.
   */
  async readAt(id: RecordIdLike, time: number, options: FieldOptions = {}): Promise<StoredRecord> {
    const { fields } = fieldsOptions.read(options)
    const version = await versionAt(this.context, RecordId.of(id), time)
    if (version !== undefined) return this.read(id, { fields, version })
    const date = new Date(time)
    const at = Number.isNaN(date.getTime()) ? String(time) : date.toISOString()
    throw repositoryError('versionNotFound', `the record ${String(id)} had no version at ${at}`)
  }

  /** The ids of the master and its variants that exist, in order. */
  async variants(idLike: RecordIdLike): Promise<RecordId[]> {
    this.context.checkOpen()
    const { master } = RecordId.of(idLike)
    const found: RecordId[] = []
    const scan = this.context.table.scan({ prefix: master.bytes, columns: [headColumn] })
    for await (const row of scan) {
      const id = storedRecordId(row.row, `a row of ${this.context.keyText}`)
      // Other ids of users may begin with the same bytes.
      if (!id.master.equals(master)) continue
      if (!headerIn(id, row.value(headColumn)!).isDeleted) found.push(id)
    }
    return found
  }

  /** Whether a record exists and is not deleted. */
  async exists(id: RecordIdLike): Promise<boolean> {
    return exists(this.context, RecordId.of(id))
  }

  /** Scans records in the order of their ids. */
  scan(scan?: RecordScan): AsyncGenerator<StoredRecord, void> {
    return scanRecords(this.context, scan)
  }

  #asked(
    options: ReadOptions | undefined,
    declared: { read(options: ReadOptions): ReadOptions } = readOptions,
  ): { readonly version: number | undefined; readonly wanted: WantedFields } {
    if (options === undefined) return noOptions
    const { version, fields: names = [] } = declared.read(options)
    if (names.length === 0) return { version, wanted: undefined }
    const { schema } = this.context
    return { version, wanted: new Set(names.map((name) => schema.field(name).ordinal)) }
  }

  /** The version that a tag points to; 0 = the view without versions, undefined without the tag. */
  #versionOfTag(state: RecordState, tag: string): number | undefined {
    const name = tagNameOf(tag)
    if (name === lastTag) return state.version
    const { schema } = this.context
    const field = schema.field(name)
    if (field.scope !== 'NON_VERSIONED' || field.valueType !== 'LONG') {
      throw invalidArgument(`${name} is no version tag: those are NON_VERSIONED and LONG`)
    }
    const cell = state.fields.get(field.ordinal)
    return cell === undefined ? undefined : Number(decodeField(field, cell.value, schema))
  }

  #shown(
    id: RecordId,
    row: Result,
    version: number | undefined,
    wanted: WantedFields,
  ): StoredRecord {
    if (version === undefined) {
      const bytes = row.value(headColumn)
      if (bytes === undefined) throw recordNotFound(id)
      return viewOf(this.context, id, bytes, wanted)
    }
    const header = headerOf(id, row)
    // Version 0 is a view for version tags, not a version.
    if (version === 0) throw recordNotFound(id)
    if (version < header.first || version > header.version) throw versionNotFound(id, version)
    const [record] = this.#versionsOfRow(id, row, [version], wanted)
    return record
  }

  #versionsOfRow(
    id: RecordId,
    row: Result,
    versions: readonly number[],
    wanted: WantedFields,
  ): StoredRecord[] {
    const head = row.value(headColumn)
    if (head === undefined) throw recordNotFound(id)
    const { version: newest, first } = headerIn(id, head)
    return versions.flatMap((version) => {
      if (version < first || version > newest) return []
      if (version === newest) return [viewOf(this.context, id, head, wanted)]
      const bytes = row.value(versionColumn(version))
      if (bytes === undefined) throw lacksVersion(id, version)
      return [viewOf(this.context, id, head, wanted, { version, bytes })]
    })
  }
}

const noOptions = { version: undefined, wanted: undefined }

/** Checks a selection and copies it. `ERR_INVALID_ARGUMENT`. */
function checkSelection(selection: VersionSelection): VersionSelection {
  return readArguments(() => {
    if (!isList(selection)) return rangeOptions.read(selection)
    return checkArray(selection, 'versions').map(checkVersion)
  })
}

function isList(selection: VersionSelection): selection is readonly number[] {
  return Array.isArray(selection)
}

/** The versions in parts: a damaged head may say that there are billions. */
function selectVersions(
  selection: VersionSelection,
  { first, version: newest }: HeadHeader,
): Iterable<number[]> {
  if (isList(selection)) {
    const unique = [...new Set(selection)].sort((a, b) => a - b)
    const known = unique.filter((version) => version >= first && version <= newest && version > 0)
    const count = Math.ceil(known.length / versionsAtOnce)
    return Array.from({ length: count }, (_, part) => {
      return known.slice(part * versionsAtOnce, (part + 1) * versionsAtOnce)
    })
  }
  const { from = 1, to = newest } = selection
  if (from > to && !(newest === 0 && to === 0)) {
    throw invalidArgument(`versions from ${from} to ${to} are none`)
  }
  return versionParts(Math.max(from, first, 1), Math.min(to, newest))
}
