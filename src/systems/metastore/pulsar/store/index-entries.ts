/** Entries of the index of metadata, as the form of the indexes of tables. */
import {
  entryChanges,
  writeBytes,
  type EntryChanges,
  type EntryForm,
} from '../../../../comfort/indexes/entries.js'
import { metadataError } from '../../metadata/errors.js'
import { nameOf, parentOf } from '../../metadata/paths.js'
import { indexKey, rowBytesMax } from './rows.js'
import { emptyValue } from './working-state.js'

/** The beginning of an entry, and the index for messages. */
interface IndexKey {
  readonly index: string
  readonly bytes: Buffer
}

/**
 * What a write of the record at a path does to its entries; `before` and `after` are alternating
 * names and keys. `ERR_METADATA_INVALID_ARGUMENT` for an entry that is too long.
 */
export function indexChanges(
  path: string,
  before: readonly string[],
  after: readonly string[],
): EntryChanges {
  return entryChanges(formOf(path), Buffer.from(nameOf(path)), before, after)
}

function formOf(path: string): EntryForm<readonly string[]> {
  const parent = parentOf(path) ?? ''
  const tooLong = (what: string): Error => {
    const limit = `${rowBytesMax} bytes with the path`
    return metadataError('invalidArgument', `${what} of ${path} is longer than ${limit}`)
  }
  return {
    parts: [
      {
        values: (indexes) => {
          const keys: IndexKey[] = []
          for (let i = 0; i < indexes.length; i += 2) {
            keys.push({ index: indexes[i], bytes: indexKey(indexes[i], indexes[i + 1], parent) })
          }
          return keys
        },
        write(target, offset, value) {
          const { index, bytes } = value as IndexKey
          const end = writeBytes(target, offset, bytes)
          if (end + Buffer.byteLength(nameOf(path)) <= rowBytesMax) return end
          throw tooLong(`the index ${index}`)
        },
      },
    ],
    unique: false,
    valueOf: () => emptyValue,
    tooLong: () => tooLong('an index'),
  }
}
