/** Sessions. And the extensions of this package. */
import {
  LeaderElection,
  LockManager,
  MetadataErrorCode,
  textSerde,
  type CachingStore,
  type FeedCommit,
} from '../../../src/entries/metastore-pulsar.js'
import { eventually, outcome, pause } from '../kit.js'
import { Events, joined, SessionEvents, textOf, type MetadataCase } from './case.js'

const allEvents = 'ConnectionLost,SessionLost,Reconnected,SessionReestablished'

/** See the file header. */
export const sessionCases: readonly MetadataCase[] = [
  {
    name: 'a connection that comes back in time',
    needs: 'disconnect',
    run: async (t, { space, open, fresh }) => {
      const k = fresh()
      const store = await open()
      await store.put(k, 'kept', -1, { ephemeral: true })
      const events = new SessionEvents(store)
      await space.disconnect!(store)
      await eventually(() => String(store.isConnected), 'false')
      await space.reconnect!(store)
      const list = (): string => joined(events.list)
      t.equal(
        await eventually(list, 'ConnectionLost,Reconnected'),
        'ConnectionLost,Reconnected',
        '',
      )
      t.equal(await textOf(store, k), 'kept', 'the record is there')
      t.equal(store.isConnected, true, 'connected')
    },
  },
  {
    name: 'a session that ends',
    needs: 'expireSession',
    run: async (t, { space, open, store, fresh }) => {
      const k = fresh()
      const losing = await open()
      await losing.put(`${k}/e`, '', -1, { ephemeral: true })
      await losing.put(`${k}/p`, '', -1)
      const events = new SessionEvents(losing)
      const seen = new Events(store, k)
      await space.expireSession!(losing)
      t.equal(await eventually(() => joined(events.list), allEvents), allEvents, 'all events')
      const read = async (): Promise<string> => joined(await store.getChildren(k))
      t.equal(await eventually(read, 'p'), 'p', 'only the ephemeral record is gone')
      await eventually(() => String(seen.list.includes(`Deleted ${k}/e`)), 'true')
      t.equal(seen.list.includes(`Deleted ${k}/e`), true, 'and told')
      await losing.put(`${k}/e`, '', -1, { ephemeral: true })
      t.equal((await losing.get(`${k}/e`))!.stat.createdBySelf, true, 'a new session')
    },
  },
  {
    name: 'locks are acquired again after the session was lost',
    needs: 'expireSession',
    run: async (t, { space, open, store, fresh }) => {
      const k = fresh()
      const losing = await open()
      const manager = new LockManager(losing, textSerde)
      const lock = await manager.acquireLock(k, 'value')
      const events = new SessionEvents(losing)
      const before = lock.token
      await space.expireSession!(losing)
      t.equal(await eventually(() => joined(events.list), allEvents), allEvents, 'all events')
      const read = async (): Promise<string> => `${await textOf(store, k)} ${lock.token > before}`
      t.equal(await eventually(read, 'value true'), 'value true', 'the lock record is back')
      t.equal(lock.state, 'Valid', 'held')
      t.equal(await eventually(() => String(lock.isSuspect), 'false'), 'false', 'for sure')
      await manager.close()
    },
  },
  {
    name: 'leadership is taken again after the session was lost',
    needs: 'expireSession',
    run: async (t, { space, open, store, fresh }) => {
      const k = fresh()
      const losing = await open()
      const election = new LeaderElection(losing, textSerde, k, undefined)
      await election.elect('me')
      const before = election.token!
      await space.expireSession!(losing)
      const state = async (): Promise<string> =>
        `${election.state} ${await textOf(store, k)} ${(election.token ?? 0) > before}`
      t.equal(await eventually(state, 'Leading me true'), 'Leading me true', 'leads again')
      await election.dispose()
    },
  },
  {
    name: 'an election goes on after a reconnection',
    needs: 'disconnect',
    run: async (t, { space, open, fresh }) => {
      const k = fresh()
      const store = await open()
      const election = new LeaderElection(store, textSerde, k, undefined)
      await election.elect('me')
      await space.disconnect!(store)
      await eventually(() => String(election.isSuspect), 'true')
      t.equal(election.isSuspect, true, 'in doubt')
      await space.reconnect!(store)
      t.equal(await eventually(() => String(election.isSuspect), 'false'), 'false', 'for sure')
      t.equal(`${election.state} ${await textOf(store, k)}`, 'Leading me', 'leads')
      await election.dispose()
    },
  },
  {
    name: 'the loss of a session is told before the deletions',
    needs: 'expireSession',
    run: async (t, { space, open, fresh }) => {
      const k = fresh()
      const losing = await open()
      await losing.put(`${k}/e`, '', -1, { ephemeral: true })
      await pause(20)
      const told: string[] = []
      losing.registerSessionListener((event) => told.push(event))
      losing.registerListener(({ type, path }) => {
        if (path === `${k}/e`) told.push(type)
      })
      await space.expireSession!(losing)
      await eventually(() => String(told.includes('SessionReestablished')), 'true')
      const isTold = losing.capabilities.resumableFeed
      t.equal(told.includes('Deleted') || !isTold, true, 'the deletion is told')
      const wanted = isTold ? 'ConnectionLost,SessionLost,Deleted' : 'ConnectionLost,SessionLost'
      t.equal(joined(told).startsWith(wanted), true, `the order: ${joined(told)}`)
    },
  },
  {
    name: 'closing one handle keeps the other, and ends its session',
    run: async (t, { open, fresh }) => {
      const k = fresh()
      const one = await open()
      const two = await open()
      await one.put(`${k}/1`, '', -1, { ephemeral: true })
      await two.put(`${k}/2`, '', -1, { ephemeral: true })
      t.equal((await one.get(`${k}/2`))!.stat.createdBySelf, false, 'of the other')
      await one.close()
      const read = async (): Promise<string> => joined(await two.getChildren(k))
      t.equal(await eventually(read, '2'), '2', 'one record left')
      t.equal(await outcome(two.put(`${k}/3`, '')), 'OK', 'still usable')
    },
  },
  {
    name: 'a batch is applied whole or not at all',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      await store.put(`${k}/a`, '1')
      const events = new Events(store, `${k}/b`)
      const failing = store.batch([
        { put: `${k}/b`, value: '1' },
        { delete: `${k}/a`, expected: 5 },
      ])
      t.equal(await outcome(failing), MetadataErrorCode.badVersion, 'one step fails')
      t.equal(joined(await store.getChildren(k)), 'a', 'nothing was changed')
      const stats = await store.batch([
        { check: `${k}/a`, expected: 0 },
        { put: `${k}/b`, value: '1', expected: -1 },
        { delete: `${k}/a` },
      ])
      t.equal(stats[1]?.path, `${k}/b`, 'the stat of the put')
      t.equal(joined(await store.getChildren(k)), 'b', 'everything was changed')
      const wanted = `Created ${k}/b`
      t.equal(await events.after(1), wanted, 'the event')
      t.equal(await outcome(store.batch([])), MetadataErrorCode.invalidArgument, 'empty')
      events.close()
    },
  },
  {
    name: 'a fencing token keeps a late holder out',
    run: async (t, { store, open, fresh }) => {
      const k = fresh()
      const one = await new LockManager(store, textSerde).acquireLock(`${k}/lock`, 'same')
      const other = await open()
      const write = (handle: CachingStore, token: number, value: string): Promise<string> =>
        outcome(
          handle.batch([
            { check: `${k}/lock`, expected: { creationSequence: token } },
            { put: `${k}/data`, value },
          ]),
        )
      t.equal(await write(store, one.token, 'first'), 'OK', 'the holder')
      await one.updateValue('another')
      t.equal(await write(store, one.token, 'second'), 'OK', 'the holder with another value')
      t.equal(await write(other, one.token, 'third'), 'OK', 'another handle with the token')
      const before = one.token
      await other.delete(`${k}/lock`)
      await eventually(() => String(one.token > before), 'true')
      const { badVersion } = MetadataErrorCode
      t.equal(await write(store, before, 'late'), badVersion, 'an old token')
      t.equal(await write(other, before, 'late'), badVersion, 'of another handle, too')
      t.equal(await textOf(store, `${k}/data`), 'third', 'nothing was written')
      t.equal(await write(store, one.token, 'in time'), 'OK', 'the present one')
      await one.release()
      t.equal(await write(store, one.token, 'late'), badVersion, 'after the release')
    },
  },
  {
    name: 'the feed gives each commit once, from any sequence',
    needs: 'extensions',
    run: async (t, { store, open, fresh }) => {
      const k = fresh()
      const sequences: number[] = []
      for (let i = 0; i < 20; i++) sequences.push((await store.put(`${k}/${i % 3}`, '')).sequence)
      const reader = await open()
      for (const from of [0, 7, 19]) {
        const found: number[] = []
        for await (const commit of reader.subscribe({
          prefix: k,
          fromSequence: sequences[from],
        })) {
          found.push(commit.sequence)
          if (commit.sequence === sequences[19]) break
        }
        t.equal(found.join(), sequences.slice(from).join(), `from ${from}`)
      }
    },
  },
  {
    name: 'a recursive delete is one commit',
    needs: 'extensions',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      for (const path of ['/a', '/a/b', '/a/b/c', '/z']) await store.put(k + path, '')
      const { sequence } = (await store.get(`${k}/z`))!.stat
      await store.deleteRecursive(`${k}/a`)
      const commits: FeedCommit[] = []
      for await (const commit of store.subscribe({ prefix: k, fromSequence: sequence + 1 })) {
        commits.push(commit)
        break
      }
      const deleted = commits[0].events.filter(({ type }) => type === 'Deleted')
      t.equal(deleted.length, 3, 'three records')
      t.equal(joined(await store.getChildren(k)), 'z', 'one left')
    },
  },
  {
    name: 'a listener that was taken back hears nothing',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      let heard = 0
      const remove = store.registerListener(({ path }) => {
        if (path === k) heard++
      })
      await store.put(k, '')
      await eventually(() => String(heard), '1')
      remove()
      // Listeners are told in turn, so one that comes later hears the change last.
      let heardLater = 0
      const removeLater = store.registerListener(({ path }) => {
        if (path === k) heardLater++
      })
      await store.put(k, '')
      await eventually(() => String(heardLater), '1')
      removeLater()
      t.equal(heard, 1, 'once')
    },
  },
  {
    name: 'an ephemeral record has no children',
    run: async (t, { store, open, fresh }) => {
      const k = fresh()
      const owner = await open()
      await owner.put(`${k}/e`, '', -1, { ephemeral: true })
      const { noChildrenForEphemerals } = MetadataErrorCode
      const refused = [
        store.put(`${k}/e/child`, ''),
        owner.put(`${k}/e/child/of/child`, '', -1),
        owner.put(`${k}/e/other`, '', -1, { ephemeral: true }),
        store.put(`${k}/e/number-`, '', -1, { sequential: true }),
        store.batch([{ put: `${k}/e/batch`, value: '' }]),
      ].map(outcome)
      for (const each of refused) t.equal(await each, noChildrenForEphemerals, 'refused')
      t.equal(joined(await store.getChildren(`${k}/e`)), '', 'nothing below')
      await store.put(`${k}/parent/child`, '')
      const above = store.put(`${k}/parent`, '', -1, { ephemeral: true })
      t.equal((await outcome(above)) === 'OK', false, 'nor above others')
      await owner.close()
      const left = async (): Promise<string> => joined(await store.getChildren(k))
      t.equal(await eventually(left, 'parent'), 'parent', 'nothing survives the session')
      t.equal(await outcome(store.put(`${k}/e/child`, '')), 'OK', 'the path is free again')
    },
  },
]
