/**
 * Entries of an index: the keys that the values of a row give, each as a row of its own.
 *
 * A form says which values a row has for each part of the key, and how they are written. The
 * entries are those of all combinations of the values; none if a part has none. Declared indexes
 * (declaration.ts) and the field indexes of the repository are forms.
 *
 *   key    part* row of the data      not unique: entries of equal parts sort by the row
 *          part*                      unique
 */
import { copyBytes, equalBytes, type Bytes } from '../../base/bytes.js'
import { CellarError, ErrorCode } from '../../base/errors.js'
import { rowBytesMax } from '../../storage/cell/limits.js'

/** An entry of an index. */
export interface Entry {
  /** The row in the table of the index. */
  readonly key: Buffer
  readonly value: Buffer
  readonly row: Buffer
}

/** One part of the keys of entries, from a source of values such as a row. */
export interface EntryPart<S> {
  values(source: S): readonly unknown[]
  /**
   * Writes a value and returns the offset behind; one above `rowBytesMax` is refused, and nothing
   * need be written then. REQUIRES room for twice `rowBytesMax` and a terminator.
   */
  write(target: Bytes, offset: number, value: unknown): number
}

/** How the entries of an index are made. */
export interface EntryForm<S> {
  readonly parts: readonly EntryPart<S>[]
  /** Whether keys do not end with the row. */
  readonly unique: boolean
  /** What the entries of a row hold beside their keys. */
  valueOf(row: Buffer, source: S): Buffer
  /** Makes the error of a key of more than `rowBytesMax` bytes. */
  tooLong(row: Buffer, bytes: number): Error
}

/** As `EntryPart.write`, for a value that is the bytes of its part already. */
export function writeBytes(target: Bytes, offset: number, value: unknown): number {
  const bytes = value as Buffer
  const end = offset + bytes.length
  if (end <= rowBytesMax) copyBytes(bytes, 0, bytes.length, target, offset)
  return end
}

/** Most entries of a row: some short lists in one key have more combinations than memory holds. */
const entriesMax = 100_000

const scratch = Buffer.allocUnsafe(3 * rowBytesMax + 16)

/**
 * The entries of a row, in the order of their keys. Throws the errors of the form, and
 * `ERR_TOO_LARGE` if there are too many.
 */
export function entriesOf<S>(form: EntryForm<S>, row: Buffer, source: S): Entry[] {
  const keys = keysOf(form, row, source, entriesMax)
  if (keys.length === 0) return []
  const value = form.valueOf(row, source)
  const entries: Entry[] = []
  for (const key of keys) entries.push({ key, value, row })
  return entries
}

function keysOf<S>(form: EntryForm<S>, row: Buffer, source: S, countMax: number): Buffer[] {
  const values = valuesOf(form, source)
  const count = countOf(values)
  if (count > countMax) {
    throw new CellarError(
      ErrorCode.tooLarge,
      `the values of a row make ${count} entries of an index, of at most ${countMax}`,
    )
  }
  const rowBytes = form.unique ? 0 : row.length
  const keys: Buffer[] = []
  for (let at = 0; at < count; at++) {
    const end = writeParts(form, row, values, at, count)
    const key = Buffer.allocUnsafe(end + rowBytes)
    copyBytes(scratch, 0, end, key, 0)
    copyBytes(row, 0, rowBytes, key, end)
    keys.push(key)
  }
  if (keys.length < 2) return keys
  keys.sort((a, b) => Buffer.compare(a, b))
  return keys.filter((key, i) => i === 0 || !key.equals(keys[i - 1]))
}

/** The entries by their keys as text. */
export function byKey(entries: readonly Entry[]): Map<string, Entry> {
  return new Map(entries.map((entry) => [entry.key.toString('latin1'), entry]))
}

/** Whether a row has the entry with the key, which was made for the row. */
export function hasEntry<S>(form: EntryForm<S>, key: Buffer, row: Buffer, source: S): boolean {
  const values = valuesOf(form, source)
  const count = countOf(values)
  const partsEnd = form.unique ? key.length : key.length - row.length
  for (let at = 0; at < count; at++) {
    const end = writeParts(form, row, values, at, count)
    if (equalBytes(scratch, 0, end, key, 0, partsEnd)) return true
  }
  return false
}

/** What a change of a row does to its entries. */
export interface EntryChanges {
  readonly entries: readonly Entry[]
  /** The keys of the entries that go. */
  readonly removed: readonly Buffer[]
  /** The entries that are new, or have another value. */
  readonly written: readonly Entry[]
}

/**
 * The difference between the entries of a row before a change and after it; a source of undefined
 * gives none.
 */
export function entryChanges<S>(
  form: EntryForm<S>,
  row: Buffer,
  before: S | undefined,
  after: S | undefined,
): EntryChanges {
  const entries = after === undefined ? [] : entriesOf(form, row, after)
  if (before === undefined) return { entries, removed: [], written: entries }
  const removed: Buffer[] = []
  const written: Entry[] = []
  let oldValue: Buffer | undefined
  let at = 0
  for (const key of keysOf(form, row, before, Infinity)) {
    let order = 1
    for (; at < entries.length && order > 0; at++) {
      order = Buffer.compare(key, entries[at].key)
      if (order < 0) break
      const isSame =
        order === 0 && entries[at].value.equals((oldValue ??= form.valueOf(row, before)))
      if (!isSame) written.push(entries[at])
    }
    if (order !== 0) removed.push(key)
  }
  for (; at < entries.length; at++) written.push(entries[at])
  return { entries, removed, written }
}

function valuesOf<S>({ parts }: EntryForm<S>, source: S): (readonly unknown[])[] {
  const values: (readonly unknown[])[] = []
  for (const part of parts) values.push(part.values(source))
  return values
}

/** The number of combinations of the values; each is a key, and some may be equal. */
function countOf(values: readonly (readonly unknown[])[]): number {
  let count = 1
  for (const { length } of values) count *= length
  return count
}

/**
 * Writes the parts of the key of combination `at`, of `count`, to `scratch`, and returns their end.
 * The row that a key may end with is not written.
 */
function writeParts<S>(
  form: EntryForm<S>,
  row: Buffer,
  values: readonly (readonly unknown[])[],
  at: number,
  count: number,
): number {
  const { parts, unique } = form
  // The number of a combination has a digit for each part; that of the last one turns fastest.
  let rest = at
  let step = count
  let end = 0
  for (let place = 0; place < parts.length; place++) {
    const ofPart = values[place]
    step /= ofPart.length
    const digit = Math.floor(rest / step)
    rest -= digit * step
    end = parts[place].write(scratch, end, ofPart[digit])
    if (end > rowBytesMax) throw form.tooLong(row, end)
  }
  const bytes = unique ? end : end + row.length
  if (bytes > rowBytesMax) throw form.tooLong(row, bytes)
  return end
}
