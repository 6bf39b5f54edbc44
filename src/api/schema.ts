/** Schemas: the options of tables and column families (HBase: TableDescriptor and its families). */
import type { PolicyName } from '../compaction/choice.js'
import type { CompactionSetting } from '../compaction/setting.js'
import type { TableCoprocessor } from './coprocessor.js'
import type { DurabilityOption } from './mutations.js'

/** Options of a column family (HBase: ColumnFamilyDescriptor). */
export interface FamilyOptions {
  /** VERSIONS: most versions kept per column. Default 1. */
  readonly versions?: number | undefined
  /** MIN_VERSIONS: versions kept although expired. Default 0, at most `versions`. */
  readonly minVersions?: number | undefined
  /** TTL, which HBase counts in seconds. Default Infinity, at least 1. */
  readonly ttlMilliseconds?: number | undefined
  /** KEEP_DELETED_CELLS. Default false. */
  readonly keepDeletedCells?: boolean | 'TTL' | undefined
  /**
   * NEW_VERSION_BEHAVIOR: markers mask only what was written before them, and versions are counted
   * in the order of writing. Not together with `keepDeletedCells`. Default false.
   */
  readonly newVersionBehavior?: boolean | undefined
  /**
   * hbase.hstore.time.to.purge.deletes: a major compaction keeps delete markers for so long,
   * counted from their timestamp, so that late writes with old timestamps stay masked. Default 0.
   */
  readonly timeToPurgeDeletesMilliseconds?: number | undefined
  /** BLOOMFILTER. Default 'ROW'. */
  readonly bloomFilter?: 'NONE' | 'ROW' | 'ROWCOL' | 'ROWPREFIX_FIXED_LENGTH' | undefined
  /**
   * RowPrefixBloomFilter.prefix_length: bytes of a row, 1 to 32,767, that the filter
   * ROWPREFIX_FIXED_LENGTH takes; it then also serves scans whose rows share so many bytes. Needed
   * with that filter. 0 (the default) with the others.
   */
  readonly rowPrefixBytes?: number | undefined
  /** BLOCKSIZE: target bytes of a block before compression, 1 KiB to 16 MiB. Default 4 KiB. */
  readonly blockBytes?: number | undefined
  /** COMPRESSION. Default 'LZ4'. ZSTD needs Node 22.15, else `ERR_MISSING_PACKAGE`. */
  readonly compression?: 'NONE' | 'LZ4' | 'GZ' | 'ZSTD' | undefined
  /** BLOCKCACHE: whether reads admit blocks of the family to the cache. Default true. */
  readonly blockCache?: boolean | undefined
  /**
   * Which files are merged in the background, and when: the name of a policy, or its name and
   * options (HBase: hbase.hstore.defaultengine.compactionpolicy.class). Default 'lazy-leveled'.
   * 'fifo'
   * needs `ttlMilliseconds` and no `minVersions`.
   */
  readonly compaction?: PolicyName | CompactionSetting | undefined
  /**
   * IN_MEMORY: blocks that were read stay in the cache before those of other families. Default
   * false.
   */
  readonly inMemory?: boolean | undefined
  /**
   * IS_MOB: values of more than `mobThreshold` bytes are stored in files of their own, which
   * compactions leave alone until half of one is garbage. Default false.
   */
  readonly mob?: boolean | undefined
  /** MOB_THRESHOLD in bytes. Default 100 KiB. */
  readonly mobThreshold?: number | undefined
  /** METADATA: texts kept with the family; they mean nothing here. An alteration replaces all. */
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

/** Options of a column family with all defaults filled in. */
export type FamilyDescription = {
  readonly [Option in keyof FamilyOptions]-?: Exclude<FamilyOptions[Option], undefined>
}

/** Options of a table. */
export interface TableOptions {
  /**
   * Without effect: a description can be given as it is, for a table of another name as well.
   */
  readonly name?: string | undefined
  /** Column families by name; at least one. */
  readonly families: Readonly<Record<string, FamilyOptions>>
  /** DURABILITY of mutations that say 'USE_DEFAULT' or nothing. Default 'SYNC_WAL'. */
  readonly durability?: Exclude<DurabilityOption, 'USE_DEFAULT'> | undefined
  /** READONLY: mutations fail with `ERR_READ_ONLY`. Default false. */
  readonly readOnly?: boolean | undefined
  /**
   * MEMSTORE_FLUSHSIZE: a memtable of a family of the table is flushed at so many bytes, if the
   * database's `flushBytes` does not come first. At least 64 KiB. Default Infinity.
   */
  readonly flushBytes?: number | undefined
  /** METADATA: texts kept with the table; they mean nothing here. An alteration replaces all. */
  readonly metadata?: Readonly<Record<string, string>> | undefined
  /** Coprocessors that are loaded whenever the table is opened; `ERR_COPROCESSOR`. */
  readonly coprocessors?: readonly TableCoprocessor[] | undefined
}

/** A table with all defaults filled in. */
export interface TableDescription {
  readonly name: string
  readonly families: Readonly<Record<string, FamilyDescription>>
  readonly durability: Exclude<DurabilityOption, 'USE_DEFAULT'>
  readonly readOnly: boolean
  readonly flushBytes: number
  readonly metadata: Readonly<Record<string, string>>
  /** Absent if there are none. */
  readonly coprocessors?: readonly TableCoprocessor[] | undefined
}

/** Changes of an existing table; what is not mentioned stays. */
export interface TableAlteration {
  /** Without effect, as in {@link TableOptions}. */
  readonly name?: string | undefined
  /** Families to add, or whose options to change. */
  readonly families?: Readonly<Record<string, FamilyOptions>> | undefined
  /** Families to remove with all their cells. */
  readonly dropFamilies?: readonly string[] | undefined
  readonly durability?: Exclude<DurabilityOption, 'USE_DEFAULT'> | undefined
  readonly readOnly?: boolean | undefined
  readonly flushBytes?: number | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
  /** Takes the place of the whole list; empty = none. */
  readonly coprocessors?: readonly TableCoprocessor[] | undefined
}
