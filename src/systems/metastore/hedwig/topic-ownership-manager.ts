/**
 * The owners of topics: table `owner`, one row per topic, field `owner` with the hub in text form
 * (Hedwig: `TopicOwnershipManager`).
 */
import { checkStore } from '../bookkeeper/arguments.js'
import type { MetaStore, MetastoreTable } from '../bookkeeper/types.js'
import { Value } from '../bookkeeper/value.js'
import type { Version, Versioned } from '../bookkeeper/tables/version.js'
import { HedwigErrorCode, unexpectedCondition } from '../errors.js'
import { formatHubInfo, parseHubInfo } from './hub-info.js'
import type { HubInfoData } from './records.js'
import { putRow, readRow, removeRow, RecordKind } from './store-failure.js'
import { topicKey, type TopicName } from './topic-key.js'

/** Name of the table. */
export const ownerTable = 'owner'

const field = 'owner'
const fields: ReadonlySet<string> = new Set([field])
const kind = new RecordKind(
  'owner of the topic',
  HedwigErrorCode.noOwner,
  HedwigErrorCode.ownerExists,
)

/** Reads and writes the owners of topics. Errors have codes of `HedwigErrorCode`. */
export class TopicOwnershipManager {
  readonly #table: MetastoreTable

  private constructor(table: MetastoreTable) {
    this.#table = table
  }

  /** Opens the table; `store` is initialised. */
  static async open(store: MetaStore): Promise<TopicOwnershipManager> {
    return new TopicOwnershipManager(await checkStore(store).createTable(ownerTable))
  }

  /**
   * The owner of a topic; null if there is none. An unreadable record has the value null and a
   * version, so that it can be overwritten.
   */
  async readOwnerInfo(topic: TopicName): Promise<Versioned<HubInfoData | null> | null> {
    const row = await readRow(this.#table, kind, topicKey(topic), fields)
    if (row === undefined) return null
    return { value: parseOwner(row.value.getField(field)), version: row.version }
  }

  /**
   * Writes the owner and returns the version. With `NEW` there must be no record
   * (`TOPIC_OWNER_INFO_EXISTS`). With a version or `ANY` the record must exist
   * (`NO_TOPIC_OWNER_INFO`) and match (`BAD_VERSION`).
   */
  async writeOwnerInfo(topic: TopicName, owner: HubInfoData, version: Version): Promise<Version> {
    const key = topicKey(topic)
    return putRow(this.#table, kind, key, new Value({ [field]: formatOwner(owner) }), version)
  }

  /** Removes the owner if its version matches. */
  async deleteOwnerInfo(topic: TopicName, version: Version): Promise<void> {
    await removeRow(this.#table, kind, topicKey(topic), version)
  }

  /** Closes this handle of the table. */
  close(): void {
    this.#table.close()
  }
}

function formatOwner(owner: HubInfoData): string {
  try {
    return formatHubInfo(owner)
  } catch (error) {
    throw unexpectedCondition('the owner is not a valid hub', error)
  }
}

function parseOwner(bytes: Buffer | null): HubInfoData | null {
  if (bytes === null) return null
  try {
    return parseHubInfo(bytes.toString())
  } catch {
    return null
  }
}
