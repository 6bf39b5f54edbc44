/**
 * The ledgers of topics: table `persist`, one row per topic, field `prst` (Hedwig:
 * `TopicPersistenceManager`).
 */
import { checkStore } from '../bookkeeper/arguments.js'
import type { MetaStore, MetastoreTable } from '../bookkeeper/types.js'
import { Value } from '../bookkeeper/value.js'
import type { Version, Versioned } from '../bookkeeper/tables/version.js'
import { HedwigErrorCode } from '../errors.js'
import { checkForm, decodeRecord, encodeRecord, type RecordForm } from './record-form.js'
import { ledgerRangesType, type LedgerRanges } from './records.js'
import { putRow, readRow, removeRow, RecordKind } from './store-failure.js'
import { topicKey, type TopicName } from './topic-key.js'

/** Name of the table. */
export const persistenceTable = 'persist'

const field = 'prst'
const fields: ReadonlySet<string> = new Set([field])
const kind = new RecordKind(
  'list of ledgers of the topic',
  HedwigErrorCode.noPersistence,
  HedwigErrorCode.persistenceExists,
)

/** Reads and writes the ledgers of topics. Errors have codes of `HedwigErrorCode`. */
export class TopicPersistenceManager {
  readonly #table: MetastoreTable
  readonly #form: RecordForm

  private constructor(table: MetastoreTable, form: RecordForm) {
    this.#table = table
    this.#form = form
  }

  /** Opens the table; `store` is initialised. */
  static async open(store: MetaStore, form: RecordForm = 'text'): Promise<TopicPersistenceManager> {
    checkForm(form)
    return new TopicPersistenceManager(await checkStore(store).createTable(persistenceTable), form)
  }

  /**
   * The ledgers of a topic; null if there is no record. A record may have no ledgers.
   * `UNEXPECTED_CONDITION` if the record cannot be read.
   */
  async readTopicPersistenceInfo(topic: TopicName): Promise<Versioned<LedgerRanges> | null> {
    const row = await readRow(this.#table, kind, topicKey(topic), fields)
    const bytes = row?.value.getField(field)
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
    const value = new Value({ [field]: encodeRecord(this.#form, ledgerRangesType, ranges) })
    return putRow(this.#table, kind, key, value, version)
  }

  /** Removes the record if its version matches. */
  async deleteTopicPersistenceInfo(topic: TopicName, version: Version): Promise<void> {
    await removeRow(this.#table, kind, topicKey(topic), version)
  }

  /** Closes this handle of the table. */
  close(): void {
    this.#table.close()
  }
}
