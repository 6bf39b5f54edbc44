/** Reads records of one table: newest versions, old versions, several records, and variants. */
import {
  checkArray,
  checkText,
  OptionNames,
  readArguments,
  requireCapability,
  shown,
} from '../../../../api/index.js'
import type { Get, Result } from '../../../../api/index.js'
import { ByteReader } from '../../../bytes/byte-reader.js'
import { corrupt, invalidArgument, RepositoryError, RepositoryErrorCode } from '../../errors.js'
import { lastTag, versionTagNamespace } from '../../qualified-name.js'
import { RecordId, type RecordIdLike } from '../../record-id.js'
import type { StoredRecord } from '../record.js'
import {
  decodeHead,
  decodeVersion,
  headColumn,
  readHeadHeader,
  versionColumn,
  versionOfColumn,
  type HeadHeader,
  type RecordState,
  type VersionState,
} from '../record-state.js'
import { recordNotFound, versionNotFound, type WantedFields } from './record-view.js'
import type { TableContext } from '../table-context.js'

/** Options of a read. */
export interface ReadOptions {
  /** Default: the newest version. */
  readonly version?: number | undefined
  /** Qualified names; absent or empty = all fields. */
  readonly fields?: readonly string[] | undefined
}

/** Versions to read: a list, or a range with inclusive bounds. */
export type VersionSelection =
  | readonly number[]
  | {
      /** The first version, inclusive. Default 1. */
      readonly from?: number | undefined
      /** The last version, inclusive. Default: the newest. */
      readonly to?: number | undefined
    }

const readNames = new OptionNames<ReadOptions>('a read of a record', {
  version: true,
  fields: true,
})
const fieldsNames = new OptionNames<Pick<ReadOptions, 'fields'>>('a read of records', {
  fields: true,
})
const rangeNames = new OptionNames<Exclude<VersionSelection, readonly number[]>>(
  'a range of versions',
  { from: true, to: true },
)
const noOptions: ReadOptions = Object.freeze({})

const versionsAtOnce = 1000
const headColumns = [headColumn]

function headGet(id: RecordId): Get {
  return { row: id.bytes, columns: headColumns }
}

function versionGet(id: RecordId, version: number): Get {
  return { row: id.bytes, columns: [headColumn, versionColumn(version)] }
}

/** A stored head, as bytes and decoded. */
export interface StoredHead {
  readonly bytes: Buffer | undefined
  readonly state: RecordState | undefined
}

/** The reader of a record table. */
export class RecordReader {
  readonly #context: TableContext

  constructor(context: TableContext) {
    this.#context = context
  }

  /** The head of a record, possibly of a deleted one. */
  async head(id: RecordId): Promise<StoredHead> {
    this.#context.checkOpen()
    const row = await this.#context.table.get(headGet(id))
    const bytes = row.value(headColumn)
    return { bytes, state: bytes === undefined ? undefined : decodeHead(bytes) }
  }

  /** Numbers of fields by their names; undefined = all. `ERR_FIELD_TYPE_NOT_FOUND`. */
  wanted(names: readonly string[] | undefined): WantedFields {
    if (names === undefined) return undefined
    const list = checkArray(names, 'fields')
    if (list.length === 0) return undefined
    return new Set(list.map((name) => this.#context.schema.field(name).ordinal))
  }

  async read(idLike: RecordIdLike, options: ReadOptions = noOptions): Promise<StoredRecord> {
    this.#context.checkOpen()
    const id = RecordId.of(idLike)
    const { version, wanted } = this.#optionsOf(options)
    if (version !== undefined) return this.#readVersion(id, version, wanted)
    return this.#newestOf(id, await this.#context.table.get(headGet(id)), wanted)
  }

  /** Synchronous {@link read}. `ERR_UNSUPPORTED` without synchronous reads. */
  readSync(idLike: RecordIdLike, options: ReadOptions = noOptions): StoredRecord {
    this.#context.checkOpen()
    const { syncTable, database } = this.#context
    if (syncTable === undefined) {
      requireCapability(database.capabilities, 'sync', 'a synchronous read of a record')
    }
    const id = RecordId.of(idLike)
    const { version, wanted } = this.#optionsOf(options)
    if (version === undefined) return this.#newestOf(id, syncTable!.getSync(headGet(id)), wanted)
    checkVersion(version)
    return this.#versionOf(id, syncTable!.getSync(versionGet(id, version)), version, wanted)
  }

  /** The records that exist, in the order of the ids. */
  async readList(
    ids: readonly RecordIdLike[],
    options: Pick<ReadOptions, 'fields'> = noOptions,
  ): Promise<StoredRecord[]> {
    this.#context.checkOpen()
    const wanted = this.#fieldsOf(options)
    const parsed = checkArray(ids, 'ids').map((id) => RecordId.of(id))
    const gets = parsed.map((id) => ({ row: id.bytes, columns: [headColumn] }))
    const rows = await this.#context.table.getList(gets)
    return rows.flatMap((row, index) => {
      const bytes = row.value(headColumn)
      if (bytes === undefined || readHeadHeader(new ByteReader(bytes, 'a record')).isDeleted) {
        return []
      }
      return [this.#context.views.newest(parsed[index], bytes, wanted)]
    })
  }

  /** Versions in ascending order; missing versions are left out. */
  async readVersions(
    idLike: RecordIdLike,
    selection: VersionSelection,
    options: Pick<ReadOptions, 'fields'> = noOptions,
  ): Promise<StoredRecord[]> {
    this.#context.checkOpen()
    const id = RecordId.of(idLike)
    const chosen = checkSelection(selection)
    const wanted = this.#fieldsOf(options)
    const bytes = await this.#headBytes(id)
    const header = this.#headerOf(id, bytes)
    const numbers = selectVersions(chosen, header)
    const records: StoredRecord[] = []
    for (let start = 0; start < numbers.length; start += versionsAtOnce) {
      const part = numbers.slice(start, start + versionsAtOnce)
      const row = await this.#context.table.get({
        row: id.bytes,
        columns: [headColumn, ...part.map(versionColumn)],
      })
      // The record may have changed since its header was read; this row is one consistent state.
      const head = row.value(headColumn)
      if (head === undefined) throw recordNotFound(id)
      records.push(...this.#versionsOfRow(id, row, head, part, wanted))
    }
    return records
  }

  /** The states of older versions, for writers. */
  async versionStates(
    id: RecordId,
    versions: readonly number[],
  ): Promise<Map<number, VersionState>> {
    if (versions.length === 0) return new Map()
    const columns = versions.map(versionColumn)
    const row = await this.#context.table.get({ row: id.bytes, columns })
    return new Map(
      row
        .cells()
        .map(({ qualifier, value }) => [versionOfColumn(qualifier)!, decodeVersion(value)]),
    )
  }

  /** The version that a tag points to; 0 = the view without versions, undefined without the tag. */
  versionOfTag(record: StoredRecord, tag: string): number | undefined {
    const name = tag.startsWith('{') ? tag : `{${versionTagNamespace}}${tag}`
    if (name === lastTag) return record.version ?? 0
    const { scope, valueType } = this.#context.schema.field(name)
    if (scope !== 'NON_VERSIONED' || valueType !== 'LONG') {
      throw invalidArgument(`${name} is no version tag: those are NON_VERSIONED and LONG`)
    }
    const value = record.fields[name] as bigint | undefined
    return value === undefined ? undefined : Number(value)
  }

  /** The record at a version tag; undefined if the tag, or the version it points to, is absent. */
  async readTagged(
    idLike: RecordIdLike,
    tag: string,
    options: Pick<ReadOptions, 'fields'> = noOptions,
  ): Promise<StoredRecord | undefined> {
    const id = RecordId.of(idLike)
    checkText(tag, 'a version tag')
    const wanted = this.#fieldsOf(options)
    const newest = await this.read(id)
    const version = this.versionOfTag(newest, tag)
    if (version === undefined) return undefined
    if (version === 0) {
      const { state } = await this.head(id)
      if (state === undefined || state.isDeleted) throw recordNotFound(id)
      return this.#context.views.ofState(id, state, 0, undefined, wanted)
    }
    try {
      return await this.#readVersion(id, version, wanted)
    } catch (error) {
      const isAbsent = error instanceof RepositoryError
      if (isAbsent && error.code === RepositoryErrorCode.versionNotFound) return undefined
      throw error
    }
  }

  /** The version that was the newest at a time; undefined if the record had no version then. */
  async versionAt(idLike: RecordIdLike, time: number): Promise<number | undefined> {
    this.#context.checkOpen()
    const id = RecordId.of(idLike)
    if (typeof time !== 'number' || Number.isNaN(time)) {
      throw invalidArgument(`a time in milliseconds is wanted, got ${shown(time)}`)
    }
    const header = this.#headerOf(id, await this.#headBytes(id))
    let low = header.first
    let high = header.version
    let found: number | undefined
    while (low <= high && low > 0) {
      const middle = Math.floor((low + high) / 2)
      const row = await this.#context.table.get(versionGet(id, middle))
      const head = row.value(headColumn)
      const { first, version } = this.#headerOf(id, head)
      if (middle < first || middle > version) {
        // Versions were dropped meanwhile, or the record was deleted and created again.
        ;[low, high, found] = [first, version, undefined]
        continue
      }
      const bytes = row.value(versionColumn(middle))
      const isNewest = middle === version
      if (!isNewest && bytes === undefined) throw corrupt(`${id.text} lacks its version ${middle}`)
      const state = isNewest ? decodeHead(head!).latest! : decodeVersion(bytes!)
      if (state.created > time) high = middle - 1
      else {
        found = middle
        low = middle + 1
      }
    }
    return found
  }

  /** The ids of the master and its variants that exist. */
  async variants(idLike: RecordIdLike): Promise<RecordId[]> {
    this.#context.checkOpen()
    const { master } = RecordId.of(idLike)
    const found: RecordId[] = []
    const scan = this.#context.table.scan({ prefix: master.bytes, columns: [headColumn] })
    for await (const row of scan) {
      const id = RecordId.fromBytes(row.row!)
      // Other ids of users may begin with the same bytes.
      if (!id.master.equals(master)) continue
      const head = row.value(headColumn)!
      if (!readHeadHeader(new ByteReader(head, 'a record')).isDeleted) found.push(id)
    }
    return found
  }

  #optionsOf(options: ReadOptions): {
    readonly version: number | undefined
    readonly wanted: WantedFields
  } {
    if (options === noOptions) return { version: undefined, wanted: undefined }
    const { version, fields } = readArguments(() => readNames.copy(options))
    return { version, wanted: this.wanted(fields) }
  }

  #fieldsOf(options: Pick<ReadOptions, 'fields'>): WantedFields {
    if (options === noOptions) return undefined
    return this.wanted(readArguments(() => fieldsNames.copy(options)).fields)
  }

  async #headBytes(id: RecordId): Promise<Buffer | undefined> {
    const row = await this.#context.table.get(headGet(id))
    return row.value(headColumn)
  }

  #headerOf(id: RecordId, bytes: Buffer | undefined): HeadHeader {
    if (bytes === undefined) throw recordNotFound(id)
    const header = readHeadHeader(new ByteReader(bytes, 'a record'))
    if (header.isDeleted) throw recordNotFound(id)
    return header
  }

  async #readVersion(id: RecordId, version: number, wanted: WantedFields): Promise<StoredRecord> {
    checkVersion(version)
    const row = await this.#context.table.get(versionGet(id, version))
    return this.#versionOf(id, row, version, wanted)
  }

  #newestOf(id: RecordId, row: Result, wanted: WantedFields): StoredRecord {
    const bytes = row.value(headColumn)
    if (bytes === undefined) throw recordNotFound(id)
    return this.#context.views.newest(id, bytes, wanted)
  }

  #versionOf(id: RecordId, row: Result, version: number, wanted: WantedFields): StoredRecord {
    const head = row.value(headColumn)
    const header = this.#headerOf(id, head)
    // Version 0 is a view for version tags, not a version.
    if (version === 0) throw recordNotFound(id)
    if (version < header.first || version > header.version) throw versionNotFound(id, version)
    const [record] = this.#versionsOfRow(id, row, head!, [version], wanted)
    return record
  }

  #versionsOfRow(
    id: RecordId,
    row: Result,
    head: Buffer,
    versions: readonly number[],
    wanted: WantedFields,
  ): StoredRecord[] {
    const { version: newest, first } = readHeadHeader(new ByteReader(head, 'a record'))
    return versions.flatMap((version) => {
      if (version < first || version > newest) return []
      if (version === newest) return [this.#context.views.newest(id, head, wanted)]
      const stored = row.value(versionColumn(version))
      if (stored === undefined) throw corrupt(`${id.text} lacks its version ${version}`)
      return [this.#context.views.older(id, head, version, stored, wanted)]
    })
  }
}

/** Checks a version. `ERR_INVALID_ARGUMENT`. */
export function checkVersion(version: unknown): asserts version is number {
  if (Number.isSafeInteger(version) && (version as number) >= 0 && (version as number) < 2 ** 47) {
    return
  }
  throw invalidArgument(`a version is a whole number, got ${shown(version)}`)
}

/** Checks a selection and copies it. `ERR_INVALID_ARGUMENT`. */
function checkSelection(selection: VersionSelection): VersionSelection {
  return readArguments(() => {
    if (isList(selection)) {
      const versions = checkArray(selection, 'versions')
      versions.forEach(checkVersion)
      return versions
    }
    const { from, to } = rangeNames.check(selection)
    if (from !== undefined) checkVersion(from)
    if (to !== undefined) checkVersion(to)
    return { from, to }
  })
}

function isList(selection: VersionSelection): selection is readonly number[] {
  return Array.isArray(selection)
}

function selectVersions(selection: VersionSelection, header: HeadHeader): number[] {
  const { first, version: newest } = header
  if (isList(selection)) {
    const unique = [...new Set(selection)].sort((a, b) => a - b)
    return unique.filter((version) => version >= first && version <= newest && version > 0)
  }
  const { from = 1, to = newest } = selection
  if (from > to && !(newest === 0 && to === 0)) {
    throw invalidArgument(`versions from ${from} to ${to} are none`)
  }
  const start = Math.max(from, first, 1)
  const count = Math.max(0, Math.min(to, newest) - start + 1)
  return Array.from({ length: count }, (_, index) => start + index)
}
