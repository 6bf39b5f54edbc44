/**
 * Value types: the values that a field may have, with their bytes, JSON forms and order.
 *
 * Every stored value begins with the number of its encoding (src/systems/repository/FORMAT.md), so
 * a type may get a second encoding and still read the first. Equal values have equal bytes, by
 * which writes detect changes.
 */
import { shown } from '../../../api/index.js'
import { invalidRecord } from '../errors.js'
import type { ByteReader } from '../../bytes/byte-reader.js'
import type { ByteWriter } from '../../bytes/byte-writer.js'
import type { QualifiedName } from '../qualified-name.js'

/** A record type as values know it. */
export interface ValueRecordType {
  /** A UUID, assigned by the system. */
  readonly id: string
  /** Number of the record type in stored records. */
  readonly ordinal: number
  /** Qualified name, `{namespace}local`. */
  readonly name: QualifiedName
}

/** A field type as values know it. */
export interface ValueField extends ValueRecordType {
  /** Text form of {@link type}. */
  readonly valueType: string
  /** The value type. */
  readonly type: ValueType
  /** How the field is versioned: a `Scope`. */
  readonly scope: string
}

/** The types that values refer to, as one consistent view of the schema. */
export interface ValueSchema {
  /** The field type of a name. `ERR_FIELD_TYPE_NOT_FOUND`. */
  field(name: string): ValueField
  /** The field type of a number in stored bytes; undefined if this view lacks the type. */
  fieldAt(ordinal: number): ValueField | undefined
  /** The newest version of a record type. `ERR_RECORD_TYPE_NOT_FOUND`. */
  recordType(name: string): ValueRecordType
  /** The newest version of the record type of a number in stored bytes. */
  recordTypeAt(ordinal: number): ValueRecordType | undefined
  /** All fields of a type and its supertypes; a field is mandatory if any of the types says so. */
  effectiveFields(type: ValueRecordType): ReadonlyMap<
    string,
    {
      /** Whether a record without the field is refused. */
      readonly mandatory: boolean
    }
  >
}

/** Context for writing a value. */
export interface WriteContext {
  /** The types that the value refers to. */
  readonly schema: ValueSchema
  /** Records that enclose the value, outermost first: a record cannot contain itself. */
  readonly holders: object[]
}

/** One value type, with its argument if it has one. */
export interface ValueType {
  /** Text form, such as `LIST<STRING>`. */
  readonly name: string
  /** Text form without argument. */
  readonly base: string
  /** The type of the elements of a `LIST` or `PATH`. */
  readonly element?: ValueType
  /** The record type that a `LINK` or `RECORD` names. */
  readonly recordType?: QualifiedName
  /**
   * Writes the number of the encoding and the value. `ERR_INVALID_RECORD` if the value does not
   * fit.
   */
  write(writer: ByteWriter, value: unknown, context: WriteContext): void
  /** Reads a value of this encoding or an earlier one. `ERR_CORRUPTION`. */
  read(reader: ByteReader, schema: ValueSchema): unknown
  /** The JSON form of a value. */
  toJson(value: unknown): unknown
  /** The value of a JSON form. `ERR_INVALID_RECORD`. */
  fromJson(json: unknown): unknown
  /** Order of two values; absent for types without one. */
  readonly compare?: (a: never, b: never) => number
  /** Bytes in the order of the values; absent for types without one. */
  readonly orderedBytes?: (value: never) => Buffer
}

/** Creates the value type of a name; `argument` is the text in angle brackets. */
export type ValueTypeFactory = (
  argument: string | undefined,
  parse: (text: string) => ValueType,
) => ValueType

/** What distinguishes a kind of values; {@link valueType} makes a type of it. */
export interface ValueKind<T> {
  /** Description of a valid value in messages. */
  readonly wanted: string
  /** The value to store, or undefined if it does not fit. */
  accept(value: unknown): T | undefined
  /** Writes a value that `accept` returned. */
  write(writer: ByteWriter, value: T, context: WriteContext): void
  /** Reads a value as `write` wrote it. */
  read(reader: ByteReader, schema: ValueSchema): T
  /** The JSON form of a value. */
  toJson(value: T): unknown
  /** Reads JSON forms that `accept` does not take. */
  fromJson?(json: unknown): T | undefined
  /** Bytes in the order of the values. */
  orderedBytes?(value: T): Buffer
}

/** The only encoding of each kind so far. */
const encoding = 1

/** The type of a kind of values; `name` is its text form. */
export function valueType<T>(
  name: string,
  kind: ValueKind<T>,
  parts: Pick<ValueType, 'element' | 'recordType'> = {},
): ValueType {
  const accept = (value: unknown): T => {
    const accepted = kind.accept(value)
    if (accepted !== undefined) return accepted
    throw invalidRecord(`a value of ${name} is ${kind.wanted}, got ${shown(value)}`)
  }
  const ordered = (value: unknown): Buffer => kind.orderedBytes!(accept(value))
  const order = {
    orderedBytes: ordered,
    compare: (a: unknown, b: unknown) => Buffer.compare(ordered(a), ordered(b)),
  }
  return {
    name,
    base: name.split('<', 1)[0],
    ...parts,
    write: (writer, value, context) => {
      const accepted = accept(value)
      writer.byte(encoding)
      kind.write(writer, accepted, context)
    },
    read: (reader, schema) => {
      const found = reader.byte()
      if (found !== encoding) throw reader.failure(`there is no encoding ${found}`)
      return kind.read(reader, schema)
    },
    toJson: (value) => kind.toJson(accept(value)),
    fromJson: (json) => kind.fromJson?.(json) ?? accept(json),
    ...(kind.orderedBytes === undefined ? {} : order),
  }
}
