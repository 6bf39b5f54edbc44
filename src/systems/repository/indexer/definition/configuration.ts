/**
 * The configuration of an index, as programs write it: which records, at which version tags, become
 * documents, and which fields the documents have.
 *
 * Names of fields and types are `{namespace}local`. Without functions a configuration is plain JSON
 * and is stored with the index; the XML form is turned into this one.
 */
import type { RecordId } from '../../record-id.js'
import type { RecordTypeName, StoredRecord } from '../../records/record.js'
import type { Scope } from '../../schema/field-type.js'
import type { ValueType } from '../../values/value-type.js'

/** What records are matched by; all that is given must hold. */
export interface RecordMatch {
  /** `{namespace}Name`; each part may begin or end with `*`. */
  readonly recordType?: string | undefined
  /** A record type: records of it and of the types below it. */
  readonly instanceOf?: string | undefined
  /** A value of a field. With `notEquals` a record without the field matches. */
  readonly field?: FieldMatch | undefined
  /**
   * Variant properties: '' = the master, `a,b=x` = exactly these, with `*` also others. Default:
   * any record.
   */
  readonly variant?: string | undefined
  /** Record tables; default all. */
  readonly tables?: readonly string[] | undefined
}

/** A condition on a value, in the form of the value in JSON. One of the two is given. */
export interface FieldMatch {
  /** Qualified name of the field, `{namespace}local`. */
  readonly name: string
  /** The value that the field must have. */
  readonly equals?: unknown
  /** The value that the field must not have. */
  readonly notEquals?: unknown
}

/** Records that are indexed. */
export interface IncludeRule extends RecordMatch {
  /**
   * Local names of version tags; each is a document of its own. An empty list makes no document.
   */
  readonly versionTags: readonly string[]
}

/** Which records are indexed: excludes win, then the first include that matches counts. */
export interface RecordFilterRules {
  /** Tried in order. Default: none, and nothing is indexed. */
  readonly includes?: readonly IncludeRule[] | undefined
  /** Records that are never indexed. Default: none. */
  readonly excludes?: readonly RecordMatch[] | undefined
}

/** A value that is to become text; of a list each element is one. */
export interface IndexValue {
  /** The value, as records hold values of its type. */
  readonly value: unknown
  /** Type of the value. */
  readonly type: ValueType
}

/** Turns the values of a field of a document into texts. */
export type Formatter = (values: readonly IndexValue[]) => readonly string[]

/** The record that a function of the program is given: in the version of the document. */
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

/** Makes the texts of a field of a document, out of the record alone. */
export type ValueFunction = (
  record: IndexedRecord,
) => string | readonly string[] | undefined | Promise<string | readonly string[] | undefined>

/** A field of the documents. */
export interface FieldRule {
  /** Name, which may be a template: `title_${vprop:lang}`. */
  readonly name: string
  /**
   * A field, a system field, or a chain that follows links, records and variants:
   * `{n}author=>{n}name`. Or a function.
   */
  readonly value: string | ValueFunction
  /** Whether the text of blobs is extracted. Default false: the name of the blob. */
  readonly extractContent?: boolean | undefined
  /** Name of a formatter; default that of the configuration. */
  readonly formatter?: string | undefined
}

/** Fields for some records. */
export interface MatchRule {
  /** What the record must be. */
  readonly match: RecordMatch
  /** Fields that such a record has. */
  readonly fields: readonly FieldNode[]
}

/** Fields of every record that a chain leads to. */
export interface ForEachRule {
  /** A chain as in {@link FieldRule.value}, which ends at records. */
  readonly forEach: string
  /** Fields whose values are taken from these records. */
  readonly fields: readonly FieldNode[]
}

/** A node of the tree of fields. */
export type FieldNode = FieldRule | MatchRule | ForEachRule

/** A field of the documents for each field of a record that matches; all that is given holds. */
export interface DynamicFieldRule {
  /** May begin or end with `*`. */
  readonly matchNamespace?: string | undefined
  /** Local name of the field; may begin or end with `*`. */
  readonly matchName?: string | undefined
  /** Patterns of value types with commas: `STRING,LIST<+>`. */
  readonly matchType?: string | undefined
  /** Scopes of the field; default all. */
  readonly matchScope?: readonly Scope[] | undefined
  /** A template: `${name}_${baseType}${list?_mv}`. */
  readonly name: string
  /** Whether the text of blobs is extracted. Default false: the name of the blob. */
  readonly extractContent?: boolean | undefined
  /** Name of a formatter; default that of the configuration. */
  readonly formatter?: string | undefined
  /** Whether later rules are tried for a field that this one has matched. Default false. */
  readonly continue?: boolean | undefined
}

/** The configuration of an index. */
export interface IndexConfiguration {
  /** Which records are indexed. Default: none. */
  readonly recordFilter?: RecordFilterRules | undefined
  /** Formatters by name, beside the built-in ones. A text is the name of one that is known. */
  readonly formatters?: Readonly<Record<string, Formatter | string>> | undefined
  /** Name of the formatter of fields that name none. */
  readonly defaultFormatter?: string | undefined
  /** The fields of the documents. */
  readonly fields?: readonly FieldNode[] | undefined
  /** Rules that make fields out of whatever a record has. */
  readonly dynamicFields?: readonly DynamicFieldRule[] | undefined
  /**
   * Whether a change of a record updates the documents that show it by a chain. Default true;
   * without it they stay as they are until their own record changes.
   */
  readonly dereference?: boolean | undefined
}
