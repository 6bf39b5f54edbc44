/**
 * The stored form of a record (src/systems/repository/FORMAT.md).
 *
 * One cell, the head, holds the whole newest version, so a read of the newest version reads one
 * cell. Every older version is a cell of its own, with all its fields. A read of versions or a diff
 * reads only the head and the cells of these versions, independent of the number of versions.
 */
import { ByteReader, type NamedRecord } from '../../bytes/byte-reader.js'
import { ByteWriter } from '../../bytes/byte-writer.js'
import { corrupt } from '../errors.js'

const format = 2
/** The greatest version of a record. */
export const versionMax = 2 ** 47 - 1
const deletedFlag = 1
const keptEmptyFlag = 2

/** The family of record tables. */
export const recordFamily = 'r'
/** The column of the head. */
export const headColumn = 'r:h'
/** The column of the event of the last change. */
export const eventColumn = 'r:e'

/** Whether a cell is in {@link eventColumn}. */
export function isEventColumn(family: string, qualifier: Buffer): boolean {
  return family === recordFamily && qualifier.length === 1 && qualifier[0] === 0x65
}

/** A reference to a version of a record type. */
export interface TypeReference {
  /** Number of the record type. */
  readonly ordinal: number
  readonly version: number
}

/** A field of a stored record. */
export interface FieldCell {
  readonly value: Buffer
  /** The encoded metadata; undefined without any. */
  readonly metadata: Buffer | undefined
}

/** Fields by the number of the field type. */
export type FieldCells = Map<number, FieldCell>

/** The versioned and mutable fields of one version. */
export interface VersionState {
  /**
   * Time of creation in milliseconds. It never changes, and it never decreases from one version to
   * the next, even if the clock steps back.
   */
  readonly created: number
  /** Time of the last write of the version: its creation, an autosave or a mutable update. */
  readonly modified: number
  readonly versionedType: TypeReference | undefined
  readonly mutableType: TypeReference | undefined
  /**
   * Numbers of the mutable fields that were removed in this version or in one that it was made
   * from. A field that is neither here nor in `fields` never existed in the version.
   */
  readonly removed: ReadonlySet<number>
  readonly fields: FieldCells
}

/** The decoded head of a record. */
export interface RecordState {
  /** Grows with every write of the row. */
  readonly occ: number
  readonly isDeleted: boolean
  /** Whether the record was deleted without fields and versions, and can be restored. */
  readonly isKeptEmpty: boolean
  /** The newest version; 0 if the record has none. */
  readonly version: number
  /** The oldest version that can be read. */
  readonly first: number
  /** The greatest version that this id ever had. */
  readonly last: number
  /** The newest version if it is an autosave, which the next autosave overwrites; else 0. */
  readonly autosave: number
  /** Milliseconds; `modified` never decreases, even if the clock steps back. */
  readonly created: number
  readonly modified: number
  readonly type: TypeReference
  readonly fields: FieldCells
  /** Undefined if the record has no version. */
  readonly latest: VersionState | undefined
}

/** The stored newest value of a field, by the number of the field type. */
export function newestCell(state: RecordState | undefined, ordinal: number): FieldCell | undefined {
  return state?.fields.get(ordinal) ?? state?.latest?.fields.get(ordinal)
}

/** Whether two values or two metadata are the same, or both absent. */
export function sameBytes(a: Buffer | undefined, b: Buffer | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.equals(b))
}

/** The column of a version that is no longer the newest. */
export function versionColumn(version: number): { family: string; qualifier: Buffer } {
  const qualifier = Buffer.alloc(8)
  qualifier.write('v', 'latin1')
  qualifier.writeUIntBE(version, 2, 6)
  return { family: recordFamily, qualifier }
}

/** The version of a column; undefined for other columns. */
export function versionOfColumn(qualifier: Buffer): number | undefined {
  return qualifier.length === 8 && qualifier[0] === 0x76 ? qualifier.readUIntBE(2, 6) : undefined
}

function writeType(writer: ByteWriter, type: TypeReference | undefined): void {
  writer.varint(type?.ordinal ?? 0)
  writer.varint(type?.version ?? 0)
}

function readType(reader: ByteReader): TypeReference | undefined {
  const ordinal = reader.varint()
  const version = reader.varint()
  return ordinal === 0 ? undefined : { ordinal, version }
}

/** The fields in the order of their numbers; stored fields are already sorted. */
function inOrder(fields: FieldCells): Iterable<[number, FieldCell]> {
  let last = 0
  for (const ordinal of fields.keys()) {
    if (ordinal < last) return [...fields].sort(([a], [b]) => a - b)
    last = ordinal
  }
  return fields
}

function writeFields(writer: ByteWriter, fields: FieldCells): void {
  writer.varint(fields.size)
  // Sorted, so that equal states have equal bytes in every input order.
  for (const [ordinal, { value, metadata }] of inOrder(fields)) {
    writer.varint(ordinal)
    writer.bytes(value)
    writer.varint(metadata?.length ?? 0)
    if (metadata !== undefined) writer.raw(metadata)
  }
}

function readCells(reader: ByteReader): FieldCells {
  const fields: FieldCells = new Map()
  for (let left = reader.count(); left > 0; left--) {
    const ordinal = reader.varint()
    const value = reader.bytes()
    const length = reader.varint()
    fields.set(ordinal, { value, metadata: length === 0 ? undefined : reader.raw(length) })
  }
  return fields
}

function writeVersion(writer: ByteWriter, version: VersionState): void {
  writer.varint(version.created)
  writer.varint(version.modified)
  writeType(writer, version.versionedType)
  writeType(writer, version.mutableType)
  writer.varint(version.removed.size)
  for (const ordinal of [...version.removed].sort((a, b) => a - b)) writer.varint(ordinal)
  writeFields(writer, version.fields)
}

/** The header of a version: all parts before its fields. */
export type VersionHeader = Omit<VersionState, 'fields'>

/** Reads the header of a version. */
export function readVersionHeader(reader: ByteReader): VersionHeader {
  return {
    created: reader.varint(),
    modified: reader.varint(),
    versionedType: readType(reader),
    mutableType: readType(reader),
    removed: readNumbers(reader),
  }
}

/** The empty set of {@link VersionState.removed}. */
export const noNumbers: ReadonlySet<number> = new Set()

function readNumbers(reader: ByteReader): ReadonlySet<number> {
  let left = reader.count()
  if (left === 0) return noNumbers
  const numbers = new Set<number>()
  for (; left > 0; left--) numbers.add(reader.varint())
  return numbers
}

/** The header of a head: all parts before its fields. */
export type HeadHeader = Omit<RecordState, 'fields' | 'latest'>

/** Reads the header of a head. `ERR_CORRUPTION`. */
export function readHeadHeader(reader: ByteReader): HeadHeader {
  if (reader.byte() !== format) throw reader.failure('the format is not known')
  const flags = reader.byte()
  if (flags > (deletedFlag | keptEmptyFlag) || flags === keptEmptyFlag) {
    throw reader.failure(`there are no flags ${flags}`)
  }
  const header: HeadHeader = {
    isDeleted: (flags & deletedFlag) !== 0,
    isKeptEmpty: (flags & keptEmptyFlag) !== 0,
    occ: reader.varint(),
    version: reader.varint(),
    first: reader.varint(),
    last: reader.varint(),
    autosave: reader.varint(),
    created: reader.varint(),
    modified: reader.varint(),
    type: { ordinal: reader.varint(), version: reader.varint() },
  }
  const { first, version, last, autosave } = header
  const areInOrder = first <= version && version <= last && last <= versionMax
  const hasFirst = first > 0 || version === 0
  if (areInOrder && hasFirst && (autosave === 0 || autosave === version)) return header
  throw reader.failure(`no versions are ${first} to ${version} of ${last}, autosave ${autosave}`)
}

/** Whether a head belongs to a deleted record. `ERR_CORRUPTION`. */
export function isDeletedHead(bytes: Buffer, { text }: NamedRecord): boolean {
  if (bytes.length < 2 || bytes[0] !== format) {
    throw corrupt(`the record ${text} has no head that is known`)
  }
  return (bytes[1] & deletedFlag) !== 0
}

/** Encodes a head. */
export function encodeHead(state: RecordState): Buffer {
  const writer = new ByteWriter(512)
  writer.byte(format)
  writer.byte((state.isDeleted ? deletedFlag : 0) | (state.isKeptEmpty ? keptEmptyFlag : 0))
  writer.varint(state.occ)
  writer.varint(state.version)
  writer.varint(state.first)
  writer.varint(state.last)
  writer.varint(state.autosave)
  writer.varint(state.created)
  writer.varint(state.modified)
  writeType(writer, state.type)
  writeFields(writer, state.fields)
  if (state.latest !== undefined) writeVersion(writer, state.latest)
  return writer.finish()
}

/** Decodes the head of a record. `ERR_CORRUPTION` names the record. */
export function decodeHead(bytes: Buffer, record: NamedRecord): RecordState {
  const reader = new ByteReader(bytes, record)
  // Listed one by one, because the spread of an object is slower.
  const header = readHeadHeader(reader)
  const { isDeleted, isKeptEmpty, occ, version, first, last, autosave } = header
  const { created, modified, type } = header
  const fields = readCells(reader)
  const latest = version > 0 ? readVersion(reader) : undefined
  reader.finish()
  return {
    isDeleted,
    isKeptEmpty,
    occ,
    version,
    first,
    last,
    autosave,
    created,
    modified,
    type,
    fields,
    latest,
  }
}

function readVersion(reader: ByteReader): VersionState {
  // Listed one by one, because the spread of an object is slower.
  const { created, modified, versionedType, mutableType, removed } = readVersionHeader(reader)
  return { created, modified, versionedType, mutableType, removed, fields: readCells(reader) }
}

/** Encodes a version that is no longer the newest. */
export function encodeVersion(version: VersionState): Buffer {
  const writer = new ByteWriter(512)
  writer.byte(format)
  writeVersion(writer, version)
  return writer.finish()
}

/** A reader at the header of a stored version of a record. `ERR_CORRUPTION`. */
export function versionReader(bytes: Buffer, record: NamedRecord): ByteReader {
  const reader = new ByteReader(bytes, record)
  if (reader.byte() !== format) throw reader.failure('the format is not known')
  return reader
}

/** Decodes a stored version of a record. `ERR_CORRUPTION` names the record. */
export function decodeVersion(bytes: Buffer, record: NamedRecord): VersionState {
  const reader = versionReader(bytes, record)
  const version = readVersion(reader)
  reader.finish()
  return version
}
