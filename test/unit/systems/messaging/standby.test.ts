/** Standby instances: calls that overlap, and failures to open. */
import t from 'tap'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  MessagingService,
  StandbyMessaging,
  type Leadership,
} from '../../../../src/systems/messaging/index.js'

async function lead(fileSystem: MemoryFileSystem): Promise<Leadership> {
  const database = await Database.open('/database', { fileSystem, executor: 'inline' })
  const messaging = await MessagingService.open(database)
  const close = async (): Promise<void> => {
    await messaging.close()
    await database.close()
  }
  return { messaging, close }
}

void t.test('a stop during a resignation resolves when the directory is free', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const open = (): Promise<Leadership> => lead(fileSystem)
  const standby = await StandbyMessaging.start({ open, retryMilliseconds: 0 })
  const resigned = standby.resign()
  await standby.stop()
  const next = await lead(fileSystem)
  await resigned
  t.equal(standby.isLeader, false)
  await next.close()
})

void t.test('an attempt during a resignation leads again', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const open = (): Promise<Leadership> => lead(fileSystem)
  const standby = await StandbyMessaging.start({ open, retryMilliseconds: 0 })
  const id = { namespace: 'n', topic: 't' }
  await standby.createTopic(id)
  const resigned = standby.resign()
  t.equal(await standby.attempt(), true)
  await resigned
  t.equal(standby.isLeader, true)
  t.same(await standby.listTopics('n'), ['t'])
  const attempts = [standby.resign(), standby.attempt()]
  await standby.stop()
  t.same(await Promise.all(attempts), [undefined, false], 'none leads after the stop')
  await (await lead(fileSystem)).close()
})

void t.test('an open that throws at once is tried again', async (t) => {
  const fileSystem = new MemoryFileSystem()
  let isBroken = false
  const standby = await StandbyMessaging.start({
    open: () => {
      if (isBroken) throw new Error('no room')
      return lead(fileSystem)
    },
    retryMilliseconds: 0,
  })
  isBroken = true
  await standby.resign()
  await t.rejects(standby.attempt(), /no room/)
  isBroken = false
  t.equal(await standby.attempt(), true)
  await standby.stop()
})
