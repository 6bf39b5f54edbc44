/** What the cases about messages share. */
import {
  MessagingService,
  type Message,
  type MessagingOptions,
  type TopicId,
} from '../../../src/systems/messaging/index.js'
import type { Fixture } from './case.js'

/** A lifetime that no transaction of the cases exceeds. */
export const foreverMilliseconds = Number.MAX_SAFE_INTEGER

/** A topic of the namespace `default`. */
export function defaultTopic(topic: string): TopicId {
  return { namespace: 'default', topic }
}

/** The topic of most cases. */
export const t1 = defaultTopic('t1')
/** A second topic. */
export const t2 = defaultTopic('t2')

/** Opens a service that ends with the case. */
export async function serviceOf(
  fixture: Fixture,
  options: MessagingOptions = {},
): Promise<MessagingService> {
  const service = await MessagingService.open(fixture.database, {
    clock: fixture.clock,
    lifetimeMilliseconds: foreverMilliseconds,
    ...options,
  })
  fixture.atEnd(() => service.close())
  return service
}

/** The payloads of messages as text. */
export function texts(messages: readonly Message[]): string[] {
  return messages.map(({ payload }) => payload.toString('utf8'))
}

/** The id of a message in hexadecimal. */
export function idOf(message: Message): string {
  return message.id.toString('hex')
}

/** A service with a topic, at time 0. */
export async function atZero(fixture: Fixture): Promise<MessagingService> {
  fixture.clock.milliseconds = 0
  const service = await serviceOf(fixture)
  await service.createTopic(t1)
  await service.createTopic(t2)
  return service
}
