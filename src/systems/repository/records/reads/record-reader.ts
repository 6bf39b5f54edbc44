/** Reads records of one table: newest versions, old versions, several records, and variants. */
import {
  assert,
  checkArray,
  checked,
  checkText,
  declareOptions,
  readArguments,
  requireCapability,
  shown,
  type Get,
  type OptionsOf,
  type Result,
} from '../../../../api/index.js'
import { ByteReader } from '../../../bytes/byte-reader.js'
import { corrupt, invalidArgument, recordNotFound, versionNotFound } from '../../errors.js'
import { lastTag, versionTagNamespace } from '../../qualified-name.js'
import { RecordId, type RecordIdLike } from '../../record-id.js'
import { decodeField } from '../field-values.js'
import {
  decodeHead,
  decodeVersion,
  headColumn,
  isDeletedHead,
  readHeadHeader,
  versionColumn,
  versionOfColumn,
  type HeadHeader,
  type RecordState,
  type VersionState,
} from '../record-state.js'
import { checkVersion, versionOption, type StoredRecord } from '../record.js'
import type { TableContext } from '../table-context.js'
import type { WantedFields } from './record-view.js'

const fields = {
  /** Qualified names; absent or empty = all fields. */
  fields: checked(checkArray<string>),
}

/** The declaration of {@link FieldOptions}. */
export const fieldsOptions = declareOptions('a read of records', fields)

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

const versionsAtOnce = 1000
const headColumns = [headColumn]

/** A get of the newest version, or of one version. */
function getOf(id: RecordId, version?: number): Get {
  const columns = version === undefined ? headColumns : [headColumn, versionColumn(version)]
  return { row: id.bytes, columns }
}

/** A stored head, as bytes and decoded; undefined without a row. */
export interface StoredHead {
  readonly id: RecordId
  readonly bytes: Buffer | undefined
  readonly state: RecordState | undefined
}

/** The head of a record that exists. */
export interface LiveHead extends StoredHead {
  readonly bytes: Buffer
  readonly state: RecordState
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
    const row = await this.#context.table.get(getOf(id))
    const bytes = row.value(headColumn)
    return { id, bytes, state: bytes === undefined ? undefined : decodeHead(bytes) }
  }

  /** The head of a record that exists. `ERR_RECORD_NOT_FOUND`. */
  async live(id: RecordId): Promise<LiveHead> {
    this.#context.checkOpen()
    const row = await this.#context.table.get(getOf(id))
    const bytes = row.value(headColumn)
    if (bytes === undefined || isDeletedHead(bytes)) throw recordNotFound(id)
    return { id, bytes, state: decodeHead(bytes) }
  }

  async read(idLike: RecordIdLike, options?: ReadOptions): Promise<StoredRecord> {
    this.#context.checkOpen()
    const id = RecordId.of(idLike)
    const { version, wanted } = this.#asked(options)
    return this.#shown(id, await this.#context.table.get(getOf(id, version)), version, wanted)
  }

  readSync(idLike: RecordIdLike, options?: ReadOptions): StoredRecord {
    this.#context.checkOpen()
    const { syncTable, database } = this.#context
    if (syncTable === undefined) {
      requireCapability(database.capabilities, 'sync', 'a synchronous read of a record')
    }
    const id = RecordId.of(idLike)
    const { version, wanted } = this.#asked(options)
    return this.#shown(id, syncTable!.getSync(getOf(id, version)), version, wanted)
  }

  async readList(ids: readonly RecordIdLike[], options?: FieldOptions): Promise<StoredRecord[]> {
    this.#context.checkOpen()
    const { wanted } = this.#asked(options, fieldsOptions)
    const parsed = checkArray(ids, 'ids').map((id) => RecordId.of(id))
    const rows = await this.#context.table.getList(parsed.map((id) => getOf(id)))
    return rows.flatMap((row, index) => {
      const bytes = row.value(headColumn)
      if (bytes === undefined || headerIn(bytes).isDeleted) return []
      return [this.#context.views.newest(parsed[index], bytes, wanted)]
    })
  }

  async readVersions(
    idLike: RecordIdLike,
    selection: VersionSelection,
    options?: FieldOptions,
  ): Promise<StoredRecord[]> {
    this.#context.checkOpen()
    const id = RecordId.of(idLike)
    const chosen = checkSelection(selection)
    const { wanted } = this.#asked(options, fieldsOptions)
    const { table } = this.#context
    const numbers = selectVersions(chosen, headerOf(id, await table.get(getOf(id))))
    const records: StoredRecord[] = []
    for (let start = 0; start < numbers.length; start += versionsAtOnce) {
      const part = numbers.slice(start, start + versionsAtOnce)
      const columns = [headColumn, ...part.map(versionColumn)]
      const row = await table.get({ row: id.bytes, columns })
      // The record may have changed since its header was read; this row is one consistent state.
      records.push(...this.#versionsOfRow(id, row, part, wanted))
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
    const cells = row.cells()
    return new Map(
      cells.map(({ qualifier, value }) => [versionOfColumn(qualifier)!, decodeVersion(value)]),
    )
  }

  /** The state of one version of a record; undefined if there is no such version. */
  async versionState({ id, state }: LiveHead, version: number): Promise<VersionState | undefined> {
    if (version === state.version) return state.latest
    if (version <= 0 || version < state.first || version > state.version) return undefined
    return (await this.versionStates(id, [version])).get(version)
  }

  async readTagged(
    idLike: RecordIdLike,
    tag: string,
    options?: FieldOptions,
  ): Promise<StoredRecord | undefined> {
    const id = RecordId.of(idLike)
    checkText(tag, 'a version tag')
    const { wanted } = this.#asked(options, fieldsOptions)
    const head = await this.live(id)
    const version = this.#versionOfTag(head.state, tag)
    if (version === undefined) return undefined
    const ofVersion = version === 0 ? undefined : await this.versionState(head, version)
    if (version !== 0 && ofVersion === undefined) return undefined
    return this.#context.views.ofState(id, head.state, version, ofVersion, wanted)
  }

  /** The version that was the newest at a time; undefined if the record had no version then. */
  async versionAt(idLike: RecordIdLike, time: number): Promise<number | undefined> {
    this.#context.checkOpen()
    const id = RecordId.of(idLike)
    if (typeof time !== 'number' || Number.isNaN(time)) {
      throw invalidArgument(`a time in milliseconds is wanted, got ${shown(time)}`)
    }
    const header = headerOf(id, await this.#context.table.get(getOf(id)))
    let low = header.first
    let high = header.version
    let found: number | undefined
    while (low <= high && low > 0) {
      const middle = Math.floor((low + high) / 2)
      const row = await this.#context.table.get(getOf(id, middle))
      const { first, version } = headerOf(id, row)
      if (middle < first || middle > version) {
        // Versions were dropped meanwhile, or the record was deleted and created again.
        ;[low, high, found] = [first, version, undefined]
        continue
      }
      const bytes = row.value(middle === version ? headColumn : versionColumn(middle))
      if (bytes === undefined) throw corrupt(`${id.text} lacks its version ${middle}`)
      const state = middle === version ? decodeHead(bytes).latest! : decodeVersion(bytes)
      if (state.created > time) high = middle - 1
      else {
        found = middle
        low = middle + 1
      }
    }
    return found
  }

  async variants(idLike: RecordIdLike): Promise<RecordId[]> {
    this.#context.checkOpen()
    const { master } = RecordId.of(idLike)
    const found: RecordId[] = []
    const scan = this.#context.table.scan({ prefix: master.bytes, columns: headColumns })
    for await (const row of scan) {
      const id = RecordId.fromBytes(row.row!)
      // Other ids of users may begin with the same bytes.
      if (!id.master.equals(master)) continue
      if (!headerIn(row.value(headColumn)!).isDeleted) found.push(id)
    }
    return found
  }

  #asked(
    options: ReadOptions | undefined,
    declared: { read(options: ReadOptions): ReadOptions } = readOptions,
  ): { readonly version: number | undefined; readonly wanted: WantedFields } {
    if (options === undefined) return noOptions
    const { version, fields: names = [] } = declared.read(options)
    if (names.length === 0) return { version, wanted: undefined }
    return {
      version,
      wanted: new Set(names.map((name) => this.#context.schema.field(name).ordinal)),
    }
  }

  /** The version that a tag points to; 0 = the view without versions, undefined without the tag. */
  #versionOfTag(state: RecordState, tag: string): number | undefined {
    const name = tag.startsWith('{') ? tag : `{${versionTagNamespace}}${tag}`
    if (name === lastTag) return state.version
    const { schema } = this.#context
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
      return this.#context.views.newest(id, bytes, wanted)
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
    const { version: newest, first } = headerIn(head)
    assert(first <= newest, 'the first version of a record is not after the newest')
    return versions.flatMap((version) => {
      if (version < first || version > newest) return []
      if (version === newest) return [this.#context.views.newest(id, head, wanted)]
      const stored = row.value(versionColumn(version))
      if (stored === undefined) throw corrupt(`${id.text} lacks its version ${version}`)
      return [this.#context.views.older(id, head, version, stored, wanted)]
    })
  }
}

const noOptions = { version: undefined, wanted: undefined }

function headerIn(head: Buffer): HeadHeader {
  return readHeadHeader(new ByteReader(head, 'a record'))
}

/** The header of a record that exists. `ERR_RECORD_NOT_FOUND`. */
function headerOf(id: RecordId, row: Result): HeadHeader {
  const head = row.value(headColumn)
  const header = head === undefined ? undefined : headerIn(head)
  if (header === undefined || header.isDeleted) throw recordNotFound(id)
  return header
}

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
