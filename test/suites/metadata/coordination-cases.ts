/** Locks, elections, counters, table views. */
import { CellarError } from '../../../src/api/index.js'
import {
  CoordinationService,
  jsonSerde,
  LeaderElection,
  LockManager,
  MetadataErrorCode,
  MetadataTableView,
  nextCounterValue,
  textSerde,
  type CachingStore,
} from '../../../src/entries/metastore-pulsar.js'
import { eventually, outcome, pause } from '../kit.js'
import { joined, textOf, type MetadataCase } from './case.js'

const { lockBusy, illegalState, timeout } = MetadataErrorCode

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const pending = {}
  return (await Promise.race([promise, pause(30).then(() => pending)])) === pending
}

const managerOf = (store: CachingStore): LockManager<string> => new LockManager(store, textSerde)

/** See the file header. */
export const coordinationCases: readonly MetadataCase[] = [
  {
    name: 'a lock is acquired, listed and read',
    run: async (t, { store, open, fresh }) => {
      const k = fresh()
      const manager = managerOf(store)
      t.equal(joined(await manager.listLocks(k)), '', 'no locks')
      t.equal(await manager.readLock(`${k}/1`), undefined, 'no value')
      const lock = await manager.acquireLock(`${k}/1`, 'lock-1')
      t.equal(joined(await manager.listLocks(k)), '1', 'one lock')
      t.equal(await manager.readLock(`${k}/1`), 'lock-1', 'its value')
      t.equal(`${lock.path} ${lock.value}`, `${k}/1 lock-1`, 'the handle')
      t.equal(await isPending(lock.expired), true, 'held')
      const other = managerOf(await open())
      t.equal(await outcome(other.acquireLock(`${k}/1`, 'lock-2')), lockBusy, 'another value')
      t.equal(await outcome(other.acquireLock(`${k}/1`, 'lock-1')), lockBusy, 'an equal value')
      let isReleased = false
      void lock.expired.then(() => (isReleased = true))
      await lock.release()
      t.equal(isReleased, true, 'expired before the release resolves')
      t.equal(await outcome(lock.release()), 'OK', 'twice')
      const next = await other.acquireLock(`${k}/1`, 'lock-2')
      t.equal(next.token > lock.token, true, 'the token grows')
      await store.put(`${k}/p`, 'persistent')
      t.equal(await outcome(other.acquireLock(`${k}/p`, 'x')), lockBusy, 'a persistent record')
      await other.close()
      await manager.close()
    },
  },
  {
    name: 'closing a manager releases its locks',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const manager = managerOf(store)
      await manager.acquireLock(`${k}/1`, 'a')
      await manager.acquireLock(`${k}/2`, 'b')
      await manager.close()
      t.equal(joined(await store.getChildren(k)), '', 'both gone')
      const late = manager.acquireLock(`${k}/3`, 'c')
      t.equal(await outcome(late), MetadataErrorCode.alreadyClosed, 'closed')
    },
  },
  {
    name: 'updateValue is seen everywhere when it resolves',
    run: async (t, { store, open, fresh }) => {
      const k = fresh()
      const manager = managerOf(store)
      const other = managerOf(await open())
      const lock = await manager.acquireLock(k, 'lock-1')
      t.equal(await other.readLock(k), 'lock-1', 'read elsewhere')
      await lock.updateValue('lock-2')
      t.equal(`${lock.value} ${await textOf(store, k)}`, 'lock-2 lock-2', 'handle and record')
      const read = async (): Promise<string> => (await other.readLock(k)) ?? ''
      t.equal(await eventually(read, 'lock-2'), 'lock-2', 'another cache')
      await lock.release()
      t.equal(await outcome(lock.updateValue('x')), illegalState, 'after the release')
      await manager.close()
      await other.close()
    },
  },
  {
    name: 'updateValue creates a record that disappeared, and survives one that changed',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const manager = managerOf(store)
      const lock = await manager.acquireLock(k, 'lock-1')
      await store.put(k, 'by somebody')
      await lock.updateValue('lock-2')
      t.equal(await textOf(store, k), 'lock-2', 'written over')
      await store.delete(k)
      await lock.updateValue('lock-3')
      t.equal(await textOf(store, k), 'lock-3', 'created again')
      await manager.close()
    },
  },
  {
    name: 'a record of the same session is adopted',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const manager = managerOf(store)
      await store.put(`${k}/1`, 'same', -1, { ephemeral: true })
      await store.put(`${k}/2`, 'other', -1, { ephemeral: true })
      const one = await manager.acquireLock(`${k}/1`, 'same')
      const two = await manager.acquireLock(`${k}/2`, 'mine')
      t.equal(await textOf(store, `${k}/1`), 'same', 'an equal value')
      t.equal(await textOf(store, `${k}/2`), 'mine', 'another value')
      t.equal(await isPending(Promise.race([one.expired, two.expired])), true, 'held')
      const newer = await manager.acquireLock(`${k}/1`, 'newer')
      t.equal(await isPending(one.expired), false, 'a newer handle retires the older')
      t.equal(await isPending(newer.expired), true, 'and holds the lock')
      await manager.close()
    },
  },
  {
    name: 'a lock that another session took is lost',
    run: async (t, { store, open, fresh }) => {
      const k = fresh()
      const manager = managerOf(store)
      const other = await open()
      const lock = await manager.acquireLock(k, 'same')
      const stolen = other.batch([{ delete: k }, { put: k, value: 'same', ephemeral: true }])
      t.equal(await outcome(stolen), 'OK', 'taken by force')
      await lock.expired
      t.equal(lock.state, 'Released', 'ended')
      t.equal(joined(manager.heldPaths), '', 'not held any more')
      t.equal(await textOf(other, k), 'same', 'the record of the other stays')
      await manager.close()
      t.equal(await textOf(other, k), 'same', 'also after the close')
    },
  },
  {
    name: 'a lock whose record was deleted is taken again',
    run: async (t, { store, open, fresh }) => {
      const k = fresh()
      const manager = managerOf(store)
      const lock = await manager.acquireLock(k, 'value')
      const before = lock.token
      await (await open()).delete(k)
      const read = (): Promise<string> => textOf(store, k)
      t.equal(await eventually(read, 'value'), 'value', 'the record is back')
      t.equal(await eventually(() => String(lock.token > before), 'true'), 'true', 'a new token')
      t.equal(await isPending(lock.expired), true, 'held')
      await manager.close()
    },
  },
  {
    name: 'one participant leads',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const states: string[] = []
      const election = new LeaderElection(store, textSerde, k, (state) => states.push(state))
      t.equal(await election.elect('me'), 'Leading', 'leads')
      t.equal(await textOf(store, k), 'me', 'the record')
      t.equal(await election.elect('me'), 'Leading', 'asked again')
      t.equal(joined(states), 'Leading', 'told once')
      await election.close()
      t.equal(`${election.state} ${await store.exists(k)}`, 'NoLeader false', 'closed')
      await election.dispose()
    },
  },
  {
    name: 'the second participant follows, then leads',
    run: async (t, { store, open, fresh }) => {
      const k = fresh()
      const states: string[] = []
      const one = new LeaderElection(store, textSerde, k, undefined)
      const two = new LeaderElection(await open(), textSerde, k, (s) => states.push(s))
      t.equal(await one.elect('test-1'), 'Leading', 'the first')
      t.equal(await two.elect('test-2'), 'Following', 'the second')
      const values = [one.getLeaderValueIfPresent(), await one.getLeaderValue()]
      values.push(two.getLeaderValueIfPresent(), await two.getLeaderValue())
      t.equal(values.join(), 'test-1,test-1,test-1,test-1', 'both know the leader')
      const token = one.token!
      await one.close()
      t.equal(await eventually(() => two.state, 'Leading'), 'Leading', 'takes over')
      t.equal(await eventually(() => states.at(-1) ?? '', 'Leading'), 'Leading', 'and is told')
      t.equal(await two.getLeaderValue(), 'test-2', 'the new value')
      t.equal(two.token! > token, true, 'the token grows')
      t.equal(await one.getLeaderValue(), undefined, 'a closed participant knows none')
      t.equal(one.getLeaderValueIfPresent(), undefined, 'neither at once')
      await one.close()
      t.equal(await textOf(store, k), 'test-2', 'closing twice does not touch the next leader')
      await one.dispose()
      await two.dispose()
    },
  },
  {
    name: 'closing the service gives up all leaderships',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const service = new CoordinationService(store)
      await service.getLeaderElection(textSerde, `${k}/1`).elect('a')
      await service.getLeaderElection(textSerde, `${k}/2`).elect('b')
      await service.close()
      t.equal(joined(await store.getChildren(k)), '', 'both records are gone')
    },
  },
  {
    name: 'a record of the same session is led with the new value',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      await store.put(k, 'before', -1, { ephemeral: true })
      const election = new LeaderElection(store, textSerde, k, undefined)
      t.equal(await election.elect('now'), 'Leading', 'leads')
      t.equal(await election.getLeaderValue(), 'now', 'the value')
      await election.dispose()
    },
  },
  {
    name: 'readers see no gap while a leader is elected again',
    run: async (t, { store, open, fresh }) => {
      const k = fresh()
      const election = new LeaderElection(store, textSerde, k, undefined)
      await election.elect('me')
      const other = await open()
      for (let i = 0; i < 5; i++) {
        await other.deleteIfExists(k)
        t.equal(await election.getLeaderValue(), 'me', 'a leader')
      }
      await election.dispose()
    },
  },
  {
    name: 'elect after close takes part again',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const election = new LeaderElection(store, textSerde, k, undefined)
      await election.elect('a')
      await election.close()
      t.equal(await election.elect('b'), 'Leading', 'leads again')
      t.equal(await textOf(store, k), 'b', 'with the new value')
      await election.dispose()
    },
  },
  {
    name: 'a store that never answers is a timeout',
    run: async (t, { store, fresh }) => {
      const silent = Object.create(store, {
        get: { value: () => new Promise(() => undefined) },
        registerListener: { value: store.registerListener.bind(store) },
        registerSessionListener: { value: store.registerSessionListener.bind(store) },
      }) as CachingStore
      const options = { readTimeoutMilliseconds: 50 }
      const election = new LeaderElection(silent, textSerde, fresh(), undefined, options)
      t.equal(await outcome(election.getLeaderValue()), timeout, 'the read')
    },
  },
  {
    name: 'a counter gives each number once',
    run: async (t, { store, open, fresh }) => {
      const k = fresh()
      const other = await open()
      const numbers = [await nextCounterValue(store, k), await nextCounterValue(store, k)]
      numbers.push(await nextCounterValue(other, k))
      t.equal(new Set(numbers).size, 3, 'three numbers')
    },
  },
  {
    name: 'a counter goes on after its handle was closed',
    run: async (t, { open, fresh }) => {
      const k = fresh()
      const numbers: number[] = []
      for (let i = 0; i < 3; i++) {
        const store = await open()
        for (let j = 0; j < 3; j++) numbers.push(await nextCounterValue(store, k))
        await store.close()
      }
      t.equal(new Set(numbers).size, 9, 'nine numbers')
    },
  },
  {
    name: 'a counter tries conflicts again, five times',
    run: async (t, { store, fresh }) => {
      const failing = (failures: number): CachingStore => {
        let left = failures
        const put: CachingStore['put'] = (path, value, expected, options) =>
          options === undefined && left-- > 0
            ? Promise.reject(new CellarError(MetadataErrorCode.badVersion, path))
            : store.put(path, value, expected, options)
        return Object.create(store, {
          put: { value: put },
          exists: { value: () => Promise.resolve(false) },
          deleteIfExists: { value: store.deleteIfExists.bind(store) },
        }) as CachingStore
      }
      t.equal(await outcome(nextCounterValue(failing(3), fresh())), 'OK', 'three')
      const always = await outcome(nextCounterValue(failing(99), fresh()))
      t.equal(always, MetadataErrorCode.storeFailure, 'always')
    },
  },
  {
    name: 'a table view',
    run: async (t, { store, open, fresh }) => {
      const k = fresh()
      await store.put(`${k}/old`, '1')
      await store.put(`${k}/hidden`, '1')
      const existing: string[] = []
      const changes: string[] = []
      const isAllowed = (before: number | undefined, after: number): boolean =>
        before === undefined || before < after
      const options = { prefix: k, isAllowed, filter: (key: string) => key !== 'hidden' }
      const view = new MetadataTableView<number>(store, jsonSerde(), {
        ...options,
        onExisting: (key, value) => existing.push(`${key}=${value}`),
        onChange: (key, value) => changes.push(`${key}=${value}`),
      })
      await view.start()
      const other = new MetadataTableView<number>(await open(), jsonSerde(), options)
      await other.start()
      t.equal(joined(existing), 'old=1', 'what was there')
      t.equal(view.get('x'), undefined, 'nothing')
      t.equal(await outcome(view.delete('x')), MetadataErrorCode.notFound, 'nothing to delete')
      t.equal(await outcome(view.put('n', 0)), 'OK', 'put')
      t.equal(await outcome(view.put('n', 0)), MetadataErrorCode.conflict, 'not greater')
      t.equal(await outcome(view.put('n', 1)), 'OK', 'greater')
      t.equal(await outcome(view.put('n', 0)), MetadataErrorCode.conflict, 'less')
      const seen = (): string => String(other.get('n'))
      t.equal(await eventually(seen, '1'), '1', 'the other view')
      const races = Array.from({ length: 50 }, () => outcome(view.put('race', 5)))
      const outcomes = new Set(await Promise.all(races))
      t.equal([...outcomes].sort().join(), `${MetadataErrorCode.conflict},OK`, 'won or conflict')
      await other.delete('n')
      t.equal(await eventually(() => String(view.get('n')), 'undefined'), 'undefined', 'deleted')
      t.equal(changes.at(-1), 'n=null', 'and told')
      t.equal(
        changes.concat(existing).some((each) => /hidden/.test(each)),
        false,
        'filtered',
      )
      view.close()
      const closed = view.put('n', 9)
      t.equal(await outcome(closed), MetadataErrorCode.alreadyClosed, 'closed')
      other.close()
    },
  },
]
