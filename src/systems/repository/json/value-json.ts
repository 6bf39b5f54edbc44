/** Values of fields in JSON. A single value has the JSON form of its value type. */
import {
  CellarError,
  boolean,
  callback,
  checked,
  checkMethods,
  checkObject,
  declareOptions,
  implementation,
  readArguments,
  required,
  shown,
  type GivenOptions,
  type OptionsOf,
} from '../../../api/index.js'
import {
  invalidArgument,
  invalidRecord,
  isRepositoryError,
  RepositoryErrorCode,
} from '../errors.js'
import { Link } from '../link.js'
import type { QualifiedName } from '../qualified-name.js'
import { recordDepthMax, tooDeep, type EmbeddedRecord } from '../values/nested-types.js'
import type { ValueSchema, ValueType } from '../values/value-type.js'
import { arrayOf, objectOf, plainJson, shownJson, textOf } from './json-shapes.js'
import { JsonNumber, type Json } from './json-text.js'
import { NameReader, NameWriter } from './namespaces.js'

const schema = required(implementation<ValueSchema>(['field', 'recordType']))

/** The declaration of {@link JsonInput}. */
export const inputOptions = declareOptions('what JSON is read with', {
  /** The types that the names refer to. */
  schema,
  /** Turns names with prefixes into qualified names. */
  namespaces: required(checked((given: NameReader) => NameReader.check(given))),
  /**
   * Called with every field that is set or removed; throws for a field that must not be written.
   */
  checkWrite: callback<(field: QualifiedName) => void>(),
  /**
   * Called with every field in conditions and filters; throws for a field that must not be read.
   */
  checkRead: callback<(field: QualifiedName) => void>(),
  /** Called with every link that is set; throws for a link that is not allowed. */
  checkLink: callback<(link: Link) => void>(),
  /** Whether empty texts, lists and records count as absent. Default false. */
  ignoresEmpty: boolean(false),
  /** Whether empty texts, lists and records delete their field of a record. Default false. */
  deletesEmpty: boolean(false),
})

/** Context for reading JSON. */
export interface JsonInput extends OptionsOf<typeof inputOptions> {}

const outputDeclarations = {
  /** The types that the values refer to. */
  schema,
  /** Writes the names of fields and types. */
  names: required(checked((given: NameWriter) => NameWriter.check(given))),
  /** Whether a field is written, also in embedded records. Default: all fields are. */
  isReadable: callback<(field: QualifiedName) => boolean>(),
}

/** Context for writing JSON. */
export interface JsonOutput extends GivenOptions<typeof outputDeclarations> {}

/** The declaration of {@link RecordOutput}. */
export const recordOutput = declareOptions('what JSON is written with', {
  ...outputDeclarations,
  /** Whether the types of the fields are written. Default false. */
  withSchema: boolean(false),
})

/** Context for writing a record. */
export interface RecordOutput extends OptionsOf<typeof recordOutput> {}

const exponentMax = 1000

/**
 * The value of a JSON form; undefined for an empty one that counts as absent. `ERR_INVALID_RECORD`
 * if it does not fit, `ERR_INVALID_ARGUMENT`. The arguments are checked.
 */
export function valueOf(type: ValueType, json: Json, input: JsonInput, at: string): unknown {
  if (input.ignoresEmpty === true && (json === '' || json === null)) return undefined
  if (json === null) throw invalidRecord(`${at}: null is no value`)
  if (type.element !== undefined) {
    const { element } = type
    if (!Array.isArray(json)) {
      throw invalidRecord(`${at}: a value of ${type.name} is an array, got ${shownJson(json)}`)
    }
    const values = arrayOf(json, at)
      .map((each, index) => valueOf(element, each, input, `${at}[${index}]`))
      .filter((value) => value !== undefined)
    return values.length === 0 && input.ignoresEmpty === true ? undefined : values
  }
  if (type.base === 'RECORD') return embeddedFromJson(type, json, input, at)
  try {
    const value = type.fromJson(type.base === 'DECIMAL' ? decimalOf(json) : plainJson(json))
    if (Link.is(value)) input.checkLink?.(value)
    return value
  } catch (error) {
    if (!isRepositoryError(error) || error.code === RepositoryErrorCode.forbidden) throw error
    throw new CellarError(error.code, `${at}: ${error.message}`)
  }
}

function embeddedFromJson(
  type: ValueType,
  json: Json,
  outer: JsonInput,
  at: string,
): EmbeddedRecord | undefined {
  const names = ['type', 'fields', 'namespaces', 'schema', 'id', 'version']
  const object = objectOf(json, at, names)
  const namespaces = outer.namespaces.with(object['namespaces'], `${at}.namespaces`)
  const input = { ...outer, namespaces }
  const fields = fieldsFromJson(object['fields'] ?? {}, input, `${at}.fields`)
  if (fields.length === 0 && input.ignoresEmpty === true) return undefined
  const given = object['type']
  const name = given === undefined || given === null ? undefined : typeNameOf(given, input, at)
  const recordType = name ?? type.recordType
  if (recordType === undefined) throw invalidRecord(`${at}: a record in a field needs a type`)
  return { type: recordType, fields: Object.fromEntries(fields) }
}

/**
 * Reads fields by qualified name. Those that count as absent are left out and passed to `emptied`.
 */
export function fieldsFromJson(
  json: Json,
  input: JsonInput,
  at: string,
  emptied?: (name: QualifiedName) => void,
): [QualifiedName, unknown][] {
  const fields: [QualifiedName, unknown][] = []
  const seen = new Set<string>()
  for (const [given, each] of Object.entries(objectOf(json, at))) {
    const name = input.namespaces.resolve(given, at)
    if (seen.has(name)) throw invalidArgument(`${at} has ${name} twice`)
    seen.add(name)
    input.checkWrite?.(name)
    const { type } = input.schema.field(name)
    const value = valueOf(type, each, input, `${at}.${given}`)
    if (value === undefined) emptied?.(name)
    else fields.push([name, value])
  }
  return fields
}

/** Reads the name of a record type, given as text or as an object with a name. */
export function typeNameOf(json: Json, { namespaces }: JsonInput, at: string): QualifiedName {
  if (typeof json === 'string') return namespaces.resolve(json, `${at}.type`)
  const { name } = objectOf(json, `${at}.type`, ['name', 'version'])
  return namespaces.resolve(textOf(name, `${at}.type.name`), `${at}.type.name`)
}

/** A decimal as text with all its digits; other JSON unchanged. */
function decimalOf(json: Json): unknown {
  if (!JsonNumber.is(json)) return json
  const match = /^(-?)([0-9]+)(?:\.([0-9]+))?[eE]([+-]?[0-9]+)$/.exec(json.text)
  if (match === null) return json.text
  const [, sign, whole, fraction = ''] = match
  const exponent = Number(match[4])
  if (Math.abs(exponent) > exponentMax) return json.text
  const point = whole.length + exponent
  const digits = `${'0'.repeat(Math.max(0, 1 - point))}${whole}${fraction}`
  const at = Math.max(1, point)
  const padded = digits.padEnd(at, '0')
  const left = padded.slice(0, at).replace(/^0+(?=.)/, '')
  return `${sign}${left}${padded.length > at ? `.${padded.slice(at)}` : ''}`
}

/** The JSON form of a value. `ERR_INVALID_RECORD` if it does not fit, `ERR_INVALID_ARGUMENT`. */
export function valueToJson(type: ValueType, value: unknown, output: JsonOutput): unknown {
  const checked = recordOutput.read(output)
  const methods = ['write', 'read', 'toJson', 'fromJson'] as const
  return readArguments(() =>
    formOf(checkMethods(type, 'the value type', methods), value, checked, 0),
  )
}

/** As {@link valueToJson}, with checked arguments, inside `depth` enclosing records. */
export function formOf(
  type: ValueType,
  value: unknown,
  output: JsonOutput,
  depth: number,
): unknown {
  if (type.element !== undefined) {
    const { element } = type
    if (!Array.isArray(value)) {
      throw invalidRecord(`a value of ${type.name} is an array, got ${shown(value)}`)
    }
    return value.map((each) => formOf(element, each, output, depth))
  }
  if (type.base !== 'RECORD') return type.toJson(value)
  if (depth >= recordDepthMax) throw tooDeep()
  const { type: name, fields } = checkObject(value as EmbeddedRecord, 'a value of RECORD')
  const recordType = name ?? type.recordType
  return {
    ...(recordType === undefined ? {} : { type: { name: output.names.write(recordType) } }),
    fields: fieldsToJson(fields, output, depth + 1),
  }
}

/** The readable fields by their written names. */
export function fieldsToJson(
  fields: Readonly<Record<string, unknown>>,
  output: JsonOutput,
  depth = 0,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(checkObject(fields, 'fields'))
      .filter(([name]) => output.isReadable?.(name as QualifiedName) !== false)
      .map(([name, value]) => {
        const field = output.schema.field(name)
        return [output.names.write(field.name), formOf(field.type, value, output, depth)]
      }),
  )
}
