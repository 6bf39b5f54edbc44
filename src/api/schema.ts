/** Schemas: the options of tables and column families (HBase: TableDescriptor and its families). */
import type { PolicyName } from '../storage/compaction/choice.js'
import type { CompactionSetting } from '../storage/compaction/setting.js'
import type { TableCoprocessor } from './coprocessor.js'
import type { DurabilityOption } from './durability.js'

/** Options of a column family (HBase: ColumnFamilyDescriptor). */
export interface FamilyOptions {
  /** VERSIONS: most versions kept per column, from 1. Default 1. */
  readonly versions?: number | undefined
  /**
   * MIN_VERSIONS: versions kept although they have expired, from 0, at most `versions`. Default 0.
   */
  readonly minVersions?: number | undefined
  /** TTL (in HBase in seconds), from 1. Default Infinity. */
  readonly ttlMilliseconds?: number | undefined
  /** KEEP_DELETED_CELLS. Default false. */
  readonly keepDeletedCells?: boolean | 'TTL' | undefined
  /**
   * NEW_VERSION_BEHAVIOR: markers mask only cells written before them, and versions are counted in
   * the order of writing. Not together with `keepDeletedCells`. Default false.
   */
  readonly newVersionBehavior?: boolean | undefined
  /**
   * hbase.hstore.time.to.purge.deletes: how long a major compaction keeps delete markers, counted
   * from their timestamp, so that late writes with old timestamps stay masked. From 0. Default 0.
   */
  readonly timeToPurgeDeletesMilliseconds?: number | undefined
  /** BLOOMFILTER. Default 'ROW'. */
  readonly bloomFilter?: 'NONE' | 'ROW' | 'ROWCOL' | 'ROWPREFIX_FIXED_LENGTH' | undefined
  /**
   * RowPrefixBloomFilter.prefix_length: bytes of the row prefix in the filter
   * ROWPREFIX_FIXED_LENGTH, 1 to 32,767. The filter also serves scans whose rows share that many
   * bytes. Required with that filter; 0 (the default) with the others.
   */
  readonly rowPrefixBytes?: number | undefined
  /** BLOCKSIZE: target bytes of a block before compression, 1 KiB to 16 MiB. Default 8 KiB. */
  readonly blockBytes?: number | undefined
  /** COMPRESSION. Default 'LZ4'. ZSTD needs Node 22.15, else `ERR_MISSING_PACKAGE`. */
  readonly compression?: 'NONE' | 'LZ4' | 'GZ' | 'ZSTD' | undefined
  /** BLOCKCACHE: whether reads put blocks of the family into the cache. Default true. */
  readonly blockCache?: boolean | undefined
  /**
   * The policy of background compactions: its name, or its name and options (HBase:
   * hbase.hstore.defaultengine.compactionpolicy.class). 'fifo' needs `ttlMilliseconds`
   * and no `minVersions`. Default 'lazy-leveled'.
   */
  readonly compaction?: PolicyName | CompactionSetting | undefined
  /**
   * IN_MEMORY: whether blocks of the family stay in the cache longer than blocks of other families.
   * Default false.
   */
  readonly inMemory?: boolean | undefined
  /**
   * IS_MOB: whether values of more than `mobThreshold` bytes are stored in value files. Compactions
   * do not rewrite a value file until less than half of it is used. Default false.
   */
  readonly mob?: boolean | undefined
  /** MOB_THRESHOLD in bytes, from 0. Default 100 KiB. */
  readonly mobThreshold?: number | undefined
  /** METADATA: texts kept with the family, without effect. An alteration replaces all of them. */
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

/** Options of a column family with all defaults filled in. */
export type FamilyDescription = {
  readonly [Option in keyof FamilyOptions]-?: Exclude<FamilyOptions[Option], undefined>
}

/** Options of a table. */
export interface TableOptions {
  /**
   * Without effect. So a description can be passed as options, also for a table with another name.
   */
  readonly name?: string | undefined
  /** Column families by name; at least one. */
  readonly families: Readonly<Record<string, FamilyOptions>>
  /** DURABILITY of mutations with 'USE_DEFAULT' or without durability. Default 'SYNC_WAL'. */
  readonly durability?: Exclude<DurabilityOption, 'USE_DEFAULT'> | undefined
  /** READONLY: mutations fail with `ERR_READ_ONLY`. Default false. */
  readonly readOnly?: boolean | undefined
  /**
   * MEMSTORE_FLUSHSIZE: size in bytes at which the memtable of a family is flushed, if smaller than
   * the database's `flushBytes`. At least 64 KiB. Default Infinity.
   */
  readonly flushBytes?: number | undefined
  /** METADATA: texts kept with the table, without effect. An alteration replaces all of them. */
  readonly metadata?: Readonly<Record<string, string>> | undefined
  /** Coprocessors that are loaded whenever the table is opened. A failure is `ERR_COPROCESSOR`. */
  readonly coprocessors?: readonly TableCoprocessor[] | undefined
}

/** A table with all defaults filled in. */
export interface TableDescription {
  /** Name of the table. */
  readonly name: string
  /** Complete options by family. */
  readonly families: Readonly<Record<string, FamilyDescription>>
  /** Of mutations that name none. */
  readonly durability: Exclude<DurabilityOption, 'USE_DEFAULT'>
  /** Whether mutations are refused. */
  readonly readOnly: boolean
  /** Memtable size at which a family is flushed. */
  readonly flushBytes: number
  /** Texts of the application. */
  readonly metadata: Readonly<Record<string, string>>
  /** Absent if there are none. */
  readonly coprocessors?: readonly TableCoprocessor[] | undefined
}

/** Changes of an existing table; options that are not mentioned stay. */
export interface TableAlteration {
  /** Without effect, as in {@link TableOptions}. */
  readonly name?: string | undefined
  /** Families to add, or families with options to change. */
  readonly families?: Readonly<Record<string, FamilyOptions>> | undefined
  /** Families to drop with all their cells. */
  readonly dropFamilies?: readonly string[] | undefined
  /** Of mutations that name none. */
  readonly durability?: Exclude<DurabilityOption, 'USE_DEFAULT'> | undefined
  /** Whether mutations are refused. */
  readonly readOnly?: boolean | undefined
  /** Memtable size at which a family is flushed. */
  readonly flushBytes?: number | undefined
  /** Texts of the application; replaces all earlier ones. */
  readonly metadata?: Readonly<Record<string, string>> | undefined
  /** Replaces the whole list; empty = none. */
  readonly coprocessors?: readonly TableCoprocessor[] | undefined
}
