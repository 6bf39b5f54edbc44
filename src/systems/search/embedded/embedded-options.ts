/** Options of the embedded index, with their defaults. */
import {
  checked,
  checkObject,
  choice,
  declareOptions,
  durabilityOption,
  implementation,
  integer,
  invalidArgument,
  readArguments,
  shown,
  systemClock,
  type Clock,
  type OptionsOf,
  type SettingsOf,
} from '../../../api/index.js'
import {
  defaultFieldPatterns,
  fieldKindNames,
  FieldKinds,
  type FieldKind,
  type FieldPatterns,
} from '../field-kinds.js'

function checkName(name: string, what: string): string {
  if (typeof name === 'string' && /^\w[\w.-]{0,99}$/.test(name)) return name
  throw invalidArgument(`${what} cannot be ${shown(name)}`)
}

const embeddedOptions = declareOptions('an embedded search index', {
  /** Name of the table: tablePrefix, `.search.`, name. Default 'repository'. */
  tablePrefix: checked(checkName, 'repository'),
  /** Name of the index. Default 'default'. */
  name: checked(checkName, 'default'),
  /**
   * Kinds of fields by name; a star stands for any beginning or ending, and the longest pattern
   * wins. Default: `*_t` text, `*_s` literal, `*_i` and `*_l` long, `*_f` and `*_d` double, `*_dt`
   * date, `*_b` boolean, and the same with `_mv` at the end. The reserved fields have kinds of
   * their own.
   */
  fields: checked(checkObject<FieldPatterns>, defaultFieldPatterns),
  /** Kind of all other fields; 'refused' rejects documents with such fields. Default 'text'. */
  otherFields: choice<FieldKind | 'refused'>([...fieldKindNames, 'refused'], 'text'),
  /** Clock of NOW. Default: the machine's clock. */
  clock: implementation<Clock>(['now'], systemClock),
  /** Durability of all writes. Default 'SYNC_WAL'. */
  durability: durabilityOption('SYNC_WAL'),
  /** Bytes of changes in memory before a segment is written. Default 16 MiB. */
  bufferBytesMax: integer({ min: 0, default: 16 << 20 }),
  /** Capacity of the cache of decoded segment parts, in bytes. Default 64 MiB. */
  cacheBytesMax: integer({ min: 0, default: 64 << 20 }),
})

/** Options of `EmbeddedSearch.open`. */
export interface EmbeddedSearchOptions extends OptionsOf<typeof embeddedOptions> {}

/** The checked options with their defaults. */
export interface EmbeddedSearchSettings extends Omit<
  SettingsOf<typeof embeddedOptions>,
  'tablePrefix' | 'name' | 'fields' | 'otherFields'
> {
  readonly table: string
  readonly kinds: FieldKinds
}

/** Checks options and fills in defaults. `ERR_INVALID_ARGUMENT`. */
export function embeddedSettings(options: EmbeddedSearchOptions): EmbeddedSearchSettings {
  return readArguments(() => {
    const { tablePrefix, name, fields, otherFields, ...rest } = embeddedOptions.read(options)
    const kinds = new FieldKinds(fields, otherFields === 'refused' ? undefined : otherFields)
    return { table: `${tablePrefix}.search.${name}`, kinds, ...rest }
  })
}
