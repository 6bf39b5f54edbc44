/**
 * A consumer with a position: reads the messages after the last processed one, and stores its
 * progress. In a transaction the position is part of the frame of the commit, so the results and
 * the position are stored together or not at all. If two processes use the same consumer name, the
 * second commit fails with a conflict.
 *
 * Messages that come after the end of their transaction are refused: a position behind them would
 * say that they were processed. Polls that are called at once come one after the other, and so do
 * commits.
 */
import { CallOrder } from '../../comfort/call-order.js'
import { stateError } from '../transactions/errors.js'
import { SingleParticipant } from '../transactions/participant.js'
import { checkMethods, type AtomicMutation } from '../../api/index.js'
import type { Transaction } from '../transactions/index.js'
import { checkConsumer } from './fetch/positions.js'
import type { MessagingService } from './service.js'
import { checkTopicId, type TopicId } from './topics/topic.js'
import type { Message } from './types.js'
import { consumerPollOptions, type FetchOptions } from './options.js'

/** See the file header. In one transaction at a time. */
export class MessageConsumer extends SingleParticipant {
  readonly name = 'message consumer'
  readonly #messaging: MessagingService
  readonly #topic: TopicId
  readonly #consumer: string
  /** The stored position, and the position after the messages read. */
  #stored: Buffer | undefined
  #read: Buffer | undefined
  #isKnown = false
  /** The polls that may move the position, in their order: undefined while a transaction ends. */
  #turn: CallOrder | undefined = new CallOrder()
  readonly #commits = new CallOrder()

  /**
   * Reads `topic` through `messaging` as the consumer of this name; the caller closes both.
   * `ERR_INVALID_ARGUMENT`.
   */
  constructor(messaging: MessagingService, topic: TopicId, consumer: string) {
    super()
    const methods = ['poll', 'getPosition', 'setPosition', 'positionKey'] as const
    this.#messaging = checkMethods(messaging, 'the messaging of a consumer', methods)
    this.#topic = checkTopicId(topic)
    checkConsumer(consumer)
    this.#consumer = consumer
  }

  /**
   * The next messages, within a transaction those visible to it. `ERR_TRANSACTION_STATE` if the
   * transaction ends meanwhile, or `reset` is called.
   */
  async poll(options: Pick<FetchOptions, 'limit' | 'waitMilliseconds'> = {}): Promise<Message[]> {
    const { limit, waitMilliseconds } = consumerPollOptions.read(options)
    const turn = this.#checkTurn(this.#turn)
    return turn.run(() => this.#poll(turn, { limit, waitMilliseconds }))
  }

  /**
   * Outside of transactions: marks all messages read as processed. `ERR_TRANSACTION_STATE` within
   * one, whose commit has the position. `ERR_POSITION_CHANGED` if another process with the
   * consumer's name moved the position.
   */
  async commit(): Promise<void> {
    if (this.transaction !== undefined) {
      throw stateError(`the transaction commits the position of '${this.#consumer}'`)
    }
    const read = this.#read
    const turn = this.#checkTurn(this.#turn)
    await this.#commits.run(async () => {
      this.#checkTurn(turn)
      if (read === undefined || read === this.#stored) return
      const expected = this.#stored ?? null
      await this.#messaging.setPosition(this.#topic, this.#consumer, read, { expected })
      if (turn === this.#turn) this.#stored = read
    })
  }

  /** Returns to the stored position, so unprocessed messages are read again. */
  reset(): void {
    this.#turn = new CallOrder()
    this.#isKnown = false
    this.#stored = undefined
    this.#read = undefined
  }

  override startTx(transaction: Transaction): void {
    super.startTx(transaction)
    // Another process may have committed a later position.
    this.reset()
  }

  /** Starts to read in a transaction; called by its context. */
  updateTx(transaction: Transaction): void {
    this.enter(transaction)
  }

  override getTxChanges(): Iterable<Uint8Array> {
    this.#turn = undefined
    return this.#hasRead ? [this.#messaging.positionKey(this.#topic, this.#consumer)] : []
  }

  /** The row of the position, which is written with the commit. */
  commitWrites(): readonly AtomicMutation[] {
    if (!this.#hasRead) return []
    return [this.#messaging.positionMutation(this.#topic, this.#consumer, this.#read!)]
  }

  override postTxCommit(): void {
    super.postTxCommit()
    this.#turn = new CallOrder()
    this.#stored = this.#read
  }

  override rollbackTx(): ReturnType<SingleParticipant['rollbackTx']> {
    this.reset()
    return super.rollbackTx()
  }

  async #poll(
    turn: CallOrder,
    options: Pick<FetchOptions, 'limit' | 'waitMilliseconds'>,
  ): Promise<Message[]> {
    this.#checkTurn(turn)
    if (!this.#isKnown) {
      const stored = await this.#messaging.getPosition(this.#topic, this.#consumer)
      this.#checkTurn(turn)
      this.#stored = stored
      this.#read ??= stored
      this.#isKnown = true
    }
    const messages = await this.#messaging.poll(this.#topic, {
      from: this.#read,
      inclusive: this.#read === undefined,
      transaction: this.transaction,
      ...options,
    })
    this.#checkTurn(turn)
    this.#read = messages.at(-1)?.id ?? this.#read
    return messages
  }

  #checkTurn(turn: CallOrder | undefined): CallOrder {
    if (turn !== undefined && turn === this.#turn) return turn
    throw stateError(`the transaction of this call of '${this.#consumer}' is over`)
  }

  get #hasRead(): boolean {
    return this.#read !== undefined && this.#read !== this.#stored
  }
}
