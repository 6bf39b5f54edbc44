/** The topic that is measured. */
import { join } from 'node:path'
import { Database } from '../../src/entries/index.js'
import { MessagingService } from '../../src/systems/messaging/index.js'

/** What an acknowledged publish survives: the end of the process, or the loss of power. */
export type QueueDurability = 'buffered' | 'sync'

/** Its name. */
export const topic = { namespace: 'bench', topic: 'messages' }

/** Opens a service with the topic. */
export async function openTopic(
  directory: string,
  durability: QueueDurability,
): Promise<{ service: MessagingService; close: () => Promise<void> }> {
  const database = await Database.open(join(directory, 'cellar'))
  const service = await MessagingService.open(database, {
    durability: durability === 'sync' ? 'FSYNC_WAL' : 'SYNC_WAL',
  })
  await service.createTopic(topic)
  const close = async (): Promise<void> => {
    await service.close()
    await database.close()
  }
  return { service, close }
}
