/**
 * The configuration of an index: which records, at which version tags, become documents, and which
 * fields the documents have.
 *
 * Names of fields and types are `{namespace}local`. A configuration without functions is plain JSON
 * and is stored with the index; the XML form is converted into this form.
 */
import type { RecordId } from '../../record-id.js'
import type { RecordTypeName, StoredRecord } from '../../records/record.js'
import type { Scope } from '../../schema/field-type.js'
import type { ValueType } from '../../values/value-type.js'

/** Conditions on a record; all given ones must hold. */
export interface RecordMatch {
  /** `{namespace}Name`; each part may begin or end with `*`. */
  readonly recordType?: string | undefined
  /** A record type; also matches records of its subtypes. */
  readonly instanceOf?: string | undefined
  /** A condition on a field. With `notEquals` a record without the field matches. */
  readonly field?: FieldMatch | undefined
  /**
   * Variant properties: '' matches masters, `a,b=x` exactly these properties, and a `*` allows
   * others. Default: any record.
   */
  readonly variant?: string | undefined
  /** Record tables; default all. */
  readonly tables?: readonly string[] | undefined
}

/** A condition on a value, given in its JSON form. Exactly one of the two is given. */
export interface FieldMatch {
  /** Qualified name of the field, `{namespace}local`. */
  readonly name: string
  /** The value that the field must have. */
  readonly equals?: unknown
  /** The value that the field must not have. */
  readonly notEquals?: unknown
}

/** A rule that includes records in the index. */
export interface IncludeRule extends RecordMatch {
  /** Local names of version tags; each makes a document of its own. An empty list makes none. */
  readonly versionTags: readonly string[]
}

/** Which records are indexed: excludes take precedence, then the first matching include applies. */
export interface RecordFilterRules {
  /** Tried in order. Default: none, so that no record is indexed. */
  readonly includes?: readonly IncludeRule[] | undefined
  /** Records that are never indexed. Default: none. */
  readonly excludes?: readonly RecordMatch[] | undefined
}

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

/** A field of the documents. */
export interface FieldRule {
  /** Name or name template: `title_${vprop:lang}`. */
  readonly name: string
  /**
   * A field, a system field, or a chain that follows links, records and variants:
   * `{n}author=>{n}name`. Or a function.
   */
  readonly value: string | ValueFunction
  /** Whether the text of blobs is extracted. Default false: the value is the name of the blob. */
  readonly extractContent?: boolean | undefined
  /** Name of a formatter; default: that of the configuration. */
  readonly formatter?: string | undefined
}

/** Fields of the records that match a condition. */
export interface MatchRule {
  /** The condition on the record. */
  readonly match: RecordMatch
  /** Fields of a matching record. */
  readonly fields: readonly FieldNode[]
}

/** Fields of every record that a chain leads to. */
export interface ForEachRule {
  /** A chain as in {@link FieldRule.value} that ends at records. */
  readonly forEach: string
  /** Fields whose values come from these records. */
  readonly fields: readonly FieldNode[]
}

/** A node of the tree of fields. */
export type FieldNode = FieldRule | MatchRule | ForEachRule

/** Adds a document field for each matching field of a record; all given conditions must hold. */
export interface DynamicFieldRule {
  /** Namespace of the field; may begin or end with `*`. */
  readonly matchNamespace?: string | undefined
  /** Local name of the field; may begin or end with `*`. */
  readonly matchName?: string | undefined
  /** Patterns of value types, separated by commas: `STRING,LIST<+>`. */
  readonly matchType?: string | undefined
  /** Scopes of the field; default all. */
  readonly matchScope?: readonly Scope[] | undefined
  /** A template: `${name}_${baseType}${list?_mv}`. */
  readonly name: string
  /** Whether the text of blobs is extracted. Default false: the value is the name of the blob. */
  readonly extractContent?: boolean | undefined
  /** Name of a formatter; default: that of the configuration. */
  readonly formatter?: string | undefined
  /** Whether later rules are tried after this one has matched a field. Default false. */
  readonly continue?: boolean | undefined
}

/** The configuration of an index. */
export interface IndexConfiguration {
  /** Which records are indexed. Default: none. */
  readonly recordFilter?: RecordFilterRules | undefined
  /**
   * Formatters by name, in addition to the built-in ones. A text is the name of another formatter.
   */
  readonly formatters?: Readonly<Record<string, Formatter | string>> | undefined
  /** Name of the formatter of fields without one. */
  readonly defaultFormatter?: string | undefined
  /** The fields of the documents. */
  readonly fields?: readonly FieldNode[] | undefined
  /** Rules that derive document fields from the fields a record has. */
  readonly dynamicFields?: readonly DynamicFieldRule[] | undefined
  /**
   * Whether a change of a record updates the documents that show it through a chain. Default true.
   * Without it such documents stay stale until their own record changes.
   */
  readonly dereference?: boolean | undefined
}
