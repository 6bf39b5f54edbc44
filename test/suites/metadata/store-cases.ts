/** Records, children, events, versions, sequences. */
import { MetadataErrorCode } from '../../../src/entries/metastore-pulsar.js'
import { eventually, outcome } from '../kit.js'
import { Events, joined, textOf, type MetadataCase } from './case.js'

const { badVersion, notFound, notEmpty, invalidPath, invalidArgument } = MetadataErrorCode

/** See the file header. */
export const storeCases: readonly MetadataCase[] = [
  {
    name: 'an empty store has nothing',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      for (const path of [`${k}/x`, `${k}/x/child`]) {
        t.equal(await store.exists(path), false, `${path} does not exist`)
        t.equal(await textOf(store, path), 'none', `${path} has no record`)
        t.equal(joined(await store.getChildren(path)), '', `${path} has no children`)
      }
    },
  },
  {
    name: 'nothing can be deleted from an empty store',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      t.equal(await outcome(store.delete(`${k}/x`)), notFound, 'unconditionally')
      t.equal(await outcome(store.deleteIfExists(`${k}/x`)), 'OK', 'if it exists')
      const strict = await outcome(store.delete(`${k}/x`, 1))
      t.equal(strict === notFound || strict === badVersion, true, 'with a version')
    },
  },
  {
    name: '50 puts of one new path at once all succeed',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const puts = Array.from({ length: 50 }, () => outcome(store.put(k, 'value')))
      t.equal(new Set(await Promise.all(puts)).size, 1, 'one outcome')
      t.equal(await outcome(puts[0]), 'OK', 'all succeed')
      t.equal(await textOf(store, k), 'value', 'the bytes')
    },
  },
  {
    name: 'a version is not expected of what is not there',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      t.equal(await outcome(store.put(k, 'a', 0)), badVersion, 'version 0')
      t.equal(await outcome(store.put(k, 'a', 1)), badVersion, 'version 1')
      t.equal(await store.exists(k), false, 'nothing was created')
    },
  },
  {
    name: 'a failed put changes nothing',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const { version } = await store.put(k, 'value-1', -1)
      t.equal(await outcome(store.put(k, 'value-2', -1)), badVersion, 'a second creation')
      t.equal(await outcome(store.put(k, 'value-2', version + 1)), badVersion, 'a later version')
      const found = (await store.get(k))!
      t.equal(found.value.toString(), 'value-1', 'the value')
      t.equal(found.stat.version, version, 'the version')
    },
  },
  {
    name: 'a put with the right version is applied',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const { version, firstVersion } = await store.put(k, 'value-1', -1)
      t.equal(firstVersion, true, 'the first version')
      const stat = await store.put(k, 'value-2', version)
      t.equal(stat.version, version + 1, 'one more')
      const found = (await store.get(k))!
      t.equal(found.stat.version, stat.version, 'the version')
      t.equal(found.stat.firstVersion, false, 'no longer the first')
      t.equal(found.value.toString(), 'value-2', 'the value')
    },
  },
  {
    name: 'grandchildren are no children',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      for (let i = 0; i < 10; i++) await store.put(`${k}/c-${i}`, '')
      const children = joined(await store.getChildren(k))
      for (let i = 0; i < 10; i++) await store.put(`${k}/c-0/cc-${i}`, '')
      t.equal(joined(await store.getChildren(k)), children, 'the children')
      t.equal((await store.getChildren(`${k}/c-0`)).length, 10, 'the grandchildren')
    },
  },
  {
    name: 'when all children were deleted with what is below, there are none',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      for (let i = 0; i < 5; i++) await store.put(`${k}/c-${i}/x`, '')
      for (let i = 0; i < 5; i++) await store.deleteRecursive(`${k}/c-${i}`)
      t.equal(joined(await store.getChildren(k)), '', 'no children')
    },
  },
  {
    name: 'a path that only has children cannot be deleted',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      await store.put(`${k}/c-0`, '')
      t.equal((await outcome(store.delete(k))).startsWith('ERR_METADATA_'), true, 'some error')
      await store.put(`${k}/e`, '')
      await store.put(`${k}/e/child`, '')
      t.equal(await outcome(store.delete(`${k}/e`)), notEmpty, 'a record with children')
      t.equal(await textOf(store, `${k}/e/child`), '', 'the child is there')
    },
  },
  {
    name: 'a delete with another version changes nothing',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      await store.put(`${k}/c`, '')
      t.equal(await outcome(store.delete(`${k}/c`, 1)), badVersion, 'version 1')
      t.equal(await outcome(store.delete(`${k}/c`, -1)), badVersion, 'absence')
      t.equal(await outcome(store.delete(`${k}/c`)), 'OK', 'unconditionally')
      t.equal(await store.exists(`${k}/c`), false, 'gone')
    },
  },
  {
    name: 'events: a creation',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      t.equal(await textOf(store, k), 'none', 'nothing')
      const events = new Events(store, k)
      const stat = await store.put(k, 'a', -1)
      t.equal(await events.after(1), `Created ${k}`, 'one event')
      t.equal(stat.version >= 0 && stat.firstVersion, true, 'the first version')
      events.close()
    },
  },
  {
    name: 'events: an update; none for an update that failed',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      await store.put(k, 'a', -1)
      await store.get(k)
      const events = new Events(store, k)
      await outcome(store.put(k, 'x', 7))
      const stat = await store.put(k, 'b')
      const found = (await events.after(1)).replace(`Created ${k},`, '')
      t.equal(found, `Modified ${k}`, 'one event')
      t.equal(stat.version, 1, 'the version grew')
      events.close()
    },
  },
  {
    name: 'events: children of a record come and go',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const events = new Events(store, k)
      await store.put(k, '', -1)
      await store.put(`${k}/xx`, '', -1)
      await store.delete(`${k}/xx`)
      const wanted = [
        `Created ${k}`,
        `Created ${k}/xx`,
        `ChildrenChanged ${k}`,
        `Deleted ${k}/xx`,
        `ChildrenChanged ${k}`,
      ]
      t.equal(await events.after(5), joined(wanted), 'five events')
      events.close()
    },
  },
  {
    name: 'a recursive delete leaves what is beside',
    run: async (t, { store, fresh }) => {
      const p = fresh()
      for (const path of ['', '/c1', '/c2', '/c3', '/c1/x1', '/c1/x2', '/c2/y2']) {
        await store.put(`${p}/k1${path}`, '', -1)
      }
      await store.put(`${p}/k2`, '', -1)
      await store.deleteRecursive(`${p}/k1`)
      t.equal(joined(await store.getChildren(p)), 'k2', 'one child')
      t.equal(await outcome(store.deleteRecursive(`${p}/nothing`)), 'OK', 'nothing to delete')
    },
  },
  {
    name: 'a record survives the closing of its handle',
    run: async (t, { open, fresh }) => {
      const k = fresh()
      const first = await open()
      await first.put(`${k}/a/b/c`, 'kept', -1)
      await first.close()
      t.equal(await textOf(await open(), `${k}/a/b/c`), 'kept', 'the bytes')
    },
  },
  {
    name: 'three tasks increment one record by conditional puts',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      await store.put(k, '0', -1)
      let successes = 0
      const task = async (): Promise<void> => {
        for (;;) {
          const { value, stat } = (await store.get(k))!
          const number = Number(value.toString())
          if (number >= 100) return
          const next = String(number + 1)
          if ((await outcome(store.put(k, next, stat.version))) === 'OK') successes++
        }
      }
      await Promise.all([task(), task(), task()])
      t.equal(successes, 100, 'puts that succeeded')
      t.equal(await textOf(store, k), '100', 'the value')
    },
  },
  {
    name: 'of two deletes at once one succeeds',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      await store.put(k, '')
      const outcomes = await Promise.all([outcome(store.delete(k)), outcome(store.delete(k))])
      t.equal(outcomes.filter((each) => each === 'OK').length, 1, 'one')
      const creations = await Promise.all([
        outcome(store.put(k, 'a', -1)),
        outcome(store.put(k, 'b', -1)),
      ])
      t.equal(creations.filter((each) => each === 'OK').length, 1, 'one creation')
    },
  },
  {
    name: 'children of the root and of implied parents',
    run: async (t, { store, fresh }) => {
      const a = fresh()
      const b = fresh()
      await store.put(`${a}/a-1`, '')
      await store.put(`${a}/a-2`, '')
      await store.put(`${b}/c/b/1`, '')
      const root = await store.getChildren('/')
      t.equal(root.includes(a.slice(1)) && root.includes(b.slice(1)), true, 'the root')
      t.equal(joined(await store.getChildren(a)), 'a-1,a-2', 'two')
      t.equal(joined(await store.getChildren(b)), 'c', 'one')
      t.equal(joined(await store.getChildren(`${b}/c`)), 'b', 'one below')
      t.equal(joined(await store.getChildrenFromStore(`${b}/c/b`)), '1', 'from the store')
    },
  },
  {
    name: 'a path that only has descendants',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const { impliedParents } = store.capabilities
      await store.put(`${k}/a/b`, '')
      t.equal(joined(await store.getChildren(k)), 'a', 'is listed')
      t.equal(await store.exists(`${k}/a`), !impliedParents, 'exists')
      t.equal(await textOf(store, `${k}/a`), impliedParents ? 'none' : '', 'its bytes')
      if (impliedParents) {
        t.equal((await store.put(`${k}/a`, 'x', -1)).version, 0, 'becomes a record')
        await store.delete(`${k}/a/b`)
        t.equal(joined(await store.getChildren(k)), 'a', 'a record stays')
        await store.delete(`${k}/a`)
        t.equal(joined(await store.getChildren('/')).includes(k.slice(1)), false, 'all are gone')
      } else {
        t.equal(await outcome(store.put(`${k}/a`, 'x', -1)), badVersion, 'is a record already')
      }
      t.equal((await store.put(`${k}/a`, 'y')).path, `${k}/a`, 'can be put')
    },
  },
  {
    name: 'children that another handle makes',
    run: async (t, { store, open, fresh }) => {
      const p = fresh()
      const other = await open()
      await store.put(p, '')
      await store.put(`${p}/a`, '')
      t.equal(joined(await store.getChildren(p)), 'a', 'one')
      await store.delete(`${p}/a`)
      t.equal(joined(await store.getChildren(p)), '', 'none')
      await store.delete(p)
      t.equal(joined(await store.getChildren(p)), '', 'no parent')
      const list = async (): Promise<string> => joined(await store.getChildren(p))
      await other.put(`${p}/b`, '')
      t.equal(await eventually(list, 'b'), 'b', 'of the other')
      await other.put(`${p}/c`, '')
      t.equal(await eventually(list, 'b,c'), 'b,c', 'both')
    },
  },
  {
    name: 'a record that another handle makes',
    run: async (t, { store, open, fresh }) => {
      const p = fresh()
      t.equal(await store.exists(`${p}/a`), false, 'absent')
      await (await open()).put(`${p}/a`, '')
      const read = async (): Promise<string> => String(await store.exists(`${p}/a`))
      t.equal(await eventually(read, 'true'), 'true', 'present')
      t.equal(await store.exists(`${p}/b`), false, 'another one')
    },
  },
  {
    name: 'persistent upserts',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const first = await store.put(k, 'a')
      t.equal(first.ephemeral, false, 'persistent')
      t.equal(first.firstVersion, true, 'the first version')
      const second = await store.put(k, 'a')
      t.equal(second.version, first.version + 1, 'one more')
      t.equal(second.sequence > first.sequence, true, 'the sequence grows')
      t.equal(second.creationSequence, first.creationSequence, 'created once')
    },
  },
  {
    name: 'ephemeral upserts',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const first = await store.put(k, 'a', undefined, { ephemeral: true })
      t.equal(first.ephemeral && first.createdBySelf && first.firstVersion, true, 'ephemeral')
      const second = await store.put(k, 'b', undefined, { ephemeral: true })
      t.equal(second.ephemeral && second.version === first.version + 1, true, 'still')
      const third = await store.put(k, 'c')
      t.equal(third.ephemeral, true, 'fixed at the creation')
    },
  },
  {
    name: 'two handles share a store',
    run: async (t, { open, fresh }) => {
      const k = fresh()
      const one = await open()
      const two = await open()
      await one.put(k, '')
      const read = async (): Promise<string> => `${await one.exists(k)} ${await two.exists(k)}`
      t.equal(await eventually(read, 'true true'), 'true true', 'in both')
      await two.delete(k)
      t.equal(await eventually(read, 'false false'), 'false false', 'in none')
    },
  },
  {
    name: 'invalid paths, versions, values and options change nothing',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      for (const path of [null, '', ' ', `${k}/`, 'x', '//a', `${k}//b`, `${k}/\0`]) {
        const bad = path as string
        t.equal(await outcome(store.get(bad)), invalidPath, `get ${bad}`)
        t.equal(await outcome(store.put(bad, '')), invalidPath, `put ${bad}`)
        t.equal(await outcome(store.delete(bad)), invalidPath, `delete ${bad}`)
        t.equal(await outcome(store.exists(bad)), invalidPath, `exists ${bad}`)
        t.equal(await outcome(store.getChildren(bad)), invalidPath, `getChildren ${bad}`)
        t.equal(await outcome(store.deleteRecursive(bad)), invalidPath, `deleteRecursive ${bad}`)
      }
      for (const expected of [-2, 1.5, NaN, '1']) {
        const bad = expected as number
        t.equal(await outcome(store.put(k, '', bad)), invalidArgument, `expected ${bad}`)
        t.equal(await outcome(store.delete(k, bad)), invalidArgument, `expected ${bad}`)
      }
      const noValue = store.put(k, null as unknown as string)
      t.equal(await outcome(noValue), invalidArgument, 'no value')
      for (const options of [
        { unknown: true },
        { ephemeral: 1 },
        { sequenceKeysDeltas: [] },
        { sequenceKeysDeltas: [0] },
        { sequenceKeysDeltas: [1, -1] },
        { secondaryIndexes: { a: 1 } },
        { sequential: true, sequenceKeysDeltas: [1] },
      ]) {
        const put = store.put(k, '', undefined, options as object)
        t.equal(await outcome(put), invalidArgument, JSON.stringify(options))
      }
      const numbered = store.put(k, '', 3, { sequential: true })
      t.equal(await outcome(numbered), invalidArgument, 'sequential with a version')
      t.equal(await store.exists(k), false, 'nothing was created')
      t.equal(await outcome(store.put(k, '')), 'OK', 'an empty value')
    },
  },
  {
    name: 'sequence keys of two dimensions',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const paths: string[] = []
      for (const deltas of [
        [1, 1],
        [1, 0],
        [1, 1],
      ]) {
        const options = { sequenceKeysDeltas: deltas, partitionKey: 'p' }
        paths.push((await store.put(`${k}/s`, '', -1, options)).path)
      }
      const digits = (n: number): string => String(n).padStart(20, '0')
      const wanted = [
        [1, 1],
        [2, 1],
        [3, 2],
      ].map(([a, b]) => `${k}/s-${digits(a)}-${digits(b)}`)
      t.equal(joined(paths), joined(wanted), 'the paths')
    },
  },
  {
    name: 'the newest key of a sequence whose dimensions change',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      for (const deltas of [[1, 1], [1], [1, 1], [1]]) {
        const options = { sequenceKeysDeltas: deltas, partitionKey: 'p' }
        const { path } = await store.put(`${k}/s`, '', undefined, options)
        let told = ''
        const subscription = await store.subscribeSequence(`${k}/s`, (newest) => (told = newest))
        t.equal(await eventually(() => told, path), path, 'is a record')
        subscription.close()
      }
    },
  },
  {
    name: 'a subscription to a sequence',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const told: string[] = []
      const subscription = await store.subscribeSequence(`${k}/s`, (path) => told.push(path))
      const paths: string[] = []
      for (let i = 0; i < 3; i++) {
        const options = { sequenceKeysDeltas: [1], partitionKey: 'p' }
        paths.push((await store.put(`${k}/s`, '', undefined, options)).path)
      }
      t.equal(await eventually(() => told.at(-1) ?? '', paths[2]), paths[2], 'the last one')
      t.equal(joined([...told].sort()), joined(told), 'growing')
      t.equal(told.filter((path) => !paths.includes(path)).length, 0, 'only these')
      subscription.close()
    },
  },
]
