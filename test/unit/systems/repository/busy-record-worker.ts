/** The thread of `subscription.test.ts`: many writes of one record before its handler can run. */
import { parentPort } from 'node:worker_threads'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import { RepositoryManager } from '../../../../src/systems/repository/index.js'

const writes = 300
const fileSystem = new MemoryFileSystem()
const database = await Database.open('/database', { fileSystem, executor: 'inline' })
const manager = await RepositoryManager.open(database)
await manager.types.createFieldType({ name: '{n}count', valueType: 'INTEGER' })
await manager.types.createRecordType({ name: '{n}r', fields: [{ name: '{n}count' }] })
const table = manager.repository().table()
await table.create({ id: 'USER.hot', type: '{n}r', fields: { '{n}count': 0 } })
let handled = 0
const handler = async (): Promise<void> => {
  // Goes on with the next turn of the event loop, as each handler does that reads from a disk.
  await new Promise((resolve) => setImmediate(resolve))
  handled++
}
const following = await manager.subscribe('busy', handler, { lanes: 4, from: 'now' })
for (let count = 1; count <= writes; count++) {
  await table.update({ id: 'USER.hot', fields: { '{n}count': count } })
}
await following.caughtUp()
await manager.close()
await database.close()
parentPort!.postMessage(handled)
