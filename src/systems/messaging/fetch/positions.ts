/**
 * Positions of consumers: for each topic and consumer the id of the last processed message. A
 * position ends with the generation of its topic.
 *
 *   row    = namespace:topic: generation(4) consumer
 *   column = d:i = id of a message (20)
 */
import type { ServiceParts } from '../live/topic-registry.js'
import {
  CellarError,
  checkText,
  invalidArgument,
  readArguments,
  type AtomicMutation,
} from '../../../api/index.js'
import { eachRow } from '../../../comfort/tables.js'
import { MessagingErrorCode } from '../errors.js'
import { corrupt } from '../../bytes/byte-reader.js'
import { decodeMessageId, encodeMessageId, checkMessageId, messageIdBytes } from '../message-id.js'
import { comparePlaces } from '../store/stored-batch.js'
import type { TopicState } from '../live/topic-state.js'
import type { ConsumerPosition } from '../types.js'
import { setPositionOptions, type SetPositionOptions } from '../options.js'

const column = 'd:i'
const timestamp = 1
const consumerBytesMax = 256
const pageRows = 256

/** `Messaging.getPosition`. */
export async function getPosition(
  { database, tables }: ServiceParts,
  topic: TopicState,
  consumer: string,
): Promise<Buffer | undefined> {
  const row = positionRow(topic, consumer)
  const result = await database.table(tables.consumer).get({ row, columns: [column] })
  const id = result.value(column)
  return id && checkStored(topic, consumer, id)
}

/** `Messaging.setPosition`. */
export async function setPosition(
  parts: ServiceParts,
  topic: TopicState,
  consumer: string,
  position: Uint8Array | string,
  options: SetPositionOptions,
): Promise<void> {
  const { id, expected } = checkedPosition(position, options)
  const { database, settings, tables } = parts
  const mutation = positionMutation(parts, topic, consumer, id)
  const check = { table: tables.consumer, row: mutation.row, column }
  const checks = expected === undefined ? [] : [{ ...check, equals: expected }]
  const { durability } = settings
  const { success } = await database.atomic({ checks, mutations: [mutation], durability })
  if (success) return
  const message = `the position of '${consumer}' in ${topic.name} has changed`
  throw new CellarError(MessagingErrorCode.positionChanged, message)
}

/** `Messaging.deletePosition`. */
export async function deletePosition(
  { database, tables, settings }: ServiceParts,
  topic: TopicState,
  consumer: string,
): Promise<void> {
  const row = positionRow(topic, consumer)
  await database.table(tables.consumer).delete({ row, durability: settings.durability })
}

/** `Messaging.listPositions`. */
export async function listPositions(
  { database, tables }: ServiceParts,
  topic: TopicState,
): Promise<ConsumerPosition[]> {
  const { prefix } = topic.rows
  const scanner = database.table(tables.consumer).scan({ prefix, columns: [column] })
  const positions: ConsumerPosition[] = []
  await eachRow(scanner, pageRows, (result) => {
    const consumer = result.row!.subarray(prefix.length).toString('utf8')
    const id = checkStored(topic, consumer, result.value(column)!)
    positions.push({ consumer, id, lagMilliseconds: lagOf(topic, id) })
    return true
  })
  return positions
}

/** Sets a position in the frame of a commit. */
export function positionMutation(
  { tables }: ServiceParts,
  topic: TopicState,
  consumer: string,
  position: Uint8Array,
): AtomicMutation {
  const put = { cells: { [column]: checkMessageId(position) }, timestamp }
  return { table: tables.consumer, row: positionRow(topic, consumer), mutations: [{ put }] }
}

/** The row of a position. `ERR_INVALID_ARGUMENT` for the name of the consumer. */
export function positionRow(topic: TopicState, consumer: string): Buffer {
  checkConsumer(consumer)
  return topic.rows.named(consumer)
}

/** The id after the last published message, for a consumer that starts at the end. */
export function endOf({ readable }: TopicState): Buffer {
  // Without any message: the first of all places.
  const place = readable.publishTimestamp < 0 ? { publishTimestamp: 0, sequenceId: 0 } : readable
  return encodeMessageId({ ...place, payloadWriteTimestamp: 0, payloadSequenceId: 0 })
}

/** Checks the name of a consumer. `ERR_INVALID_ARGUMENT`. */
export function checkConsumer(consumer: string): void {
  const bytes = typeof consumer === 'string' ? Buffer.byteLength(consumer) : 0
  if (bytes === 0 || bytes > consumerBytesMax) {
    throw invalidArgument(`a consumer has a name of 1 to ${consumerBytesMax} bytes`)
  }
  checkText(consumer, 'the name of a consumer')
}

/** The ids of a change of a position, as bytes. `ERR_INVALID_ARGUMENT`. */
export function checkedPosition(
  position: Uint8Array | string,
  options: SetPositionOptions,
): { readonly id: Buffer; readonly expected: Buffer | null | undefined } {
  const { expected } = setPositionOptions.read(options)
  return {
    id: readArguments(() => checkMessageId(position)),
    expected,
  }
}

/** Checks the bytes of a stored position. `ERR_CORRUPTION`. */
function checkStored(topic: TopicState, consumer: string, id: Buffer): Buffer {
  if (id.length === messageIdBytes) return id
  const place = `the position of '${consumer}' in ${topic.name}`
  throw corrupt(`${place} is damaged: it has ${id.length} bytes`)
}

/** Time between the publish of the position's message and of the newest message. */
function lagOf(topic: TopicState, id: Buffer): number {
  const { readable } = topic
  const place = decodeMessageId(id)
  if (readable.publishTimestamp < 0 || comparePlaces(place, readable) >= 0) return 0
  return Math.max(0, readable.publishTimestamp - place.publishTimestamp)
}
