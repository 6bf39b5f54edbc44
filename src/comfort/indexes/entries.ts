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
import { rowBytesMax } from '../../storage/cell/limits.js'

/** An entry of an index. */
export interface Entry {
  /** The row in the table of the index. */
  readonly key: Buffer
  readonly value: Buffer
  /** The row of the data. */
  readonly row: Buffer
}

/** One part of the keys of entries, from a source of values such as a row. */
export interface EntryPart<S> {
  /** The values that the source has for the part. */
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

const scratch = Buffer.allocUnsafe(3 * rowBytesMax + 16)

/** The entries of a row. Throws the errors of the form. */
export function entriesOf<S>(form: EntryForm<S>, row: Buffer, source: S): Entry[] {
  const entries: Entry[] = []
  let value: Buffer | undefined
  eachKey(form, row, source, (length) => {
    const key = Buffer.from(scratch.subarray(0, length))
    entries.push({ key, value: (value ??= form.valueOf(row, source)), row })
    return true
  })
  return entries.length < 2 ? entries : [...byKey(entries).values()]
}

/** The entries by their keys as text. */
export function byKey(entries: readonly Entry[]): Map<string, Entry> {
  return new Map(entries.map((entry) => [entry.key.toString('latin1'), entry]))
}

/** Whether a row has an entry with the key. */
export function hasEntry<S>(form: EntryForm<S>, key: Buffer, row: Buffer, source: S): boolean {
  let isFound = false
  eachKey(form, row, source, (length) => {
    isFound = equalBytes(scratch, 0, length, key, 0, key.length)
    return !isFound
  })
  return isFound
}

/** What a change of a row does to its entries. */
export interface EntryChanges {
  /** The entries that go, by their keys as text. */
  readonly removed: ReadonlyMap<string, Entry>
  /** The entries that are new, or have another value. */
  readonly written: readonly Entry[]
}

/** The difference between the entries of a row before a change and after it. */
export function entryChanges(before: readonly Entry[], after: readonly Entry[]): EntryChanges {
  const removed = byKey(before)
  const written = after.filter(({ key, value }) => {
    const name = key.toString('latin1')
    const known = removed.get(name)
    removed.delete(name)
    return known?.value.equals(value) !== true
  })
  return { removed, written }
}

/**
 * Writes the keys of a row's entries to `scratch`, one after the other, and calls `visit` with the
 * length of each until that returns false. A key may come twice.
 */
function eachKey<S>(
  form: EntryForm<S>,
  row: Buffer,
  source: S,
  visit: (length: number) => boolean,
): void {
  const { parts, unique } = form
  const found: (readonly unknown[])[] = []
  let count = 1
  for (const part of parts) {
    const values = part.values(source)
    if (values.length === 0) return
    count *= values.length
    found.push(values)
  }
  for (let at = 0; at < count; at++) {
    let end = 0
    // The number of a combination has a digit for each part; that of the last one turns fastest.
    let rest = at
    let step = count
    for (let place = 0; place < parts.length; place++) {
      const values = found[place]
      step /= values.length
      const digit = Math.floor(rest / step)
      rest -= digit * step
      end = parts[place].write(scratch, end, values[digit])
      if (end > rowBytesMax) throw form.tooLong(row, end)
    }
    if (!unique) {
      if (end + row.length > rowBytesMax) throw form.tooLong(row, end + row.length)
      copyBytes(row, 0, row.length, scratch, end)
      end += row.length
    }
    if (!visit(end)) return
  }
}
