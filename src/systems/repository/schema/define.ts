/**
 * Record types written in code: one object defines the type in the repository and the TypeScript
 * types of its records.
 */
import {
  boolean,
  checkArray,
  checkObject,
  checkText,
  choice,
  declareOptions,
  list,
  readArguments,
  required,
  text,
  type OptionsOf,
} from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import type { Link } from '../link.js'
import { checkName, parseName } from '../qualified-name.js'
import type { Blob } from '../values/blob-value.js'
import type { EmbeddedRecord } from '../values/nested-types.js'
import { fieldRules, scopes, type Scope } from './types.js'

/** The TypeScript type of the values of a value type, by the text form of the value type. */
export type ValueOfType<T extends string> = T extends 'STRING' | 'DECIMAL' | 'DATE' | 'URI'
  ? string
  : T extends 'INTEGER' | 'DOUBLE'
    ? number
    : T extends 'LONG'
      ? bigint
      : T extends 'BOOLEAN'
        ? boolean
        : T extends 'DATETIME'
          ? Date
          : T extends 'BYTEARRAY'
            ? Uint8Array
            : T extends 'BLOB'
              ? Blob
              : T extends 'LINK' | `LINK<${string}>`
                ? Link
                : T extends 'RECORD' | `RECORD<${string}>`
                  ? EmbeddedRecord
                  : T extends `LIST<${infer E}>` | `PATH<${infer E}>`
                    ? ValueOfType<E>[]
                    : unknown

const fieldOptions = declareOptions('a field of a definition', {
  /** Default: `{namespace of the record type}property`. */
  name: text(undefined),
  /** Text form of the value type, such as `LIST<STRING>`. */
  type: required(text(undefined)),
  /** Default `NON_VERSIONED`. */
  scope: choice<Scope>(scopes, 'NON_VERSIONED'),
  /** Default false. */
  mandatory: boolean(false),
  ...fieldRules,
})

/** A field in a definition. By default its name is the property, in the namespace of the type. */
export interface FieldDefinition extends OptionsOf<typeof fieldOptions> {}

/** The fields of a definition, by property. */
export type FieldDefinitions = Readonly<Record<string, FieldDefinition>>

/** A record type in code; made by {@link defineRecordType}. */
export interface RecordTypeDefinition<F extends FieldDefinitions = FieldDefinitions> {
  /** Qualified name of the record type, `{namespace}local`. */
  readonly name: string
  /** The fields as given, by property. */
  readonly fields: F
  /** Qualified names of the fields, by property. */
  readonly fieldNames: { readonly [P in keyof F]: string }
  /** Names of the supertypes. */
  readonly supertypes: readonly string[]
  /** Whether records may hold fields of the type and its supertypes only. */
  readonly strict: boolean
}

type MandatoryOf<F extends FieldDefinitions> = {
  [P in keyof F]: F[P] extends { readonly mandatory: true } ? P : never
}[keyof F]

/** The properties of a record of a definition. */
export type FieldsOf<D> =
  D extends RecordTypeDefinition<infer F>
    ? { -readonly [P in MandatoryOf<F>]: ValueOfType<F[P]['type']> } & {
        -readonly [P in Exclude<keyof F, MandatoryOf<F>>]?: ValueOfType<F[P]['type']>
      }
    : never

const definitionOptions = declareOptions('a definition', {
  /** Names of supertypes. */
  supertypes: list(text('')),
  /** Whether records may hold fields of the type and its supertypes only. Default false. */
  strict: boolean(false),
})

/** Settings of a record type in code. */
export interface DefinitionOptions extends OptionsOf<typeof definitionOptions> {}

/**
 * Defines a record type. Nothing is written before `applySchema`. `ERR_INVALID_ARGUMENT`.
 *
 *     const article = defineRecordType('{shop}article', {
 *       title: { type: 'STRING', mandatory: true },
 *       tags: { type: 'LIST<STRING>', scope: 'VERSIONED' },
 *     })
 *     type Article = FieldsOf<typeof article> // { title: string; tags?: string[] }
 */
export function defineRecordType<const F extends FieldDefinitions>(
  name: string,
  fields: F,
  options: DefinitionOptions = {},
): RecordTypeDefinition<F> {
  return readArguments(() => {
    const { supertypes, strict } = definitionOptions.read(options)
    const [namespace] = parseName(name, 'the name of a record type')
    const names = Object.entries(checkObject(fields, 'the fields of a definition')).map(
      ([property, field]) => {
        const { name: own } = checkObject(field, `the field ${property}`)
        return [property, own ?? `{${namespace}}${property}`]
      },
    )
    const fieldNames = Object.fromEntries(names) as { [P in keyof F]: string }
    const definition = checkDefinition({ name, fields, fieldNames, supertypes, strict })
    return Object.freeze({ ...definition, fields, fieldNames })
  })
}

/** Checks a definition and copies it with its fields. `ERR_INVALID_ARGUMENT`. */
export function checkDefinition(given: RecordTypeDefinition): RecordTypeDefinition {
  return readArguments(() => {
    const { name, fields, fieldNames, supertypes, strict } = checkObject(given, 'a definition')
    checkName(name, 'the name of a record type')
    if (typeof strict !== 'boolean') throw invalidArgument('strict must be true or false')
    const names = { ...checkObject(fieldNames, 'the names of fields') }
    const copies = Object.entries(checkObject(fields, 'the fields of a definition')).map(
      ([property, field]) => {
        checkName(names[property])
        return [property, fieldOptions.read(field)] as const
      },
    )
    const above = checkArray(supertypes, 'the supertypes of a definition')
    for (const each of above) checkText(each, 'the name of a supertype')
    const own = Object.fromEntries(copies)
    return { name, fields: own, fieldNames: names, supertypes: above, strict }
  })
}
