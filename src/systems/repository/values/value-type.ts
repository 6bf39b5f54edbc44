/**
 * Value types: what values a field may have, and how they become bytes, JSON and order.
 *
 * Every stored value begins with a byte that numbers its encoding (src/systems/repository/FORMAT.md), so
 * that a type may get a second one and still read the first. Equal values have equal bytes: that is
 * how writes find out what has changed.
 */
import type { ByteReader } from '../byte-reader.js'
import type { ByteWriter } from '../byte-writer.js'
import type { QualifiedName } from '../qualified-name.js'
import type { FieldType } from '../schema/field-type.js'
import type { RecordType } from '../schema/record-type.js'

/** The types that values refer to: one consistent view of the schema. */
export interface ValueSchema {
  /** `ERR_FIELD_TYPE_NOT_FOUND`. */
  field(name: string): FieldType
  /** The field type of a number in stored bytes; undefined if this view does not know it yet. */
  fieldAt(ordinal: number): FieldType | undefined
  /** The newest version. `ERR_RECORD_TYPE_NOT_FOUND`. */
  recordType(name: string): RecordType
  /** The newest version of the record type of a number in stored bytes. */
  recordTypeAt(ordinal: number): RecordType | undefined
  /** All fields of a type and its supertypes, with whether one of them makes a field mandatory. */
  effectiveFields(type: RecordType): ReadonlyMap<
    string,
    {
      /** Whether a record without the field is refused. */
      readonly mandatory: boolean
    }
  >
}

/** What a value is written for. */
export interface WriteContext {
  /** The types that the value refers to. */
  readonly schema: ValueSchema
  /** Records that the value is nested in, outermost first: a record cannot hold itself. */
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
  /** Writes a value behind the byte of its encoding. `ERR_INVALID_RECORD` if it does not fit. */
  write(writer: ByteWriter, value: unknown, context: WriteContext): void
  /** Reads what {@link write} wrote, or what an earlier encoding did. `ERR_CORRUPTION`. */
  read(reader: ByteReader, schema: ValueSchema): unknown
  /** The form of a value in JSON. */
  toJson(value: unknown): unknown
  /** The value of a form in JSON. `ERR_INVALID_RECORD`. */
  fromJson(json: unknown): unknown
  /** Order of two values; absent for types without one. */
  readonly compare?: (a: never, b: never) => number
  /** Bytes in the order of the values; absent for types without one. */
  readonly orderedBytes?: (value: never) => Buffer
}

/** Makes the value type of a name; `argument` is the text in angle brackets. */
export type ValueTypeFactory = (
  argument: string | undefined,
  parse: (text: string) => ValueType,
) => ValueType
