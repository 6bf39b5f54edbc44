/**
 * Fencing: late writes of a hub that lost a topic are refused.
 *
 * The table `sub` has one fence row per topic (`fenceKey`) with the field `token`: the version of
 * the owner's record at the last takeover of the subscriptions. A new owner replaces the row on the
 * condition that there is no higher token. Only then does the owner read subscriptions. Each of its
 * writes is guarded by the new version of the fence row: write, condition and guard are one step.
 * So no write of an earlier owner is applied after the fence was taken, and an earlier owner cannot
 * take the fence back. The row is kept when the topic is released.
 */
import { checkMethods, readArguments, type CellarError } from '../../../api/index.js'
import { HedwigErrorCode, failed, unexpectedCondition } from '../errors.js'
import type { RowGuard } from '../bookkeeper/types.js'
import { Value } from '../bookkeeper/value.js'
import type { RecordTable } from '../bookkeeper/tables/record-table.js'
import { LongVersion } from '../bookkeeper/tables/version.js'
import { fenceKey, topicKey } from './topic-key.js'
import type { TopicOwnership } from './topic-manager.js'

const field = 'token'
const fields: ReadonlySet<string> = new Set([field])

/** The fence of an owner for the subscriptions of one topic. */
export class SubscriptionFence {
  /** @internal The condition on the fence row. */
  readonly guard: RowGuard
  readonly #ownership: TopicOwnership
  readonly #topicKey: string

  private constructor(ownership: TopicOwnership, ownKey: string, guard: RowGuard) {
    this.#ownership = ownership
    this.#topicKey = ownKey
    this.guard = guard
  }

  /** @internal Whether a value is a fence. */
  static isOne(value: unknown): boolean {
    return typeof value === 'object' && value !== null && #topicKey in value
  }

  /**
   * @internal Takes over the subscriptions of a topic. `NOT_RESPONSIBLE_FOR_TOPIC` if the topic was
   * lost, or a later owner has taken the fence.
   */
  static async take(records: RecordTable, ownership: TopicOwnership): Promise<SubscriptionFence> {
    checkMethods(ownership, 'the ownership', ['isHeld'])
    const { topic, token } = readArguments(() => ({
      topic: ownership.topic,
      token: ownership.token,
    }))
    if (!(token instanceof LongVersion)) throw unexpectedCondition('the token is no version')
    records.guarded()
    const [key, ownKey] = [fenceKey(topic), topicKey(topic)]
    const version = await records.change(key, fields, (row) => {
      const isLater = row !== undefined && readToken(row.value).compare(token) === 'AFTER'
      if (isLater || !ownership.isHeld()) throw notResponsible(topic)
      return new Value({ [field]: token.toString() })
    })
    return new SubscriptionFence(ownership, ownKey, { key, version: version! })
  }

  /**
   * @internal Checks that a write to a topic may be sent now. `NOT_RESPONSIBLE_FOR_TOPIC` if the
   * topic was lost, `UNEXPECTED_CONDITION` if the fence belongs to another topic.
   */
  check(key: string): void {
    if (key !== this.#topicKey) throw unexpectedCondition('the fence is of another topic')
    if (!this.#ownership.isHeld()) throw notResponsible(this.#ownership.topic)
  }
}

function readToken(value: Value): LongVersion {
  const text = value.getField(field)?.toString('latin1') ?? ''
  if (/^[0-9]{1,19}$/.test(text)) return new LongVersion(BigInt(text))
  throw unexpectedCondition(`the fence of a topic holds ${JSON.stringify(text)}`)
}

function notResponsible(topic: Buffer): CellarError {
  const message = `this hub does not own topic ${topic.toString()} any more`
  return failed(HedwigErrorCode.notResponsible, message)
}
