/**
 * Subscriptions: table `sub`, one row per subscription, fields `sub_state` and `sub_preferences`
 * (Hedwig: `SubscriptionDataManager`). An absent part has no field; a subscription without parts is
 * a row without fields.
 *
 * Subscribers are bytes. Writes may be fenced, so that writes of a hub that lost the topic are
 * refused (`subscription-fence.ts`).
 */
import { checkObject } from '../../../api/index.js'
import { checkStore } from '../bookkeeper/arguments.js'
import { RecordTable } from '../bookkeeper/tables/record-table.js'
import type { MetaStore } from '../bookkeeper/types.js'
import { ALL_FIELDS, Value } from '../bookkeeper/value.js'
import { Version, type Versioned } from '../bookkeeper/tables/version.js'
import { HedwigErrorCode, failed, unexpectedCondition } from '../errors.js'
import {
  checkForm,
  checkPageSize,
  decodeRecord,
  encodeRecord,
  failure,
  type RecordForm,
  type RecordKind,
} from './record-form.js'
import {
  subscriptionPreferencesType,
  subscriptionStateType,
  type SubscriptionData,
} from './records.js'
import { SubscriptionFence } from './subscription-fence.js'
import {
  subscriberOfKey,
  subscriptionEnd,
  subscriptionKey,
  subscriptionPrefix,
  topicKey,
  type SubscriberId,
  type TopicName,
} from './topic-key.js'
import type { TopicOwnership } from './topic-manager.js'

const stateField = 'sub_state'
const preferencesField = 'sub_preferences'
const fields: ReadonlySet<string> = new Set([stateField, preferencesField])
/** The subscriptions. */
export const subscriptionKind: RecordKind = {
  table: 'sub',
  name: 'subscription',
  absent: HedwigErrorCode.noSubscription,
  exists: HedwigErrorCode.subscriptionExists,
}

/** A subscription with its subscriber. */
export interface Subscription extends Versioned<SubscriptionData> {
  /** Id of the subscriber, as bytes. */
  readonly subscriber: Buffer
}

/**
 * Creates, changes, deletes and reads subscriptions. Errors have codes of `HedwigErrorCode`.
 *
 * With a {@link SubscriptionFence} a write is refused with `NOT_RESPONSIBLE_FOR_TOPIC` if the hub
 * no longer owns the topic, or another owner has taken the fence. Without a fence the ownership is
 * not checked.
 */
export class SubscriptionDataManager {
  readonly #records: RecordTable
  readonly #form: RecordForm
  readonly #pageSize: number

  private constructor(records: RecordTable, form: RecordForm, pageSize: number) {
    this.#records = records
    this.#form = form
    this.#pageSize = pageSize
  }

  /**
   * Opens the table; `store` is initialised. `pageSize` is the number of rows in one read of a
   * scan.
   */
  static async open(
    store: MetaStore,
    form: RecordForm = 'text',
    pageSize = 50,
  ): Promise<SubscriptionDataManager> {
    checkForm(form)
    checkPageSize(pageSize)
    const table = await checkStore(store).createScannableTable(subscriptionKind.table)
    const records = new RecordTable(table, (error) => failure(subscriptionKind, error))
    return new SubscriptionDataManager(records, form, pageSize)
  }

  /** Whether {@link updateSubscriptionData} keeps absent parts: yes. */
  isPartialUpdateSupported(): boolean {
    return true
  }

  /**
   * Takes over the subscriptions of a topic for its owner, and returns the fence for the owner's
   * writes. From then on fenced writes of earlier owners are refused. Must be called before the
   * subscriptions are read. `NOT_RESPONSIBLE_FOR_TOPIC` if the topic was lost, or a later owner has
   * taken the fence. `UNEXPECTED_CONDITION` if the store has no guarded writes.
   */
  fence(ownership: TopicOwnership): Promise<SubscriptionFence> {
    return SubscriptionFence.take(this.#records, ownership)
  }

  /** Creates a subscription; `SUBSCRIPTION_STATE_EXISTS` if there is one. */
  createSubscriptionData(
    topic: TopicName,
    subscriber: SubscriberId,
    data: SubscriptionData,
    fence?: SubscriptionFence,
  ): Promise<Version> {
    return this.#put(topic, subscriber, data, Version.NEW, 'create', fence)
  }

  /**
   * Replaces the parts in `partial` if the version matches (`BAD_VERSION`). Never creates a
   * subscription: `NO_SUBSCRIPTION_STATE`, and `BAD_VERSION` for `NEW`.
   */
  updateSubscriptionData(
    topic: TopicName,
    subscriber: SubscriberId,
    partial: SubscriptionData,
    version: Version,
    fence?: SubscriptionFence,
  ): Promise<Version> {
    return this.#put(topic, subscriber, partial, version, 'update', fence)
  }

  /** As {@link updateSubscriptionData}, but removes the parts that are absent in `data`. */
  replaceSubscriptionData(
    topic: TopicName,
    subscriber: SubscriberId,
    data: SubscriptionData,
    version: Version,
    fence?: SubscriptionFence,
  ): Promise<Version> {
    return this.#put(topic, subscriber, data, version, 'replace', fence)
  }

  /** Deletes a subscription if its version matches. */
  async deleteSubscriptionData(
    topic: TopicName,
    subscriber: SubscriberId,
    version: Version,
    fence?: SubscriptionFence,
  ): Promise<void> {
    const key = subscriptionKey(topic, subscriber)
    checkFence(fence)
    fence?.check(topicKey(topic))
    await this.#records.remove(key, version, fence?.guard)
  }

  /** A subscription; null if there is none. `UNEXPECTED_CONDITION` if it cannot be read. */
  async readSubscriptionData(
    topic: TopicName,
    subscriber: SubscriberId,
  ): Promise<Versioned<SubscriptionData> | null> {
    const row = await this.#records.read(subscriptionKey(topic, subscriber), fields)
    return row === undefined ? null : this.#decode(row)
  }

  /**
   * A snapshot of all subscriptions of a topic, in the order of the subscribers' bytes. An
   * unreadable subscription fails the call with `UNEXPECTED_CONDITION`.
   */
  async readSubscriptions(topic: TopicName): Promise<Subscription[]> {
    const prefix = subscriptionPrefix(topic)
    const subscriptions: Subscription[] = []
    const range = {
      firstKey: prefix,
      firstInclusive: true,
      lastKey: subscriptionEnd(topic),
      lastInclusive: false,
      order: 'ASC',
    } as const
    for await (const page of this.#records.pages(this.#pageSize, ALL_FIELDS, range)) {
      for (const { key, value } of page) {
        subscriptions.push({ subscriber: subscriberOfKey(key, prefix), ...this.#decode(value) })
      }
    }
    return subscriptions
  }

  /** Closes this handle of the table. */
  close(): void {
    this.#records.close()
  }

  /** Not async, a hot path: every subscriber updates its state after every few messages. */
  #put(
    topic: TopicName,
    subscriber: SubscriberId,
    data: SubscriptionData,
    version: Version,
    how: 'create' | 'update' | 'replace',
    fence: SubscriptionFence | undefined,
  ): Promise<Version> {
    let key: string
    let value: Value
    try {
      const parts = copyOfData(data)
      value = this.#encode(parts)
      if (how === 'replace') {
        if (parts.state === undefined) value.setField(stateField, null)
        if (parts.preferences === undefined) value.setField(preferencesField, null)
      }
      if (how !== 'create') checkNotNew(version)
      key = subscriptionKey(topic, subscriber)
      checkFence(fence)
      fence?.check(topicKey(topic))
    } catch (error) {
      return Promise.reject(error)
    }
    return this.#records.put(key, value, version, fence?.guard)
  }

  #encode(data: SubscriptionData): Value {
    if (data.unknownFields !== undefined && data.unknownFields?.length !== 0) {
      // A row has fields only for the known parts.
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

function copyOfData(data: SubscriptionData): SubscriptionData {
  try {
    return { ...checkObject(data, 'a subscription') }
  } catch (error) {
    throw unexpectedCondition('the subscription cannot be read', error)
  }
}

function checkFence(fence: unknown): void {
  if (fence === undefined || SubscriptionFence.isOne(fence)) return
  throw unexpectedCondition('the fence is none that a manager gave out')
}

function checkNotNew(version: Version): void {
  if (version !== Version.NEW) return
  throw failed(HedwigErrorCode.badVersion, 'an existing subscription does not have the version NEW')
}
