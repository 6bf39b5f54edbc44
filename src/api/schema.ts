/**
 * Schemas: the options of tables and column families (HBase: TableDescriptor and its families),
 * with their defaults and bounds.
 */
import { checkObject, checkText, shown } from '../base/arguments.js'
import { invalidArgument } from '../base/errors.js'
import {
  boolean,
  checked,
  choice,
  declareOptions,
  integer,
  list,
  unchecked,
  orInfinity,
  required,
  type OptionsOf,
  type Settings,
  type SettingsOf,
} from '../base/options.js'
import { rowBytesMax } from '../storage/cell/limits.js'
import type { PolicyName } from '../storage/compaction/choice.js'
import {
  defaultCompaction,
  parseCompaction,
  type CompactionSetting,
} from '../storage/compaction/setting.js'
import type { TableCoprocessor } from './coprocessor.js'
import type { Durability } from './durability.js'

const kibibyte = 1024
const mebibyte = 1024 * kibibyte
/** HBase's "forever" in seconds. */
const int32Max = 2_147_483_647

function readKeepDeleted(value: boolean | 'TTL', what: string): boolean | 'TTL' {
  if (typeof value === 'boolean' || value === 'TTL') return value
  throw invalidArgument(`${what} must be true, false or 'TTL', got ${shown(value)}`)
}

type Metadata = Readonly<Record<string, string>>

function readMetadata(metadata: Metadata, what: string): Metadata {
  const entries = Object.entries(checkObject(metadata, what))
  for (const [name, value] of entries) {
    if (typeof value !== 'string') throw invalidArgument(`${what} '${name}' is no string`)
  }
  // An assignment to the name `__proto__` would not create a member.
  return Object.fromEntries(entries)
}

/**
 * The declaration of {@link FamilyOptions}. Defaults are those of HBase, except smaller blocks and
 * LZ4, which suit an embedded store.
 */
export const familyOptions = declareOptions('a column family', {
  /** VERSIONS: most versions kept per column, from 1. Default 1. */
  versions: integer({ min: 1, max: int32Max, default: 1 }),
  /**
   * MIN_VERSIONS: versions kept although they have expired, from 0, at most `versions`. Default 0.
   */
  minVersions: integer({ min: 0, max: int32Max, default: 0 }),
  /** TTL (in HBase in seconds), from 1. Default Infinity. */
  ttlMilliseconds: orInfinity(integer({ min: 1, default: undefined })),
  /** KEEP_DELETED_CELLS. Default false. */
  keepDeletedCells: checked(readKeepDeleted, false),
  /**
   * NEW_VERSION_BEHAVIOR: markers mask only cells written before them, and versions are counted in
   * the order of writing. Not together with `keepDeletedCells`. Default false.
   */
  newVersionBehavior: boolean(false),
  /**
   * hbase.hstore.time.to.purge.deletes: how long a major compaction keeps delete markers, counted
   * from their timestamp, so that late writes with old timestamps stay masked. From 0. Default 0.
   */
  timeToPurgeDeletesMilliseconds: integer({ min: 0, default: 0 }),
  /** BLOOMFILTER. Default 'ROW'. */
  bloomFilter: choice(['NONE', 'ROW', 'ROWCOL', 'ROWPREFIX_FIXED_LENGTH'], 'ROW'),
  /**
   * RowPrefixBloomFilter.prefix_length: bytes of the row prefix in the filter
   * ROWPREFIX_FIXED_LENGTH, 1 to 32,767. The filter also serves scans whose rows share that many
   * bytes. Required with that filter; 0 (the default) with the others.
   */
  rowPrefixBytes: integer({ min: 0, max: rowBytesMax, default: 0 }),
  /** BLOCKSIZE: target bytes of a block before compression, 1 KiB to 16 MiB. Default 8 KiB. */
  blockBytes: integer({ min: kibibyte, max: 16 * mebibyte, default: 8 * kibibyte }),
  /** COMPRESSION. Default 'LZ4'. ZSTD needs Node 22.15, else `ERR_MISSING_PACKAGE`. */
  compression: choice(['NONE', 'LZ4', 'GZ', 'ZSTD'], 'LZ4'),
  /** BLOCKCACHE: whether reads put blocks of the family into the cache. Default true. */
  blockCache: boolean(true),
  /**
   * The policy of background compactions: its name, or its name and options (HBase:
   * hbase.hstore.defaultengine.compactionpolicy.class). 'fifo' needs `ttlMilliseconds`
   * and no `minVersions`. Default 'lazy-leveled'.
   */
  compaction: checked<PolicyName | CompactionSetting, CompactionSetting, CompactionSetting>(
    parseCompaction,
    defaultCompaction,
  ),
  /**
   * IN_MEMORY: whether blocks of the family stay in the cache longer than blocks of other families.
   * Default false.
   */
  inMemory: boolean(false),
  /**
   * IS_MOB: whether values of more than `mobThreshold` bytes are stored in value files. Compactions
   * do not rewrite a value file until less than half of it is used. Default false.
   */
  mob: boolean(false),
  /** MOB_THRESHOLD in bytes, from 0. Default 100 KiB. */
  mobThreshold: integer({ min: 0, max: int32Max, default: 100 * kibibyte }),
  /** METADATA: texts kept with the family, without effect. An alteration replaces all of them. */
  metadata: checked<Metadata, Metadata, Metadata>(readMetadata, {}),
})

/** Options of a column family (HBase: ColumnFamilyDescriptor). */
export interface FamilyOptions extends OptionsOf<typeof familyOptions> {}

/** Options of a column family with all defaults filled in. */
export interface FamilyDescription extends SettingsOf<typeof familyOptions> {}

const tableMembers = {
  /** DURABILITY of mutations with 'USE_DEFAULT' or without durability. Default 'SYNC_WAL'. */
  durability: choice<Durability>(['SKIP_WAL', 'ASYNC_WAL', 'SYNC_WAL', 'FSYNC_WAL'], 'SYNC_WAL'),
  /** READONLY: mutations fail with `ERR_READ_ONLY`. Default false. */
  readOnly: boolean(false),
  /**
   * MEMSTORE_FLUSHSIZE: size in bytes at which the memtable of a family is flushed, if smaller than
   * the database's `flushBytes`. At least 64 KiB. Default Infinity.
   */
  flushBytes: orInfinity(integer({ min: 64 * kibibyte, default: undefined })),
  /** METADATA: texts kept with the table, without effect. An alteration replaces all of them. */
  metadata: checked<Metadata, Metadata, Metadata>(readMetadata, {}),
}

/** The options of a table without its families and coprocessors, all filled in. */
export type TableSettingsDescription = Settings<typeof tableMembers>

const commonMembers = {
  /**
   * Without effect. So a description can be passed as options, also for a table with another name.
   */
  name: unchecked<string>(),
  ...tableMembers,
  /**
   * Coprocessors that are loaded whenever the table is opened. A failure is `ERR_COPROCESSOR`. An
   * alteration replaces the whole list, but indexes of the table stay; empty = none.
   */
  coprocessors: unchecked<readonly TableCoprocessor[]>(),
}

/** The declaration of {@link TableOptions}. */
export const tableOptions = declareOptions('a table', {
  ...commonMembers,
  /** Column families by name; at least one. */
  families: required(unchecked<Readonly<Record<string, FamilyOptions>>>()),
})

/** Options of a table. */
export interface TableOptions extends OptionsOf<typeof tableOptions> {}

/** A table with all defaults filled in. */
export interface TableDescription extends Settings<typeof tableMembers> {
  /** Name of the table. */
  readonly name: string
  /** Complete options by family. */
  readonly families: Readonly<Record<string, FamilyDescription>>
  /** Absent if there are none. */
  readonly coprocessors?: readonly TableCoprocessor[] | undefined
}

/** The declaration of {@link TableAlteration}. */
export const alterationOptions = declareOptions('an alteration', {
  ...commonMembers,
  /** Families to add, or families with options to change. */
  families: unchecked<Readonly<Record<string, FamilyOptions>>>(),
  /** Families to drop with all their cells. */
  dropFamilies: list(checked(checkText, '')),
})

/** Changes of an existing table; options that are not mentioned stay. */
export interface TableAlteration extends OptionsOf<typeof alterationOptions> {}
