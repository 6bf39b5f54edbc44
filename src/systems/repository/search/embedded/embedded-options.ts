/** Options of the embedded index, with their defaults. */
import {
  checkMethods,
  checkObject,
  OptionNames,
  readArguments,
  shown,
  systemClock,
  type Clock,
  type DurabilityOption,
} from '../../../../api/index.js'
import { invalidArgument } from '../../errors.js'
import {
  defaultFieldPatterns,
  FieldKinds,
  type FieldKind,
  type FieldPatterns,
} from '../field-kinds.js'

/** Options of `EmbeddedSearch.open`. */
export interface EmbeddedSearchOptions {
  /** Name of the table: tablePrefix, `.search.`, name. Default 'repository'. */
  readonly tablePrefix?: string
  /** Name of the index. Default 'default'. */
  readonly name?: string
  /**
   * Kinds of fields by name; a star stands for any beginning or ending, and the longest pattern
   * wins. Default: `*_t` text, `*_s` literal, `*_i` and `*_l` long, `*_f` and `*_d` double, `*_dt`
   * date, `*_b` boolean, and the same with `_mv` at the end. The reserved fields have kinds of
   * their own.
   */
  readonly fields?: FieldPatterns
  /** Kind of all other fields; 'refused' rejects documents with such fields. Default 'text'. */
  readonly otherFields?: FieldKind | 'refused'
  /** Clock of NOW. Default: the machine's clock. */
  readonly clock?: Clock
  /** Durability of all writes. Default 'SYNC_WAL'. */
  readonly durability?: DurabilityOption
  /** Bytes of changes in memory before a segment is written. Default 16 MiB. */
  readonly bufferBytesMax?: number
  /** Capacity of the cache of decoded segment parts, in bytes. Default 64 MiB. */
  readonly cacheBytesMax?: number
}

const names = new OptionNames<EmbeddedSearchOptions>('an embedded search index', {
  tablePrefix: true,
  name: true,
  fields: true,
  otherFields: true,
  clock: true,
  durability: true,
  bufferBytesMax: true,
  cacheBytesMax: true,
})

/** The checked options with their defaults. */
export interface EmbeddedSearchSettings {
  readonly table: string
  readonly kinds: FieldKinds
  readonly clock: Clock
  readonly durability: DurabilityOption
  readonly bufferBytesMax: number
  readonly cacheBytesMax: number
}

/** Checks options and fills in defaults. `ERR_INVALID_ARGUMENT`. */
export function embeddedSettings(options: EmbeddedSearchOptions): EmbeddedSearchSettings {
  return readArguments(() => readSettings(names.copy(options)))
}

function readSettings(options: EmbeddedSearchOptions): EmbeddedSearchSettings {
  const {
    tablePrefix = 'repository',
    name = 'default',
    fields = defaultFieldPatterns,
    otherFields = 'text',
    clock = systemClock,
    durability = 'SYNC_WAL',
    bufferBytesMax = 16 << 20,
    cacheBytesMax = 64 << 20,
  } = options
  for (const [what, value] of Object.entries({ tablePrefix, name })) {
    if (typeof value === 'string' && /^\w[\w.-]{0,99}$/.test(value)) continue
    throw invalidArgument(`${what} cannot be ${shown(value)}`)
  }
  for (const [what, value] of Object.entries({ bufferBytesMax, cacheBytesMax })) {
    if (Number.isSafeInteger(value) && value >= 0) continue
    throw invalidArgument(`${what} must be a whole number, 0 or more, got ${shown(value)}`)
  }
  checkObject(fields, 'fields')
  checkMethods(clock, 'clock', ['now'])
  return {
    table: `${tablePrefix}.search.${name}`,
    kinds: new FieldKinds(fields, otherFields === 'refused' ? undefined : otherFields),
    clock,
    durability,
    bufferBytesMax,
    cacheBytesMax,
  }
}
