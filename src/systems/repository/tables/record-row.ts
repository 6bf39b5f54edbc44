/** Describes the row of a record cell by cell, for the inspection of a database. */
import { checkMethods } from '../../../api/index.js'
import { RecordId, type RecordIdLike } from '../record-id.js'
import { decodeField } from '../records/field-values.js'
import { decodeMetadata } from '../records/metadata.js'
import { typeName } from '../records/reads/record-heads.js'
import {
  decodeHead,
  decodeVersion,
  headColumn,
  versionOfColumn,
  type FieldCells,
  type TypeReference,
  type VersionState,
} from '../records/record-state.js'
import type { TableContext } from '../records/table-context.js'
import type { RecordTable } from './record-table.js'

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

/** The row of a record; made by {@link describeRow}. */
export class RecordRow {
  /** Text of the id. */
  readonly id: string
  /** The row in hexadecimal. */
  readonly row: string
  /** The cells of the row; empty if the row does not exist. */
  readonly cells: readonly RowCell[]

  /** @internal */
  constructor(id: RecordId, cells: readonly RowCell[]) {
    this.id = id.text
    this.row = id.bytes.toString('hex')
    this.cells = cells
  }

  /** The row as lines of text. */
  text(): string {
    const lines = [`${this.id} (${this.row})`]
    for (const { column, timestamp, size, parts } of this.cells) {
      lines.push(`  ${column} @${timestamp}, ${size} bytes`)
      for (const [name, text] of parts) lines.push(`    ${name}: ${text}`)
    }
    return `${lines.join('\n')}\n`
  }

  /** The row as an HTML page. */
  html(): string {
    const rows = this.cells.map(({ column, timestamp, size, parts }) => {
      const list = parts.map(
        ([name, text]) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(text)}</dd>`,
      )
      const head = `<td>${escapeHtml(column)}</td><td>${timestamp}</td><td>${size}</td>`
      return `<tr>${head}<td><dl>${list.join('')}</dl></td></tr>`
    })
    return `<!doctype html>
<meta charset="utf-8">
<title>${escapeHtml(this.id)}</title>
<h1>${escapeHtml(this.id)}</h1>
<p>Row ${this.row}</p>
<table border="1"><tr><th>column</th><th>timestamp</th><th>bytes</th><th>content</th></tr>
${rows.join('\n')}
</table>
`
  }
}

/** Reads and decodes the row of a record, also of a deleted one. `ERR_INVALID_ARGUMENT`. */
export async function describeRow(table: RecordTable, idLike: RecordIdLike): Promise<RecordRow> {
  checkMethods(table, 'a record table', ['read'])
  const id = RecordId.of(idLike)
  const { context } = table
  const result = await context.table.get({ row: id.bytes })
  const cells = result.cells().map(({ family, qualifier, value, timestamp }): RowCell => {
    const version = versionOfColumn(qualifier)
    const name = version === undefined ? qualifier.toString('latin1') : `v${version}`
    const column = `${String(family)}:${name}`
    let parts: readonly Part[] = [['text', value.toString('utf8')]]
    if (version !== undefined) parts = versionParts(context, decodeVersion(value, id))
    else if (column === headColumn) parts = headParts(context, id, value)
    return { column, timestamp: Number(timestamp), size: value.length, parts }
  })
  return new RecordRow(id, cells)
}

type Part = readonly [name: string, text: string]

function headParts(context: TableContext, id: RecordId, value: Buffer): Part[] {
  const state = decodeHead(value, id)
  const { occ, isDeleted, version, first, last, autosave, type, fields, latest } = state
  return [
    ['revision', String(occ)],
    ['deleted', String(isDeleted)],
    ['versions', `${first} to ${version}, ${last} at most so far`],
    ['autosave', autosave === 0 ? 'none' : String(autosave)],
    ...times(state),
    ['type', typeText(context, type)],
    ...fieldParts(context, fields),
    ...(latest === undefined ? [] : versionParts(context, latest)),
  ]
}

function versionParts(context: TableContext, state: VersionState): Part[] {
  const removed = [...state.removed].map((ordinal) => context.schema.storedFieldAt(ordinal).name)
  return [
    ...times(state),
    ['versioned type', typeText(context, state.versionedType)],
    ['mutable type', typeText(context, state.mutableType)],
    ...(removed.length === 0 ? [] : [['removed', removed.join(', ')] as const]),
    ...fieldParts(context, state.fields),
  ]
}

function times({ created, modified }: Pick<VersionState, 'created' | 'modified'>): Part[] {
  return [
    ['created', new Date(created).toISOString()],
    ['modified', new Date(modified).toISOString()],
  ]
}

function typeText({ schema }: TableContext, type: TypeReference | undefined): string {
  if (type === undefined) return 'none'
  const { name, version } = typeName(schema, type)
  return `${name} ${version}`
}

function fieldParts({ schema }: TableContext, fields: FieldCells): Part[] {
  return [...fields].map(([ordinal, { value, metadata }]) => {
    const field = schema.storedFieldAt(ordinal)
    const parts = [field.type.toJson(decodeField(field, value, schema))]
    if (metadata !== undefined) parts.push(decodeMetadata(metadata))
    const plain = (_: string, part: unknown): unknown => {
      return typeof part === 'bigint' ? String(part) : part
    }
    return [field.name, parts.map((part) => JSON.stringify(part, plain)).join(' ')]
  })
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
