/**
 * Subscriptions: table `sub`, one row a subscription, fields `sub_state` and `sub_preferences`
 * (Hedwig: `SubscriptionDataManager`). A part that is absent has no field; a subscription without
 * either part is a row without fields.
 */
import type { MetaStore, MetastoreScannableTable } from '../bookkeeper/types.js'
import { Value } from '../bookkeeper/value.js'
import { Version, type Versioned } from '../bookkeeper/version.js'
import { HedwigError, unexpectedCondition } from './errors.js'
import { decodeRecord, encodeRecord, type RecordForm } from './record-form.js'
import {
  subscriptionPreferencesType,
  subscriptionStateType,
  type SubscriptionData,
} from './records.js'
import { failure, putRow, readRow, removeRow, RecordKind } from './store-failure.js'
import {
  subscriptionEnd,
  subscriptionKey,
  subscriptionPrefix,
  type TopicName,
} from './topic-key.js'

/** Name of the table. */
export const subscriptionTable = 'sub'

const stateField = 'sub_state'
const preferencesField = 'sub_preferences'
const fields: ReadonlySet<string> = new Set([stateField, preferencesField])
const kind = new RecordKind('subscription', 'NO_SUBSCRIPTION_STATE', 'SUBSCRIPTION_STATE_EXISTS')

/** Creates, changes, deletes and reads subscriptions. Errors are `HedwigError`s. */
export class SubscriptionDataManager {
  readonly #table: MetastoreScannableTable
  readonly #form: RecordForm
  readonly #pageSize: number

  private constructor(table: MetastoreScannableTable, form: RecordForm, pageSize: number) {
    this.#table = table
    this.#form = form
    this.#pageSize = pageSize
  }

  /** Opens the table; `store` is initialised. `pageSize` is the rows per read of a scan. */
  static async open(
    store: MetaStore,
    form: RecordForm = 'text',
    pageSize = 50,
  ): Promise<SubscriptionDataManager> {
    const table = await store.createScannableTable(subscriptionTable)
    return new SubscriptionDataManager(table, form, pageSize)
  }

  /** Whether {@link updateSubscriptionData} leaves absent parts alone: yes. */
  isPartialUpdateSupported(): boolean {
    return true
  }

  /** Creates a subscription; `SUBSCRIPTION_STATE_EXISTS` if there is one. */
  createSubscriptionData(
    topic: TopicName,
    subscriber: string,
    data: SubscriptionData,
  ): Promise<Version> {
    return this.#put(topic, subscriber, data, Version.NEW, 'create')
  }

  /**
   * Changes the parts that `partial` has, if the version matches (`BAD_VERSION`). Never creates:
   * `NO_SUBSCRIPTION_STATE`, and `BAD_VERSION` for `NEW`.
   */
  updateSubscriptionData(
    topic: TopicName,
    subscriber: string,
    partial: SubscriptionData,
    version: Version,
  ): Promise<Version> {
    return this.#put(topic, subscriber, partial, version, 'update')
  }

  /** Changes all parts: those that `data` lacks go. Otherwise as {@link updateSubscriptionData}. */
  replaceSubscriptionData(
    topic: TopicName,
    subscriber: string,
    data: SubscriptionData,
    version: Version,
  ): Promise<Version> {
    return this.#put(topic, subscriber, data, version, 'replace')
  }

  /** Deletes a subscription if its version matches. */
  async deleteSubscriptionData(
    topic: TopicName,
    subscriber: string,
    version: Version,
  ): Promise<void> {
    await removeRow(this.#table, kind, subscriptionKey(topic, subscriber), version)
  }

  /** A subscription; null if there is none. `UNEXPECTED_CONDITION` if it cannot be read. */
  async readSubscriptionData(
    topic: TopicName,
    subscriber: string,
  ): Promise<Versioned<SubscriptionData> | null> {
    const row = await readRow(this.#table, kind, subscriptionKey(topic, subscriber), fields)
    return row === undefined ? null : this.#decode(row)
  }

  /**
   * All subscriptions of a topic at one moment, by subscriber; empty if there are none. One that
   * cannot be read fails the call with `UNEXPECTED_CONDITION`.
   */
  async readSubscriptions(topic: TopicName): Promise<Map<string, Versioned<SubscriptionData>>> {
    const prefix = subscriptionPrefix(topic)
    const subscriptions = new Map<string, Versioned<SubscriptionData>>()
    try {
      const cursor = await this.#table.openRange({
        firstKey: prefix,
        firstInclusive: true,
        lastKey: subscriptionEnd(topic),
        lastInclusive: false,
        order: 'ASC',
      })
      try {
        while (cursor.hasMoreEntries()) {
          for (const { key, value } of await cursor.asyncReadEntries(this.#pageSize)) {
            subscriptions.set(key.slice(prefix.length), this.#decode(value))
          }
        }
      } finally {
        cursor.close()
      }
    } catch (error) {
      throw failure(kind, error)
    }
    return subscriptions
  }

  /** Ends this handle of the table. */
  close(): void {
    this.#table.close()
  }

  /** Not async: an update is called for every few messages of every subscriber. */
  #put(
    topic: TopicName,
    subscriber: string,
    data: SubscriptionData,
    version: Version,
    how: 'create' | 'update' | 'replace',
  ): Promise<Version> {
    let key: string
    let value: Value
    try {
      value = this.#encode(data)
      if (how === 'replace') {
        if (data.state === undefined) value.setField(stateField, null)
        if (data.preferences === undefined) value.setField(preferencesField, null)
      }
      if (how !== 'create') checkNotNew(version)
      key = subscriptionKey(topic, subscriber)
    } catch (error) {
      return Promise.reject(error)
    }
    return putRow(this.#table, kind, key, value, version)
  }

  #encode(data: SubscriptionData): Value {
    if (data.unknownFields !== undefined && data.unknownFields.length > 0) {
      // A row has a field for each part that is known, and nowhere to put others.
      throw unexpectedCondition('a subscription has parts that cannot be stored')
    }
    const value = new Value()
    const { state, preferences } = data
    if (state !== undefined) {
      value.setField(stateField, encodeRecord(this.#form, subscriptionStateType, state))
    }
    if (preferences !== undefined) {
      const bytes = encodeRecord(this.#form, subscriptionPreferencesType, preferences)
      value.setField(preferencesField, bytes)
    }
    return value
  }

  #decode({ value, version }: Versioned<Value>): Versioned<SubscriptionData> {
    const state = value.getField(stateField)
    const preferences = value.getField(preferencesField)
    const data: { -readonly [K in keyof SubscriptionData]: SubscriptionData[K] } = {}
    if (state !== null) data.state = decodeRecord(this.#form, subscriptionStateType, state)
    if (preferences !== null) {
      data.preferences = decodeRecord(this.#form, subscriptionPreferencesType, preferences)
    }
    return { value: data, version }
  }
}

function checkNotNew(version: Version): void {
  if (version !== Version.NEW) return
  throw new HedwigError('BAD_VERSION', 'an existing subscription does not have the version NEW')
}
