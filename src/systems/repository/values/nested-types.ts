/** The value types with an argument: links, lists, paths and embedded records. */
import { shown } from '../../../api/index.js'
import type { ByteReader } from '../../bytes/byte-reader.js'
import type { ByteWriter } from '../../bytes/byte-writer.js'
import { invalidArgument, invalidRecord } from '../errors.js'
import { Link } from '../link.js'
import { checkName, type QualifiedName } from '../qualified-name.js'
import { checkEncoding } from './simple-types.js'
import type { ValueSchema, ValueTypeFactory, WriteContext } from './value-type.js'

/** A record inside a field, without id and version. Only fields of its type are allowed. */
export interface EmbeddedRecord {
  /** Default: the type that the value type names. */
  readonly type?: QualifiedName | undefined
  /** Values by qualified name. */
  readonly fields: Readonly<Record<string, unknown>>
}

const encoding = 1
const depthMax = 64

function nameOf(argument: string | undefined, base: string): QualifiedName | undefined {
  return argument === undefined ? undefined : checkName(argument, `the record type of ${base}`)
}

function withArgument(base: string, recordType: QualifiedName | undefined): string {
  return recordType === undefined ? base : `${base}<${recordType}>`
}

/** `LINK` and `LINK<{namespace}type>`. */
export const linkTypes: ValueTypeFactory = (argument) => {
  const recordType = nameOf(argument, 'LINK')
  const accept = (value: unknown): Link => {
    if (Link.is(value)) return value
    throw invalidRecord(`a value of LINK is a Link, got ${shown(value)}`)
  }
  return {
    name: withArgument('LINK', recordType),
    base: 'LINK',
    ...(recordType === undefined ? {} : { recordType }),
    write: (writer, value) => {
      const { text } = accept(value)
      writer.byte(encoding)
      writer.text(text)
    },
    read: (reader) => {
      checkEncoding(reader, encoding)
      const text = reader.text()
      try {
        return Link.parse(text)
      } catch {
        throw reader.failure('the link cannot be read')
      }
    },
    toJson: (value) => accept(value).text,
    fromJson: (json) => {
      if (typeof json !== 'string')
        throw invalidRecord(`a link in JSON is text, got ${shown(json)}`)
      return Link.parse(json)
    },
  }
}

/** `LIST<x>` and `PATH<x>`. Both are arrays; they differ in indexes and in display. */
export function arrayTypes(base: 'LIST' | 'PATH'): ValueTypeFactory {
  return (argument, parse) => {
    if (argument === undefined) throw invalidArgument(`${base} needs an argument: ${base}<STRING>`)
    const element = parse(argument)
    const accept = (value: unknown): readonly unknown[] => {
      if (Array.isArray(value)) return value
      throw invalidRecord(`a value of ${base}<${element.name}> is an array, got ${shown(value)}`)
    }
    return {
      name: `${base}<${element.name}>`,
      base,
      element,
      write: (writer, value, context) => {
        const elements = accept(value)
        writer.byte(encoding)
        writer.varint(elements.length)
        for (const each of elements) element.write(writer, each, context)
      },
      read: (reader, schema) => {
        checkEncoding(reader, encoding)
        const values: unknown[] = []
        for (let left = reader.count(); left > 0; left--) values.push(element.read(reader, schema))
        return values
      },
      toJson: (value) => accept(value).map((each) => element.toJson(each)),
      fromJson: (json) => accept(json).map((each) => element.fromJson(each)),
    }
  }
}

/** `RECORD` and `RECORD<{namespace}type>`. */
export const recordTypes: ValueTypeFactory = (argument) => {
  const recordType = nameOf(argument, 'RECORD')
  return {
    name: withArgument('RECORD', recordType),
    base: 'RECORD',
    ...(recordType === undefined ? {} : { recordType }),
    write: (writer, value, context) => writeRecord(writer, value, recordType, context),
    read: readRecord,
    // The JSON form of embedded records is in json/value-json.ts; here a value passes unchanged.
    toJson: (value) => value,
    fromJson: (json) => json,
  }
}

function writeRecord(
  writer: ByteWriter,
  value: unknown,
  byType: QualifiedName | undefined,
  context: WriteContext,
): void {
  const { schema, holders } = context
  if (typeof value !== 'object' || value === null) {
    throw invalidRecord(`a value of RECORD is an object, got ${shown(value)}`)
  }
  if (holders.includes(value)) throw invalidRecord('a record cannot hold itself')
  if (holders.length >= depthMax) throw invalidRecord(`records nest ${depthMax} deep at most`)
  const { type: ownType, fields } = value as Partial<EmbeddedRecord>
  const name = ownType ?? byType
  if (name === undefined) throw invalidRecord('a record inside a field needs a type')
  if (typeof fields !== 'object' || fields === null) {
    throw invalidRecord('a record inside a field needs fields')
  }
  const type = schema.recordType(name)
  const allowed = schema.effectiveFields(type)
  const parts = Object.entries(fields).map(([fieldName, fieldValue]) => {
    const field = schema.field(fieldName)
    if (!allowed.has(field.id)) throw invalidRecord(`${fieldName} is no field of ${name}`)
    return { field, fieldValue }
  })
  // Sorted, so that equal records have equal bytes in every input order.
  parts.sort((a, b) => a.field.ordinal - b.field.ordinal)
  writer.byte(encoding)
  writer.varint(type.ordinal)
  writer.varint(parts.length)
  holders.push(value)
  for (const { field, fieldValue } of parts) {
    writer.varint(field.ordinal)
    writer.nested(() => field.type.write(writer, fieldValue, context))
  }
  holders.pop()
}

function readRecord(reader: ByteReader, schema: ValueSchema): EmbeddedRecord {
  checkEncoding(reader, encoding)
  const type = schema.recordTypeAt(reader.varint())
  if (type === undefined) throw reader.failure('its record type does not exist')
  const fields: Record<string, unknown> = {}
  for (let left = reader.count(); left > 0; left--) {
    const field = schema.fieldAt(reader.varint())
    if (field === undefined) throw reader.failure('a field type does not exist')
    reader.varint()
    fields[field.name] = field.type.read(reader, schema)
  }
  return { type: type.name, fields }
}
