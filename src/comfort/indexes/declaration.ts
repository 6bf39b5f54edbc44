/**
 * Declarations of indexes: which values of a row make its entries, and in which order.
 *
 * A declaration is plain JSON, because the schema of the table stores it.
 */
import { checkObject, checkText, readArguments, shown } from '../../base/arguments.js'
import { invalidArgument } from '../../base/errors.js'
import {
  boolean,
  checked,
  choice,
  declareOptions,
  list,
  required,
  unchecked,
  type OptionsOf,
} from '../../base/options.js'
import { parseColumn, parseSingleColumn, type ColumnName } from '../../storage/cell/column-name.js'
import { descendingPart, keyParts, type KeyPart } from '../keys/key-parts.js'
import { RowKey, type KeyPartName } from '../keys/row-key.js'
import type { EntryForm, EntryPart } from './entries.js'
import {
  entryTooLarge,
  entryValue,
  partValues,
  storedEncodings,
  type PartSource,
  type StoredEncoding,
} from './entry-values.js'
import { columnKey, type RowValues } from './row-values.js'

const partOptions = declareOptions('a part of an index', {
  /** `'family:qualifier'`, whose value is the part. One of `column`, `valuesOf`, `qualifiersOf`. */
  column: checked(checkText),
  /** A family: the value of each of its columns is a value of the part. */
  valuesOf: checked(checkText),
  /** A family: the name of each of its columns is a value of the part. */
  qualifiersOf: checked(checkText),
  /** How the value is stored. Default 'utf8'. */
  encoding: choice<StoredEncoding>(storedEncodings, 'utf8'),
  /** Only of 'json': the names of members that lead to the value, the outermost first. */
  path: list(checked(checkText, ''), []),
  /** Only of 'json': the value is an array, and each of its elements is a value of the part. */
  each: boolean(false),
  /** The kind of the value in the order of the index. Default: as stored, of JSON 'utf8'. */
  as: choice<KeyPartName, undefined>(
    ['utf8', 'bytes', 'integer', 'double', 'int64', 'boolean', 'date'],
    undefined,
  ),
  /** Whether the greatest values come first. Default false. */
  descending: boolean(false),
})

/** Where the values of one part of an index come from, and their order. */
export interface IndexPart extends OptionsOf<typeof partOptions> {}

/** The declaration of {@link IndexDeclaration}. */
export const indexOptions = declareOptions('an index', {
  /** Letters, digits and underscores; unique among the indexes of the table. */
  name: required(unchecked<string>()),
  /** The parts by name, the first one first; a text names a column of text in UTF-8. */
  key: required(unchecked<Readonly<Record<string, string | IndexPart>>>()),
  /** Whether no two rows may have an entry of the same key. Default false. */
  unique: boolean(false),
  /** Columns `'family:qualifier'` whose values the entries hold too. Default none. */
  stored: list(checked(checkText, ''), []),
})

/** An index of a table. A row without a value for one of the parts has no entry. */
export interface IndexDeclaration extends OptionsOf<typeof indexOptions> {}

/** A part of an index with all defaults filled in. */
export interface PlannedPart extends PartSource, EntryPart<RowValues> {
  /** Whether the bytes of the key are those of the only column, with an end of their own. */
  readonly isStored: boolean
}

/** A declaration that is ready for use. */
export interface IndexPlan extends EntryForm<RowValues> {
  readonly name: string
  /** A query, for messages. */
  readonly form: string
  readonly parts: readonly PlannedPart[]
  /** The parts and then the row, for ranges. */
  readonly key: RowKey
  readonly stored: readonly string[]
  /** The columns and families that the entries depend on, as reads take them. */
  readonly columns: readonly string[]
  readonly families: readonly string[]
}

/** Checks a declaration. Throws `ERR_INVALID_ARGUMENT`. */
export function planIndex(given: IndexDeclaration): IndexPlan {
  return readArguments(() => {
    const { name, key, unique, stored } = indexOptions.read(given)
    if (typeof name !== 'string' || !/^[A-Za-z0-9_]{1,100}$/.test(name)) {
      throw invalidArgument(`the name of an index has letters, digits and _, got ${shown(name)}`)
    }
    const entries = Object.entries(
      checkObject(key, `the key of the index '${name}'`, "{ city: 'f:city' }"),
    )
    if (entries.length === 0) throw invalidArgument(`the index '${name}' needs a part in its key`)
    const parts = entries.map(([part, option]) => planPart(name, part, option))
    const kinds = parts.map(({ name: part, as, descending }) => {
      return [part, descending ? { descending: as } : as]
    })
    const storedKeys = stored.map(canonicalColumn)
    const columns = unionOf([
      ...parts.map(({ kind, family, column }) => (kind === 'column' ? column : family)),
      ...storedKeys,
    ])
    return {
      name,
      form: `{ prefix: { ${parts[0].name}: … } }`,
      unique,
      parts,
      key: new RowKey(Object.fromEntries([...kinds, ['row', 'bytes']])),
      stored: storedKeys,
      columns,
      families: [...new Set(columns.map((column) => column.split(':', 1)[0]))],
      valueOf: (row, values) => entryValue({ unique, stored: storedKeys }, row, values),
      tooLong: (_row, bytes) => entryTooLarge(name, bytes),
    }
  })
}

/**
 * The list of columns and families as one read takes them: a family that is named counts whole,
 * also if one of its columns is named behind it.
 */
export function unionOf<C extends ColumnName>(columns: readonly C[]): C[] {
  const parsed = columns.map((column) => ({ column, ...parseColumn(column) }))
  const whole = new Set(
    parsed.flatMap(({ family, escapedQualifier }) =>
      escapedQualifier === undefined ? family : [],
    ),
  )
  const wanted = parsed.filter(({ family, escapedQualifier }) => {
    return escapedQualifier === undefined || !whole.has(family)
  })
  return [...new Set(wanted.map(({ column }) => column))]
}

function planPart(index: string, name: string, option: string | IndexPart): PlannedPart {
  if (name === 'row') throw invalidArgument("a part of an index cannot be named 'row'")
  const given = partOptions.read(typeof option === 'string' ? { column: option } : option)
  const { column, valuesOf, qualifiersOf, encoding, path, each, descending } = given
  const sources = [column, valuesOf, qualifiersOf].filter((source) => source !== undefined)
  const what = `the part '${name}' of an index`
  if (sources.length !== 1) {
    throw invalidArgument(`${what} has one of column, valuesOf and qualifiersOf`)
  }
  if (encoding !== 'json' && (each || path.length > 0)) {
    throw invalidArgument(`${what} has each or path; they need the encoding 'json'`)
  }
  if (encoding === 'json' && (given.as === 'bytes' || given.as === 'int64')) {
    throw invalidArgument(`${what}: JSON holds no ${given.as}; use 'integer', 'double' or 'utf8'`)
  }
  const as = given.as ?? (encoding === 'json' ? 'utf8' : encoding)
  if (encoding !== 'json' && as !== encoding) {
    throw invalidArgument(`${what}: values stored as '${encoding}' are sorted as '${encoding}'`)
  }
  const kind = column !== undefined ? 'column' : valuesOf !== undefined ? 'values' : 'qualifiers'
  const canonical = column === undefined ? '' : canonicalColumn(column)
  const family = column === undefined ? sources[0] : canonical.slice(0, canonical.indexOf(':'))
  const ordered = (kind: KeyPartName): KeyPart<unknown> => {
    const ascending = keyParts[kind] as KeyPart<unknown>
    return descending ? descendingPart(ascending) : ascending
  }
  // Stored text is written as the bytes that it is.
  const writer = ordered(encoding === 'utf8' ? 'bytes' : as)
  const source: PartSource = {
    name,
    kind,
    family,
    column: canonical,
    encoding,
    path,
    each,
    as,
    descending,
    what: `the value for the part '${name}' of the index '${index}'`,
    reader: ordered(as),
  }
  const isBytes = encoding === 'utf8' || encoding === 'bytes'
  return {
    ...source,
    isStored: kind === 'column' && isBytes && !descending,
    values: (values) => partValues(source, values),
    write: (target, offset, value) => writer.write(target, offset, value, source.what, false),
  }
}

/** `family:qualifier`, where the qualifier has plain characters only. */
function canonicalColumn(column: string): string {
  const { family, escapedQualifier } = parseSingleColumn(column)
  const name = columnKey(family, escapedQualifier)
  if (name === column) return column
  throw invalidArgument(`an index takes columns of plain ASCII names, got ${shown(column)}`)
}
