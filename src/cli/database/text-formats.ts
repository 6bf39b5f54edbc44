/**
 * Cells as lines of text without loss: JSON lines, and CSV.
 *
 * JSON: first the table, `{"table": …}`, then one cell a line, and last `{"cells": …}`, their
 * number, without which a dump that was cut would look whole. CSV (RFC 4180): a line of names,
 * then one cell a line. The column `encoding` is the encoding of row, qualifier and value.
 */
import { isUtf8 } from 'node:buffer'
import { invalidArgument, type CellTypeName, type TableDescription } from '../../api/index.js'
import { latestTimestamp } from '../../storage/cell/timestamp.js'
import type { ExportedCell } from '../../table/transfer/export-cells.js'
import { bytesFromJson, bytesToJson, decodeBase64, toJson } from '../../server/database/json.js'
import { linesOf } from '../../server/database/lines.js'

/** The name of a format. */
export type TextFormat = 'json' | 'csv'

const columns = ['row', 'family', 'qualifier', 'timestamp', 'type', 'ttl', 'encoding', 'value']

/** The lines before the first cell. */
export function headLine(format: TextFormat, table: TableDescription): string {
  return format === 'csv' ? columns.join(',') : toJson({ table })
}

/** The line after the last of so many cells; undefined: the format has none. */
export function endLine(format: TextFormat, cells: number): string | undefined {
  return format === 'csv' ? undefined : JSON.stringify({ cells })
}

/** A cell as a line. */
export function cellLine(format: TextFormat, cell: ExportedCell): string {
  const { row, family, qualifier, timestamp, type, ttlMilliseconds, value } = cell
  if (format === 'json') {
    return JSON.stringify({
      row: bytesToJson(row),
      family,
      qualifier: bytesToJson(qualifier),
      timestamp: timestamp <= Number.MAX_SAFE_INTEGER ? Number(timestamp) : timestamp.toString(),
      ...(type !== 'Put' && { type }),
      ...(ttlMilliseconds !== undefined && { ttlMilliseconds }),
      ...(type === 'Put' && { value: bytesToJson(value) }),
    })
  }
  const encoding = [row, qualifier, value].every((bytes) => isUtf8(bytes)) ? 'utf8' : 'base64'
  const [rowText, qualifierText, valueText] = [row, qualifier, value].map((bytes) =>
    bytes.toString(encoding),
  )
  const ttl = ttlMilliseconds === undefined ? '' : String(ttlMilliseconds)
  const fields = [rowText, family, qualifierText, String(timestamp), type, ttl, encoding, valueText]
  return fields.map(csvField).join(',')
}

function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A line of a dump: the table, a cell, or the number of cells. */
export type DumpLine = { readonly table: TableDescription } | ExportedCell | { cells: number }

/** Reads lines of JSON. `ERR_INVALID_ARGUMENT` with the number of the line. */
export async function* readJsonLines(
  pieces: AsyncIterable<string>,
): AsyncGenerator<DumpLine, void> {
  let number = 0
  for await (const line of linesOf(pieces)) {
    number++
    if (line.trim() === '') continue
    yield atLine(number, () => {
      const given = objectOf(JSON.parse(line), 'a line')
      if (given['table'] !== undefined) {
        return { table: objectOf(given['table'], 'table') as unknown as TableDescription }
      }
      if (given['cells'] !== undefined) return { cells: Number(given['cells']) }
      return {
        row: bytesFromJson(given['row'], 'row'),
        family: textOf(given['family'], 'family'),
        qualifier: bytesFromJson(given['qualifier'], 'qualifier'),
        timestamp: timestampOf(exactOf(given['timestamp'])),
        type: (given['type'] ?? 'Put') as CellTypeName,
        ttlMilliseconds: given['ttlMilliseconds'] as number | undefined,
        value:
          given['value'] === undefined ? Buffer.alloc(0) : bytesFromJson(given['value'], 'value'),
      }
    })
  }
}

/**
 * Reads CSV. `ERR_INVALID_ARGUMENT` with the number of the record. The last record needs its end of
 * line: without it nothing tells a whole value from one that was cut.
 */
export async function* readCsv(pieces: AsyncIterable<string>): AsyncGenerator<DumpLine, void> {
  let number = 0
  for await (const fields of recordsOf(pieces)) {
    number++
    if (number === 1 && fields.join() === columns.join()) continue
    yield atLine(number, () => {
      if (fields.length !== columns.length) throw new Error(`${fields.length} fields`)
      const [row, family, qualifier, timestamp, type, ttl, encoding, value] = fields
      if (encoding !== 'utf8' && encoding !== 'base64') throw new Error(`encoding '${encoding}'`)
      const bytes = (text: string): Buffer =>
        encoding === 'base64' ? decodeBase64(text) : Buffer.from(text, 'utf8')
      return {
        ...{ row: bytes(row), family, qualifier: bytes(qualifier), value: bytes(value) },
        timestamp: timestampOf(timestamp),
        type: type as CellTypeName,
        ttlMilliseconds: ttl === '' ? undefined : Number(ttl),
      }
    })
  }
}

/** Where a reader is in a field. */
const Place = {
  /** Before its first character. */
  start: 0,
  /** In one without quotes. */
  plain: 1,
  /** Within quotes. */
  quoted: 2,
  /** After a quote that ends the field, or is the first of two. */
  quote: 3,
} as const

async function* recordsOf(pieces: AsyncIterable<string>): AsyncGenerator<string[], void> {
  let number = 1
  let fields: string[] = []
  let field = ''
  let place: (typeof Place)[keyof typeof Place] = Place.start
  for await (const piece of pieces) {
    for (const char of piece) {
      if (place === Place.quoted) {
        if (char === '"') place = Place.quote
        else field += char
      } else if (char === '"') {
        if (place === Place.plain)
          throw invalidArgument(`line ${number}: a quote in a field without quotes`)
        // The second of two quotes, or the beginning of a field.
        if (place === Place.quote) field += char
        place = Place.quoted
      } else if (char === ',' || char === '\n') {
        const hasReturn = char === '\n' && place === Place.plain && field.endsWith('\r')
        fields.push(hasReturn ? field.slice(0, -1) : field)
        field = ''
        place = Place.start
        if (char === ',') continue
        if (fields.length > 1 || fields[0] !== '') {
          yield fields
          number++
        }
        fields = []
      } else if (place !== Place.quote) {
        field += char
        place = Place.plain
      } else if (char !== '\r')
        throw invalidArgument(`line ${number}: text after the quotes of a field`)
    }
  }
  if (place === Place.quoted) throw invalidArgument('the end of the file is within quotes')
  if (place !== Place.start || fields.length > 0) {
    throw invalidArgument(`line ${number} has no end of line: the file may be cut`)
  }
}

function atLine<T>(number: number, step: () => T): T {
  try {
    return step()
  } catch (error) {
    throw invalidArgument(`line ${number}: ${(error as Error).message}`)
  }
}

function textOf(value: unknown, name: string): string {
  if (typeof value === 'string') return value
  throw new Error(`${name} must be a text`)
}

function objectOf(value: unknown, name: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  throw new Error(`${name} must be an object`)
}

/** The digits of a number in JSON, which reads those of larger ones as others. */
function exactOf(value: unknown): string {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return String(value)
  throw new Error(`timestamp must be a text if it is no whole number up to 2^53-1, got ${value}`)
}

/** A timestamp. The largest of 64 bits stands for the time of the write, which no dump has. */
function timestampOf(text: string): bigint {
  const timestamp = /^\d{1,19}$/.test(text) ? BigInt(text) : latestTimestamp
  if (timestamp < latestTimestamp) return timestamp
  throw new Error(`timestamp must be a whole number below 2^63-1, got '${text}'`)
}
