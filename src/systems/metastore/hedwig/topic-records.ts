/**
 * The owners and the ledgers of topics: tables `owner` and `persist`, one row per topic with one
 * field (Hedwig: `TopicOwnershipManager`, `TopicPersistenceManager`).
 */
import type { RecordTable } from '../bookkeeper/tables/record-table.js'
import type { Version, Versioned } from '../bookkeeper/tables/version.js'
import type { MetaStore } from '../bookkeeper/types.js'
import { Value } from '../bookkeeper/value.js'
import { HedwigErrorCode, unexpectedCondition } from '../errors.js'
import { formatHubInfo, parseHubInfo } from './hub-info.js'
import {
  checkForm,
  decodeRecord,
  encodeRecord,
  openRecords,
  type RecordForm,
  type RecordKind,
} from './record-form.js'
import { ledgerRangesType, type HubInfoData, type LedgerRanges } from './records.js'
import { topicKey, type TopicName } from './topic-key.js'

const ownerField = 'owner'
const ownerFields: ReadonlySet<string> = new Set([ownerField])
/** The owners. */
export const ownerKind: RecordKind = {
  table: 'owner',
  name: 'owner of the topic',
  absent: HedwigErrorCode.noOwner,
  exists: HedwigErrorCode.ownerExists,
}
const ledgersField = 'prst'
const ledgersFields: ReadonlySet<string> = new Set([ledgersField])
/** The lists of ledgers. */
export const ledgersKind: RecordKind = {
  table: 'persist',
  name: 'list of ledgers of the topic',
  absent: HedwigErrorCode.noPersistence,
  exists: HedwigErrorCode.persistenceExists,
}

/** Reads and writes the owners of topics. Errors have codes of `HedwigErrorCode`. */
export class TopicOwnershipManager {
  readonly #records: RecordTable

  private constructor(records: RecordTable) {
    this.#records = records
  }

  /** Opens the table; `store` is initialised. */
  static async open(store: MetaStore): Promise<TopicOwnershipManager> {
    return new TopicOwnershipManager(await openRecords(store, ownerKind))
  }

  /**
   * The owner of a topic; null if there is none. An unreadable record has the value null and a
   * version, so that it can be overwritten.
   */
  async readOwnerInfo(topic: TopicName): Promise<Versioned<HubInfoData | null> | null> {
    const row = await this.#records.read(topicKey(topic), ownerFields)
    if (row === undefined) return null
    return { value: parseOwner(row.value.getField(ownerField)), version: row.version }
  }

  /**
   * Writes the owner and returns the version. With `NEW` there must be no record
   * (`TOPIC_OWNER_INFO_EXISTS`). With a version or `ANY` the record must exist
   * (`NO_TOPIC_OWNER_INFO`) and match (`BAD_VERSION`).
   */
  async writeOwnerInfo(topic: TopicName, owner: HubInfoData, version: Version): Promise<Version> {
    const key = topicKey(topic)
    return this.#records.put(key, new Value({ [ownerField]: formatOwner(owner) }), version)
  }

  /** Removes the owner if its version matches. */
  async deleteOwnerInfo(topic: TopicName, version: Version): Promise<void> {
    await this.#records.remove(topicKey(topic), version)
  }

  /** Closes this handle of the table. */
  close(): void {
    this.#records.close()
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
  try {
    return bytes === null ? null : parseHubInfo(bytes.toString())
  } catch {
    return null
  }
}

/** Reads and writes the ledgers of topics. Errors have codes of `HedwigErrorCode`. */
export class TopicPersistenceManager {
  readonly #records: RecordTable
  readonly #form: RecordForm

  private constructor(records: RecordTable, form: RecordForm) {
    this.#records = records
    this.#form = form
  }

  /** Opens the table; `store` is initialised. */
  static async open(store: MetaStore, form: RecordForm = 'text'): Promise<TopicPersistenceManager> {
    checkForm(form)
    return new TopicPersistenceManager(await openRecords(store, ledgersKind), form)
  }

  /**
   * The ledgers of a topic; null if there is no record. A record may have no ledgers.
   * `UNEXPECTED_CONDITION` if the record cannot be read.
   */
  async readTopicPersistenceInfo(topic: TopicName): Promise<Versioned<LedgerRanges> | null> {
    const row = await this.#records.read(topicKey(topic), ledgersFields)
    const bytes = row?.value.getField(ledgersField)
    if (row === undefined || bytes === null || bytes === undefined) return null
    return { value: decodeRecord(this.#form, ledgerRangesType, bytes), version: row.version }
  }

  /**
   * Stores the ledgers of a topic and returns the version. With `NEW` there must be no record
   * (`TOPIC_PERSISTENCE_INFO_EXISTS`). With a version or `ANY` the record must exist
   * (`NO_TOPIC_PERSISTENCE_INFO`) and match (`BAD_VERSION`).
   */
  async writeTopicPersistenceInfo(
    topic: TopicName,
    ranges: LedgerRanges,
    version: Version,
  ): Promise<Version> {
    const key = topicKey(topic)
    const value = new Value({ [ledgersField]: encodeRecord(this.#form, ledgerRangesType, ranges) })
    return this.#records.put(key, value, version)
  }

  /** Removes the record if its version matches. */
  async deleteTopicPersistenceInfo(topic: TopicName, version: Version): Promise<void> {
    await this.#records.remove(topicKey(topic), version)
  }

  /** Closes this handle of the table. */
  close(): void {
    this.#records.close()
  }
}
