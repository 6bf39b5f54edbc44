/**
 * Imports types and records from JSON: one object with `namespaces`, `fieldTypes`, `recordTypes`
 * and `records`, or lines each of which is a record or such an object.
 *
 * Types are created, or changed as the import says; a conflict ends the import. Records are written
 * side by side, each in a write of its own: a failed record is counted and reported, the others
 * stay.
 */
import {
  boolean,
  callback,
  CellarError,
  checkMethods,
  choice,
  declareOptions,
  ErrorCode,
  integer,
  isBytes,
  type OptionsOf,
  type SettingsOf,
} from '../../../api/index.js'
import { hasCode, invalidArgument, isRepositoryError } from '../errors.js'
import { arrayOf, objectOf } from '../json/json-shapes.js'
import { parseJson, type Json, type JsonObject } from '../json/json-text.js'
import { NameReader } from '../json/namespaces.js'
import { recordFromJson } from '../json/record-json.js'
import { fieldTypeFromJson, recordTypeFromJson } from '../json/schema-json.js'
import { checkBuffer, checkPieces } from '../pieces.js'
import type { RecordTable } from '../tables/record-table.js'
import type { RecordInput } from '../records/record.js'
import type { TypeManager } from '../schema/type-manager.js'
import { tell } from '../../../comfort/told.js'

/** The text, whole or in pieces: strings or UTF-8. */
export type ImportSource =
  | string
  | Uint8Array
  | Iterable<string | Uint8Array>
  | AsyncIterable<string | Uint8Array>

/** A record or line that was not imported. */
export interface ImportFailure {
  /** The number of the line or of the record, from 1. */
  readonly place: number
  /** Undefined if the record has no id or the id cannot be read. */
  readonly id: string | undefined
  /** Code of the error. */
  readonly code: string
  /** Message of the error. */
  readonly message: string
}

/** The options of an import. */
export const importOptions = declareOptions('an import', {
  /** `object` (the default) or `lines`. */
  format: choice(['object', 'lines'], 'object'),
  /** Whether records are skipped. Default false. */
  schemaOnly: boolean(false),
  /** Whether empty texts, lists and records count as absent. Default false. */
  ignoreEmptyFields: boolean(false),
  /** Whether an empty value removes its field from the stored record. Default false. */
  ignoreAndDeleteEmptyFields: boolean(false),
  /** Number of records written side by side. Default 4. */
  workers: integer({ min: 1, max: 256, default: 4 }),
  /** Number of failures at which the import stops. Default 1. */
  failuresMax: integer({ min: 1, default: 1 }),
  /** Called for every record that was not imported; its errors are ignored. */
  failed: callback<(failure: ImportFailure) => void>(),
})

/** Options of an import. */
export interface ImportOptions extends OptionsOf<typeof importOptions> {}

/** The outcome of an import. */
export interface ImportCounts {
  /** Field types, new or not. */
  readonly fieldTypes: number
  /** Record types, new or not. */
  readonly recordTypes: number
  /** Records that were created. */
  readonly created: number
  /** Records that existed and were changed. */
  readonly updated: number
  /** Records that were already stored in that form. */
  readonly unchanged: number
  /** Records and lines that were not imported. */
  readonly failed: number
  /** Whether the import stopped early because of failures. */
  readonly isStopped: boolean
}

const importNames = ['namespaces', 'fieldTypes', 'recordTypes', 'records']
const objectBytesMax = 256 << 20
const retries = 20

interface Waiting {
  readonly place: number
  readonly json: Json
  readonly names: NameReader
}

/**
 * Imports into a record table. `ERR_INVALID_ARGUMENT` for a malformed import, and the errors of
 * `TypeManager` for types that cannot be created; errors of records are reported to `failed`.
 */
export async function importRecords(
  types: TypeManager,
  table: RecordTable,
  source: ImportSource,
  options: ImportOptions = {},
): Promise<ImportCounts> {
  return new Import(types, table, options).run(source)
}

class Import {
  readonly #types: TypeManager
  readonly #table: RecordTable
  readonly #options: SettingsOf<typeof importOptions>
  readonly #counts = {
    fieldTypes: 0,
    recordTypes: 0,
    created: 0,
    updated: 0,
    unchanged: 0,
    failed: 0,
  }

  constructor(types: TypeManager, table: RecordTable, options: ImportOptions) {
    this.#options = importOptions.read(options)
    this.#types = checkMethods(types, 'the types of an import', [
      'createOrUpdateFieldType',
      'createOrUpdateRecordType',
    ])
    this.#table = checkMethods(table, 'the record table of an import', ['create', 'createOrUpdate'])
  }

  get #isStopped(): boolean {
    return this.#counts.failed >= this.#options.failuresMax
  }

  async run(source: ImportSource): Promise<ImportCounts> {
    const records =
      this.#options.format === 'lines' ? this.#ofLines(source) : this.#ofObject(source)
    let isBroken = false
    const work = async (): Promise<void> => {
      try {
        while (!this.#isStopped && !isBroken) {
          const { done, value } = await records.next()
          if (done === true) return
          await this.#write(value)
        }
      } catch (error) {
        isBroken = true
        throw error
      }
    }
    const workers = Array.from({ length: this.#options.workers }, work)
    // All workers must have stopped writing before an error is returned to the caller.
    const outcomes = await Promise.allSettled(workers)
    await records.return()
    const rejected = outcomes.find((outcome) => outcome.status === 'rejected')
    if (rejected !== undefined) throw rejected.reason
    return { ...this.#counts, isStopped: this.#isStopped }
  }

  async *#ofObject(source: ImportSource): AsyncGenerator<Waiting, void> {
    const json = objectOf(parseJson(await wholeOf(source)), 'the import', importNames)
    const names = new NameReader().with(json['namespaces'], 'namespaces')
    await this.#importTypes(json, names)
    let place = 0
    for (const each of this.#recordsOf(json)) yield { place: ++place, json: each, names }
  }

  async *#ofLines(source: ImportSource): AsyncGenerator<Waiting, void> {
    let names = new NameReader()
    let place = 0
    for await (const line of splitLines(piecesOf(source))) {
      place++
      if (line.trim() === '') continue
      let json: Json
      try {
        json = parseJson(line)
      } catch (error) {
        this.#fail(place, undefined, error)
        if (this.#isStopped) return
        continue
      }
      if (!isImport(json)) {
        if (!this.#options.schemaOnly) yield { place, json, names }
        continue
      }
      objectOf(json, `line ${place}`, importNames)
      names = names.with(json['namespaces'], 'namespaces')
      await this.#importTypes(json, names)
      for (const each of this.#recordsOf(json)) yield { place, json: each, names }
    }
  }

  #recordsOf(json: JsonObject): readonly Json[] {
    const records = arrayOf(json['records'] ?? [], 'records')
    return this.#options.schemaOnly ? [] : records
  }

  async #importTypes(json: JsonObject, names: NameReader): Promise<void> {
    for (const each of arrayOf(json['fieldTypes'] ?? [], 'fieldTypes')) {
      const { name, valueType, scope } = fieldTypeFromJson(each, names)
      if (name === undefined) throw invalidArgument('a field type needs a name')
      await this.#types.createOrUpdateFieldType({ name, valueType, scope })
      this.#counts.fieldTypes++
    }
    let waiting = arrayOf(json['recordTypes'] ?? [], 'recordTypes').map((each) => {
      const { name, fields, supertypes, strict } = recordTypeFromJson(each, names)
      if (name === undefined) throw invalidArgument('a record type needs a name')
      return { name, fields, supertypes, strict }
    })
    // A type may precede its supertypes.
    while (waiting.length > 0) {
      const later: typeof waiting = []
      for (const each of waiting) {
        try {
          await this.#types.createOrUpdateRecordType(each)
          this.#counts.recordTypes++
        } catch (error) {
          const mayFollow = later.length + 1 < waiting.length
          if (!mayFollow || !hasCode(error, 'recordTypeNotFound')) throw error
          later.push(each)
        }
      }
      waiting = later
    }
  }

  async #write({ place, json, names }: Waiting): Promise<void> {
    let input: RecordInput | undefined
    try {
      const { ignoreEmptyFields, ignoreAndDeleteEmptyFields } = this.#options
      const { schema } = this.#types
      const empty = { ignoresEmpty: ignoreEmptyFields, deletesEmpty: ignoreAndDeleteEmptyFields }
      input = recordFromJson(json, { schema, namespaces: names, ...empty })
      const isPinned = typeof input.type === 'object' && input.type.version !== undefined
      const useLatestRecordType = !isPinned
      const { status } = await (input.id === undefined
        ? this.#table.create(input, { useLatestRecordType })
        : this.#table.createOrUpdate(input, { useLatestRecordType, retries }))
      if (status === 'CREATED') this.#counts.created++
      else if (status === 'UPDATED') this.#counts.updated++
      else this.#counts.unchanged++
    } catch (error) {
      this.#fail(place, input, error)
    }
  }

  /** Reports an error of a record; an error of the database ends the import. */
  #fail(place: number, input: RecordInput | undefined, error: unknown): void {
    const isOfRecord =
      (isRepositoryError(error) && !hasCode(error, 'closed')) ||
      (error instanceof CellarError && error.code === ErrorCode.invalidArgument)
    if (!isOfRecord) throw error
    this.#counts.failed++
    const id = input?.id === undefined ? undefined : String(input.id)
    tell(this.#options.failed, { place, id, code: error.code, message: error.message })
  }
}

/** Whether a line has declarations, rather than a record. */
function isImport(json: Json): json is JsonObject {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return false
  const names = Object.keys(json)
  return names.length > 0 && names.every((name) => importNames.includes(name))
}

function piecesOf(source: ImportSource): AsyncIterable<Buffer> {
  const isWhole = typeof source === 'string' || isBytes(source)
  return checkPieces(isWhole ? [source] : source, 'an import is text or UTF-8', (piece) => {
    // Copied, because a piece belongs to the caller again at the next step.
    return Buffer.from(
      typeof piece === 'string' ? piece : checkBuffer(piece, 'a piece of an import'),
    )
  })
}

async function wholeOf(source: ImportSource): Promise<string | Uint8Array> {
  if (typeof source === 'string') return source
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of piecesOf(source)) {
    bytes += piece.length
    if (bytes > objectBytesMax) {
      throw invalidArgument(
        `an import of one object has at most ${objectBytesMax} bytes: use lines`,
      )
    }
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

const lineBytesMax = 64 << 20

/**
 * The lines, without their ends. `ERR_INVALID_ARGUMENT` for a line that is too long or not UTF-8.
 */
async function* splitLines(pieces: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
  let parts: Buffer[] = []
  let bytes = 0
  const take = (): string => {
    const line = Buffer.concat(parts)
    parts = []
    bytes = 0
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(line)
    } catch {
      throw invalidArgument('a line is no UTF-8')
    }
  }
  for await (const buffer of pieces) {
    let start = 0
    for (let end = buffer.indexOf(10); end >= 0; end = buffer.indexOf(10, start)) {
      parts.push(buffer.subarray(start, end))
      yield take()
      start = end + 1
    }
    parts.push(buffer.subarray(start))
    bytes += buffer.length - start
    if (bytes > lineBytesMax) throw invalidArgument(`a line has at most ${lineBytesMax} bytes`)
  }
  if (bytes > 0) yield take()
}
