/** Instances of which one leads. */
import assert from 'node:assert/strict'
import {
  MessagingService,
  StandbyMessaging,
  type Leadership,
} from '../../../src/systems/messaging/index.js'
import type { Database } from '../../../src/api/index.js'
import { failsWith } from '../../suites/kit.js'
import { type Fixture, type MessagingCase } from './case.js'
import { defaultTopic, texts } from './message-fixture.js'

const t1 = defaultTopic('t1')
const unavailable = 'ERR_MESSAGING_UNAVAILABLE'

function instance(fixture: Fixture, open: () => Promise<Database>): Promise<StandbyMessaging> {
  const lead = async (): Promise<Leadership> => {
    const database = await open()
    const messaging = await MessagingService.open(database, { clock: fixture.clock })
    const close = async (): Promise<void> => {
      await messaging.close()
      await database.close()
    }
    return { messaging, close }
  }
  return StandbyMessaging.start({ open: lead, retryMilliseconds: 0 })
}

/** The case about leaders. */
export const leaderCases: readonly MessagingCase[] = [
  {
    name: 'a follower answers nothing, and takes over where the leader ended',
    needs: 'openAgain',
    run: async (fixture) => {
      const again = (): Promise<Database> => fixture.suite.openAgain!()
      let own: Database | undefined = fixture.database
      const first = await instance(fixture, async () => {
        const open = own ?? (await again())
        own = undefined
        return open
      })
      const second = await instance(fixture, again)
      assert.deepEqual([first.isLeader, second.isLeader], [true, false])
      await first.createTopic(t1)
      await first.publish(t1, { messages: ['Testing1'] })
      const calls: (() => Promise<unknown>)[] = [
        () => second.createTopic(t1),
        () => second.updateTopic(t1, {}),
        () => second.deleteTopic(t1),
        () => second.getTopic(t1),
        () => second.listTopics('default'),
        () => second.publish(t1, { messages: ['a'] }),
        () => second.store(t1, { messages: ['a'], transactionWritePointer: 1n }),
        () => second.poll(t1),
        () => second.fetch(t1),
      ]
      for (const call of calls) await failsWith(unavailable, call)
      assert.equal(await second.attempt(), false)
      await first.resign()
      await failsWith(unavailable, () => first.poll(t1))
      assert.equal(await second.attempt(), true)
      assert.equal(await first.attempt(), false)
      await second.publish(t1, { messages: ['Testing2'] })
      assert.deepEqual(texts(await second.poll(t1)), ['Testing1', 'Testing2'])
      await second.stop()
      await failsWith(unavailable, () => second.poll(t1))
      assert.equal(await second.attempt(), false, 'it ended for good')
      assert.equal(await first.attempt(), true)
      assert.deepEqual(texts(await first.poll(t1)), ['Testing1', 'Testing2'])
      await first.stop()
    },
  },
]
