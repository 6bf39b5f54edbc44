/**
 * The configuration of an index: which records, at which version tags, become documents, and which
 * fields the documents have.
 *
 * Names of fields and types are `{namespace}local`. A configuration without functions is plain JSON
 * and is stored with the index; the XML form is converted into this form.
 */
import {
  boolean,
  checked,
  checkObject,
  checkText,
  declareOptions,
  list,
  required,
  text,
  unchecked,
  type Option,
  type OptionsOf,
} from '../../../../api/index.js'
import { invalidArgument } from '../../errors.js'
import type { RecordId } from '../../record-id.js'
import type { RecordTypeName, StoredRecord } from '../../records/record.js'
import { scopes, type Scope } from '../../schema/types.js'
import type { ValueType } from '../../values/value-type.js'

/** Parts that are read one by one, so that an error has the location of its part. */
function parts<T>(): Option<readonly T[], readonly T[]> {
  return list(required(unchecked<T>()))
}

function checkNotEmpty(value: string, what: string): string {
  if (typeof value === 'string' && value.trim() !== '') return value
  throw invalidArgument(`${what} must be a text`)
}

const someText = required(checked(checkNotEmpty))

/** The declaration of {@link FieldMatch}. */
const fieldMatchOptions = declareOptions('a match on a field', {
  /** Qualified name of the field, `{namespace}local`. */
  name: someText,
  /** The value that the field must have. */
  equals: unchecked<unknown>(),
  /** The value that the field must not have. */
  notEquals: unchecked<unknown>(),
})

/** A condition on a value, given in its JSON form. Exactly one of the two is given. */
export interface FieldMatch extends OptionsOf<typeof fieldMatchOptions> {}

function readFieldMatch(given: FieldMatch): FieldMatch {
  const match = fieldMatchOptions.read(given)
  if ((match.equals === undefined) !== (match.notEquals === undefined)) return match
  throw invalidArgument('a match on a field has either equals or notEquals')
}

const conditions = {
  /** `{namespace}Name`; each part may begin or end with `*`. */
  recordType: text(undefined),
  /** A record type; also matches records of its subtypes. */
  instanceOf: text(undefined),
  /** A condition on a field. With `notEquals` a record without the field matches. */
  field: checked(readFieldMatch),
  /**
   * Variant properties: '' matches masters, `a,b=x` exactly these properties, and a `*` allows
   * others. Default: any record.
   */
  variant: text(undefined),
  /** Record tables; default all. */
  tables: checked((given: readonly string[]) => list(text('')).read(given, 'tables')),
}

/** The declaration of {@link RecordMatch}. */
export const matchOptions = declareOptions('a match', conditions)

/** Conditions on a record; all given ones must hold. */
export interface RecordMatch extends OptionsOf<typeof matchOptions> {}

/** The declaration of {@link IncludeRule}. */
export const includeOptions = declareOptions('an include', {
  ...conditions,
  /** Local names of version tags; each makes a document of its own. An empty list makes none. */
  versionTags: required(list(text(''))),
})

/** A rule that includes records in the index. */
export interface IncludeRule extends OptionsOf<typeof includeOptions> {}

/** The declaration of {@link RecordFilterRules}. */
export const filterOptions = declareOptions('the record filter of an index', {
  /** Tried in order. Default: none, so that no record is indexed. */
  includes: parts<IncludeRule>(),
  /** Records that are never indexed. Default: none. */
  excludes: parts<RecordMatch>(),
})

/** Which records are indexed: excludes take precedence, then the first matching include applies. */
export interface RecordFilterRules extends OptionsOf<typeof filterOptions> {}

/** A value to be formatted; of a list, each element is one value. */
export interface IndexValue {
  /** The value, in the form of its type. */
  readonly value: unknown
  /** Type of the value. */
  readonly type: ValueType
}

/** Formats the values of a document field as texts. */
export type Formatter = (values: readonly IndexValue[]) => readonly string[]

/** The record passed to a function of the program, in the version of the document. */
export interface IndexedRecord {
  /** Id of the record. */
  readonly id: RecordId
  /** Name of the record table. */
  readonly table: string
  /** The version of the document; undefined for a record without versions. */
  readonly version: number | undefined
  /** Type of the record in that version. */
  readonly type: RecordTypeName
  /** Local name of the version tag. */
  readonly versionTag: string
  /** Values by qualified name. */
  readonly fields: StoredRecord['fields']
}

/** Computes the texts of a document field from the record alone. */
export type ValueFunction = (
  record: IndexedRecord,
) => string | readonly string[] | undefined | Promise<string | readonly string[] | undefined>

const formatting = {
  /** Whether the text of blobs is extracted. Default false: the value is the name of the blob. */
  extractContent: boolean(false),
  /** Name of a formatter; default: that of the configuration. */
  formatter: text(undefined),
}

/** The declaration of {@link FieldRule}. */
export const fieldOptions = declareOptions('a field of an index', {
  /** Name or name template: `title_${vprop:lang}`. */
  name: someText,
  /**
   * A field, a system field, or a chain that follows links, records and variants:
   * `{n}author=>{n}name`. Or a function.
   */
  value: required(
    checked((value: string | ValueFunction, what) => {
      return typeof value === 'function' ? value : checkNotEmpty(value, what)
    }),
  ),
  ...formatting,
})

/** A field of the documents. */
export interface FieldRule extends OptionsOf<typeof fieldOptions> {}

/** The declaration of {@link MatchRule}. */
export const groupOptions = declareOptions('a match', {
  /** The condition on the record. */
  match: required(unchecked<RecordMatch>()),
  /** Fields of a matching record. */
  fields: required(parts<FieldNode>()),
})

/** Fields of the records that match a condition. */
export interface MatchRule extends OptionsOf<typeof groupOptions> {}

/** The declaration of {@link ForEachRule}. */
export const forEachOptions = declareOptions('a forEach', {
  /** A chain as in {@link FieldRule.value} that ends at records. */
  forEach: someText,
  /** Fields whose values come from these records. */
  fields: required(parts<FieldNode>()),
})

/** Fields of every record that a chain leads to. */
export interface ForEachRule extends OptionsOf<typeof forEachOptions> {}

/** A node of the tree of fields. */
export type FieldNode = FieldRule | MatchRule | ForEachRule

function readScopes(given: readonly unknown[]): readonly Scope[] {
  const isList = Array.isArray(given) && given.every((scope) => scopes.includes(scope as Scope))
  if (isList) return given as readonly Scope[]
  throw invalidArgument(`the scopes are ${scopes.join(', ')}`)
}

/** The declaration of {@link DynamicFieldRule}. */
export const dynamicOptions = declareOptions('a dynamic field', {
  /** Namespace of the field; may begin or end with `*`. */
  matchNamespace: text(undefined),
  /** Local name of the field; may begin or end with `*`. */
  matchName: text(undefined),
  /** Patterns of value types, separated by commas: `STRING,LIST<+>`. */
  matchType: text(undefined),
  /** Scopes of the field; default all. */
  matchScope: checked<readonly Scope[]>(readScopes),
  /** A template: `${name}_${baseType}${list?_mv}`. */
  name: someText,
  ...formatting,
  /** Whether later rules are tried after this one has matched a field. Default false. */
  continue: boolean(false),
})

/** Adds a document field for each matching field of a record; all given conditions must hold. */
export interface DynamicFieldRule extends OptionsOf<typeof dynamicOptions> {}

type Formatters = Readonly<Record<string, Formatter | string>>

function readFormatters(given: Formatters, what: string): Formatters {
  for (const [name, each] of Object.entries(checkObject(given, what))) {
    if (typeof each !== 'function') checkText(each, `the formatter ${name}`)
  }
  return given
}

/** The declaration of {@link IndexConfiguration}. */
export const configurationOptions = declareOptions('the configuration of an index', {
  /** Which records are indexed. Default: none. */
  recordFilter: unchecked<RecordFilterRules>(),
  /**
   * Formatters by name, in addition to the built-in ones. A text is the name of another formatter.
   */
  formatters: checked(readFormatters, {}),
  /** Name of the formatter of fields without one. */
  defaultFormatter: text(undefined),
  /** The fields of the documents. */
  fields: parts<FieldNode>(),
  /** Rules that derive document fields from the fields a record has. */
  dynamicFields: parts<DynamicFieldRule>(),
  /**
   * Whether a change of a record updates the documents that show it through a chain. Default true.
   * Without it such documents stay stale until their own record changes.
   */
  dereference: boolean(true),
})

/** The configuration of an index. */
export interface IndexConfiguration extends OptionsOf<typeof configurationOptions> {}
