/** A server with one topic in its own process. Arguments: directory, durability. */
import { CellarServer, messagingRoutes } from '../../src/server/index.js'
import { openTopic, type QueueDurability } from './topic.js'

const [directory, durability] = process.argv.slice(2)
const { service, close } = await openTopic(directory, durability as QueueDurability)
const server = await CellarServer.start([messagingRoutes(service)], { port: 0 })
process.send!(server.url)
process.once('disconnect', () => {
  void server.close().then(close)
})
