/** Describes the row of a record cell by cell, for the inspection of a database. */
import {
  checkArray,
  checkMethods,
  checkObject,
  checkText,
  readArguments,
  shown,
} from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import { decodeMetadata } from '../records/metadata.js'
import type { RecordTable } from './record-table.js'
import {
  decodeHead,
  decodeVersion,
  headColumn,
  versionOfColumn,
  type FieldCells,
  type TypeReference,
  type VersionState,
} from '../records/record-state.js'
import { RecordId, type RecordIdLike } from '../record-id.js'

/** One cell of a row. */
export interface RowCell {
  /** Family and qualifier of the cell. */
  readonly column: string
  /** Timestamp of the cell. */
  readonly timestamp: number
  /** Size of the value in bytes. */
  readonly size: number
  /** The decoded content: texts by name, in order. */
  readonly parts: readonly (readonly [name: string, text: string])[]
}

/** The row of a record. */
export interface RecordRow {
  /** Text of the id. */
  readonly id: string
  /** The row in hexadecimal. */
  readonly row: string
  /** The cells of the row; empty if the row does not exist. */
  readonly cells: readonly RowCell[]
}

/** Reads and decodes the row of a record, also of a deleted one. `ERR_INVALID_ARGUMENT`. */
export async function describeRow(table: RecordTable, idLike: RecordIdLike): Promise<RecordRow> {
  checkMethods(table, 'a record table', ['read'])
  const id = RecordId.of(idLike)
  const result = await table.context.table.get({ row: id.bytes })
  const cells = result.cells().map(({ family, qualifier, value, timestamp }): RowCell => {
    const version = versionOfColumn(qualifier)
    const name = version === undefined ? qualifier.toString('latin1') : `v${version}`
    const column = `${String(family)}:${name}`
    const size = value.length
    const parts = partsOf(table, column, version, value)
    return { column, timestamp: Number(timestamp), size, parts }
  })
  return { id: id.text, row: id.bytes.toString('hex'), cells }
}

function partsOf(
  table: RecordTable,
  column: string,
  version: number | undefined,
  value: Buffer,
): [string, string][] {
  if (version !== undefined) return versionParts(table, decodeVersion(value))
  if (column !== headColumn) return [['text', value.toString('utf8')]]
  const {
    occ,
    isDeleted,
    version: newest,
    first,
    last,
    autosave,
    created,
    modified,
    ...state
  } = decodeHead(value)
  const parts: [string, string][] = [
    ['revision', String(occ)],
    ['deleted', String(isDeleted)],
    ['versions', `${first} to ${newest}, ${last} at most so far`],
    ['autosave', autosave === 0 ? 'none' : String(autosave)],
    ['created', new Date(created).toISOString()],
    ['modified', new Date(modified).toISOString()],
    ['type', typeText(table, state.type)],
    ...fieldParts(table, state.fields),
  ]
  return state.latest === undefined ? parts : [...parts, ...versionParts(table, state.latest)]
}

function versionParts(table: RecordTable, state: VersionState): [string, string][] {
  return [
    ['created', new Date(state.created).toISOString()],
    ['modified', new Date(state.modified).toISOString()],
    ['versioned type', typeText(table, state.versionedType)],
    ['mutable type', typeText(table, state.mutableType)],
    ...removedParts(table, state.removed),
    ...fieldParts(table, state.fields),
  ]
}

function typeText({ context }: RecordTable, type: TypeReference | undefined): string {
  if (type === undefined) return 'none'
  const { name, version } = context.views.typeName(type)
  return `${name} ${version}`
}

function removedParts({ context }: RecordTable, removed: ReadonlySet<number>): [string, string][] {
  if (removed.size === 0) return []
  const names = [...removed].map((ordinal) => context.schema.fieldAt(ordinal)!.name)
  return [['removed', names.join(', ')]]
}

function fieldParts({ context }: RecordTable, fields: FieldCells): [string, string][] {
  return [...fields].map(([ordinal, { value, metadata }]) => {
    const { name, type } = context.schema.fieldAt(ordinal)!
    const shownValue = JSON.stringify(type.toJson(context.views.valueOf(ordinal, value)), plain)
    const shownMetadata =
      metadata === undefined ? '' : ` ${JSON.stringify(decodeMetadata(metadata), plain)}`
    return [name, `${shownValue}${shownMetadata}`]
  })
}

function plain(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}

/** Checks and copies a result of {@link describeRow}. */
function readRow(given: RecordRow): RecordRow {
  return readArguments(() => {
    const { id, row, cells } = checkObject(given, 'a row')
    return {
      id: checkText(id, 'the id of a row'),
      row: checkText(row, 'the row in hexadecimal'),
      cells: checkArray(cells, 'the cells of a row').map(readCell),
    }
  })
}

function readCell(given: RowCell): RowCell {
  const { column, timestamp, size, parts } = checkObject(given, 'a cell of a row')
  for (const value of [timestamp, size]) {
    if (typeof value === 'number') continue
    throw invalidArgument(`timestamp and size of a cell are numbers, got ${shown(value)}`)
  }
  return {
    column: checkText(column, 'the column of a cell'),
    timestamp,
    size,
    parts: checkArray(parts, 'the parts of a cell').map((part) => {
      const [name, text] = checkArray(part, 'a part of a cell')
      return [checkText(name, 'the name of a part'), checkText(text, 'the text of a part')]
    }),
  }
}

/** Formats a row as lines of text. `ERR_INVALID_ARGUMENT`. */
export function rowText(given: RecordRow): string {
  const { id, row, cells } = readRow(given)
  const lines = [`${id} (${row})`]
  for (const { column, timestamp, size, parts } of cells) {
    lines.push(`  ${column} @${timestamp}, ${size} bytes`)
    for (const [name, text] of parts) lines.push(`    ${name}: ${text}`)
  }
  return `${lines.join('\n')}\n`
}

/** Formats a row as an HTML page. `ERR_INVALID_ARGUMENT`. */
export function rowHtml(given: RecordRow): string {
  const { id, row, cells } = readRow(given)
  const rows = cells.map(({ column, timestamp, size, parts }) => {
    const list = parts.map(
      ([name, text]) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(text)}</dd>`,
    )
    const head = `<td>${escapeHtml(column)}</td><td>${timestamp}</td><td>${size}</td>`
    return `<tr>${head}<td><dl>${list.join('')}</dl></td></tr>`
  })
  return `<!doctype html>
<meta charset="utf-8">
<title>${escapeHtml(id)}</title>
<h1>${escapeHtml(id)}</h1>
<p>Row ${escapeHtml(row)}</p>
<table border="1"><tr><th>column</th><th>timestamp</th><th>bytes</th><th>content</th></tr>
${rows.join('\n')}
</table>
`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
