/** The value types with an argument: links, lists, paths and embedded records. */
import { assert, checkObject, shown, type CellarError } from '../../../api/index.js'
import type { ByteReader } from '../../bytes/byte-reader.js'
import type { ByteWriter } from '../../bytes/byte-writer.js'
import { invalidArgument, invalidRecord } from '../errors.js'
import { Link } from '../link.js'
import { checkName, type QualifiedName } from '../qualified-name.js'
import {
  valueType,
  type ValueKind,
  type ValueSchema,
  type ValueType,
  type ValueTypeFactory,
  type WriteContext,
} from './value-type.js'

/** A record inside a field, without id and version. Only fields of its type are allowed. */
export interface EmbeddedRecord {
  /** Default: the type that the value type names. */
  readonly type?: QualifiedName | undefined
  /** Values by qualified name. */
  readonly fields: Readonly<Record<string, unknown>>
}

/** Limit of nested records in a field. */
export const recordDepthMax = 64

/**
 * Calls back for every single value of a field, through lists and paths at any depth. With a schema
 * also for the values in embedded records, in place of these. `ERR_INVALID_RECORD` for a value of
 * another type.
 */
export function eachValue(
  type: ValueType,
  value: unknown,
  callback: (value: unknown, type: ValueType) => void,
  schema?: Pick<ValueSchema, 'field'>,
  depth = 0,
): void {
  const { element } = type
  if (element !== undefined) {
    if (!Array.isArray(value)) throw unfitValue(type, value)
    for (const each of value) eachValue(element, each, callback, schema, depth)
  } else if (schema !== undefined && type.base === 'RECORD') {
    if (depth >= recordDepthMax) throw tooDeep()
    const { fields } = checkObject(value as EmbeddedRecord, 'a record in a field')
    for (const [name, inner] of Object.entries(checkObject(fields, 'its fields'))) {
      eachValue(schema.field(name).type, inner, callback, schema, depth + 1)
    }
  } else callback(value, type)
}

/** Makes an `ERR_INVALID_RECORD` for a value of another type. */
export function unfitValue({ name }: ValueType, value: unknown): CellarError {
  return invalidRecord(`a value of ${name} cannot be ${shown(value)}`)
}

/** Makes an `ERR_INVALID_RECORD` for records beyond {@link recordDepthMax}. */
export function tooDeep(): CellarError {
  return invalidRecord(`records nest ${recordDepthMax} deep at most`)
}

/** The text form and the record type of a type that may name one in its argument. */
function named(
  base: string,
  argument: string | undefined,
): [name: string, parts: { readonly recordType?: QualifiedName }] {
  if (argument === undefined) return [base, {}]
  const recordType = checkName(argument, `the record type of ${base}`)
  return [`${base}<${recordType}>`, { recordType }]
}

const link: ValueKind<Link> = {
  wanted: 'a Link, in JSON its text',
  accept: (value) => (Link.is(value) ? value : undefined),
  write: (writer, { text }) => writer.text(text),
  read: (reader) => {
    const text = reader.text()
    try {
      return Link.parse(text)
    } catch {
      throw reader.failure('the link cannot be read')
    }
  },
  toJson: ({ text }) => text,
  fromJson: (json) => (typeof json === 'string' ? Link.parse(json) : undefined),
}

/** `LINK` and `LINK<{namespace}type>`. */
export const linkTypes: ValueTypeFactory = (argument) => {
  const [name, parts] = named('LINK', argument)
  return valueType(name, link, parts)
}

/** `LIST<x>` and `PATH<x>`. Both are arrays; they differ in indexes and in display. */
export function arrayTypes(base: 'LIST' | 'PATH'): ValueTypeFactory {
  return (argument, parse) => {
    if (argument === undefined) throw invalidArgument(`${base} needs an argument: ${base}<STRING>`)
    const element = parse(argument)
    const kind: ValueKind<readonly unknown[]> = {
      wanted: 'an array',
      accept: (value) => (Array.isArray(value) ? value : undefined),
      write: (writer, elements, context) => {
        writer.varint(elements.length)
        for (const each of elements) element.write(writer, each, context)
      },
      read: (reader, schema) => {
        const values: unknown[] = []
        for (let left = reader.count(); left > 0; left--) values.push(element.read(reader, schema))
        return values
      },
      toJson: (values) => values.map((each) => element.toJson(each)),
      fromJson: (json) => {
        return Array.isArray(json) ? json.map((each) => element.fromJson(each)) : undefined
      },
    }
    return valueType(`${base}<${element.name}>`, kind, { element })
  }
}

/** `RECORD` and `RECORD<{namespace}type>`. */
export const recordTypes: ValueTypeFactory = (argument) => {
  const [name, parts] = named('RECORD', argument)
  return valueType<object>(
    name,
    {
      wanted: 'an object',
      accept: (value) => (typeof value === 'object' && value !== null ? value : undefined),
      write: (writer, value, context) => writeRecord(writer, value, parts.recordType, context),
      read: readRecord,
      // The JSON form of embedded records is in json/value-json.ts; here a value passes unchanged.
      toJson: (value) => value,
    },
    parts,
  )
}

function writeRecord(
  writer: ByteWriter,
  value: object,
  byType: QualifiedName | undefined,
  context: WriteContext,
): void {
  const { schema, holders } = context
  if (holders.includes(value)) throw invalidRecord('a record cannot hold itself')
  if (holders.length >= recordDepthMax) throw tooDeep()
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
  writer.varint(type.ordinal)
  writer.varint(parts.length)
  const depth = holders.push(value)
  for (const { field, fieldValue } of parts) {
    writer.varint(field.ordinal)
    writer.nested(() => field.type.write(writer, fieldValue, context))
  }
  assert(holders.length === depth, 'a record is left at the depth at which it was entered')
  holders.pop()
}

function readRecord(reader: ByteReader, schema: ValueSchema): EmbeddedRecord {
  const type = schema.recordTypeAt(reader.varint())
  if (type === undefined) throw reader.failure('its record type does not exist')
  const fields: Record<string, unknown> = {}
  for (let left = reader.count(); left > 0; left--) {
    const field = schema.fieldAt(reader.varint())
    if (field === undefined) throw reader.failure('a field type does not exist')
    const length = reader.varint()
    const left = reader.left - length
    fields[field.name] = field.type.read(reader, schema)
    if (reader.left !== left) throw reader.failure(`${field.name} has not ${length} bytes`)
  }
  return { type: type.name, fields }
}
