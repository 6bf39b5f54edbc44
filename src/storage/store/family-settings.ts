/** The options of a column family as the engine uses them, and their form in the manifest. */
import {
  decodeCompaction,
  encodeCompaction,
  type CompactionSetting,
} from '../compaction/setting.js'
import type { SsTableFormat } from '../job/sstable-output.js'
import type { RetentionOptions } from '../scan/query.js'
import type { JsonObject } from '../version/json-fields.js'

/** All options of a family, with defaults filled in. Immutable. */
export interface FamilySettings extends RetentionOptions, Omit<SsTableFormat, 'inlineBytesMax'> {
  /** Whether reads admit blocks to the cache. */
  readonly blockCache: boolean
  readonly compaction: CompactionSetting
  /** Whether the cache evicts blocks of this family after those of other families. */
  readonly inMemory: boolean
  /** Whether values of more than `mobThreshold` bytes are stored in value files. */
  readonly mob: boolean
  readonly mobThreshold: number
  /** Metadata that users store with the family; not interpreted. */
  readonly metadata: Readonly<Record<string, string>>
}

/** The settings as JSON for the manifest; leaves out an infinite TTL and a zero purge time. */
export function encodeFamilySettings(settings: FamilySettings): JsonObject {
  const { ttlSeconds, timeToPurgeDeletesMilliseconds, metadata, compaction, ...rest } = settings
  const finite = {
    ...(ttlSeconds !== Infinity && { ttlSeconds }),
    ...(timeToPurgeDeletesMilliseconds > 0 && { timeToPurgeDeletesMilliseconds }),
  }
  const options = { metadata: { ...metadata }, compaction: encodeCompaction(compaction) }
  return { ...rest, ...finite, ...options }
}

/** Decodes settings. Their types are not checked: the manifest has a checksum. */
export function decodeFamilySettings(options: JsonObject): FamilySettings {
  const { compaction, ...stored } = options as unknown as FamilySettings & {
    compaction: Record<string, unknown>
  }
  const absent = { ttlSeconds: Infinity, timeToPurgeDeletesMilliseconds: 0 }
  return { ...absent, ...stored, compaction: decodeCompaction(compaction) }
}

/** The settings that decide which cells are kept, for jobs. */
export function retentionOf(settings: FamilySettings): RetentionOptions {
  const { versions, minVersions, ttlSeconds, keepDeletedCells, newVersionBehavior } = settings
  const { timeToPurgeDeletesMilliseconds } = settings
  return {
    versions,
    minVersions,
    ttlSeconds,
    keepDeletedCells,
    newVersionBehavior,
    timeToPurgeDeletesMilliseconds,
  }
}

/** The settings that decide the format of SSTables, for jobs. */
export function formatOfFamily(settings: FamilySettings): SsTableFormat {
  const { blockBytes, codec, bloomFilter, rowPrefixBytes, mob, mobThreshold } = settings
  const inlineBytesMax = mob ? mobThreshold : Infinity
  return { blockBytes, codec, bloomFilter, rowPrefixBytes, inlineBytesMax }
}
