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
  readonly name: string
  readonly equals?: unknown
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
  readonly includes?: readonly IncludeRule[] | undefined
  readonly excludes?: readonly RecordMatch[] | undefined
}

/** A value that is to become text; of a list each element is one. */
export interface IndexValue {
  readonly value: unknown
  readonly type: ValueType
}

/** Turns the values of a field of a document into texts. */
export type Formatter = (values: readonly IndexValue[]) => readonly string[]

/** The record that a function of the program is given: in the version of the document. */
export interface IndexedRecord {
  readonly id: RecordId
  readonly table: string
  readonly version: number | undefined
  readonly type: RecordTypeName
  /** Local name of the version tag. */
  readonly versionTag: string
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
  readonly match: RecordMatch
  readonly fields: readonly FieldNode[]
}

/** Fields of every record that a chain leads to. */
export interface ForEachRule {
  readonly forEach: string
  readonly fields: readonly FieldNode[]
}

/** A node of the tree of fields. */
export type FieldNode = FieldRule | MatchRule | ForEachRule

/** A field of the documents for each field of a record that matches; all that is given holds. */
export interface DynamicFieldRule {
  /** May begin or end with `*`. */
  readonly matchNamespace?: string | undefined
  readonly matchName?: string | undefined
  /** Patterns of value types with commas: `STRING,LIST<+>`. */
  readonly matchType?: string | undefined
  readonly matchScope?: readonly Scope[] | undefined
  /** A template: `${name}_${baseType}${list?_mv}`. */
  readonly name: string
  readonly extractContent?: boolean | undefined
  readonly formatter?: string | undefined
  /** Whether later rules are tried for a field that this one has matched. Default false. */
  readonly continue?: boolean | undefined
}

/** The configuration of an index. */
export interface IndexConfiguration {
  readonly recordFilter?: RecordFilterRules | undefined
  /** Formatters by name, beside the built-in ones. A text is the name of one that is known. */
  readonly formatters?: Readonly<Record<string, Formatter | string>> | undefined
  readonly defaultFormatter?: string | undefined
  readonly fields?: readonly FieldNode[] | undefined
  readonly dynamicFields?: readonly DynamicFieldRule[] | undefined
  /**
   * Whether a change of a record updates the documents that show it by a chain. Default true;
   * without it they stay as they are until their own record changes.
   */
  readonly dereference?: boolean | undefined
}
