/**
 * The options of a column family as the engine uses them, and their form in the manifest.
 */
import {
  decodeCompaction,
  encodeCompaction,
  type CompactionSetting,
} from '../compaction/setting.js'
import type { SsTableFormat } from '../job/sstable-output.js'
import type { RetentionOptions } from '../scan/query.js'
import type { JsonObject } from '../version/json-fields.js'

/** All options of a family, defaults filled in. Immutable. */
export interface FamilySettings extends RetentionOptions, Omit<SsTableFormat, 'inlineBytesMax'> {
  /** Whether reads admit blocks to the cache. */
  readonly blockCache: boolean
  readonly compaction: CompactionSetting
  /** Blocks that were read stay in the cache before those of other families. */
  readonly inMemory: boolean
  /** Values of more than `mobThreshold` bytes lie in value files. */
  readonly mob: boolean
  readonly mobThreshold: number
  /** What users keep with the family; means nothing here. */
  readonly metadata: Readonly<Record<string, string>>
}

/** The settings as a JSON object for the manifest, without an infinite TTL and no purge time. */
export function encodeFamilySettings(settings: FamilySettings): JsonObject {
  const { ttlSeconds, timeToPurgeDeletesMilliseconds, metadata, compaction, ...rest } = settings
  const finite = {
    ...(ttlSeconds !== Infinity && { ttlSeconds }),
    ...(timeToPurgeDeletesMilliseconds > 0 && { timeToPurgeDeletesMilliseconds }),
  }
  const options = { metadata: { ...metadata }, compaction: encodeCompaction(compaction) }
  return { ...rest, ...finite, ...options }
}

/** Reads settings back. The manifest's checksum vouches for the types. */
export function decodeFamilySettings(options: JsonObject): FamilySettings {
  const { compaction, ...stored } = options as unknown as FamilySettings & {
    compaction: Record<string, unknown>
  }
  const absent = { ttlSeconds: Infinity, timeToPurgeDeletesMilliseconds: 0 }
  return { ...absent, ...stored, compaction: decodeCompaction(compaction) }
}

/** The part of the settings that decides which cells are kept, as jobs get it. */
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

/** The part of the settings that decides how tables are written, as jobs get it. */
export function formatOfFamily(settings: FamilySettings): SsTableFormat {
  const { blockBytes, codec, bloomFilter, rowPrefixBytes, mob, mobThreshold } = settings
  const inlineBytesMax = mob ? mobThreshold : Infinity
  return { blockBytes, codec, bloomFilter, rowPrefixBytes, inlineBytesMax }
}
