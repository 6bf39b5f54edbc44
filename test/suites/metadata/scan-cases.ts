/** Scans, indexes, many operations at once. */
import {
  jsonSerde,
  MetadataCache,
  MetadataErrorCode,
} from '../../../src/entries/metastore-pulsar.js'
import { outcome } from '../kit.js'
import { joined, scanned, textOf, type MetadataCase } from './case.js'

const padded = (n: number): string => String(n).padStart(20, '0')

/** See the file header. */
export const scanCases: readonly MetadataCase[] = [
  {
    name: 'a scan of a path without children ends at once',
    run: async (t, { store, fresh }) => {
      t.equal(await scanned(store.scanChildren(fresh())), '', 'nothing')
      const told: string[] = []
      await store.scanChildren(fresh(), {
        onNext: () => void told.push('next'),
        onCompleted: () => told.push('completed'),
        onError: () => told.push('error'),
      })
      t.equal(joined(told), 'completed', 'one end')
    },
  },
  {
    name: 'a scan gives children that are records, and nothing below',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      await store.put(`${k}/child`, 'x')
      await store.put(`${k}/child/grandchild`, 'y')
      t.equal(await scanned(store.scanChildren(k)), 'child', 'one')
    },
  },
  {
    name: 'a closed handle refuses',
    run: async (t, { open, fresh }) => {
      const store = await open()
      await store.close()
      const errors: unknown[] = []
      const scan = store.scanChildren(fresh(), {
        onNext: () => undefined,
        onError: (error) => errors.push(error),
      })
      t.equal(await outcome(scan), MetadataErrorCode.alreadyClosed, 'the scan')
      t.equal(errors.length, 1, 'told once')
      t.equal(await outcome(store.get(' ')), MetadataErrorCode.alreadyClosed, 'before the path')
      t.equal(await outcome(store.close()), 'OK', 'closed twice')
    },
  },
  {
    name: 'indexes leave the value alone',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const indexes: readonly Record<string, string>[] = [{ a: '1' }, { a: '1', b: '2' }, {}]
      for (const [i, secondaryIndexes] of indexes.entries()) {
        await store.put(`${k}/${i}`, `value-${i}`, undefined, { secondaryIndexes })
        t.equal(await textOf(store, `${k}/${i}`), `value-${i}`, `record ${i}`)
      }
    },
  },
  {
    name: 'a scan by index without matches, and of nothing',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      await store.put(`${k}/1`, 'a', undefined, { secondaryIndexes: { i: 'a' } })
      const scan = { prefix: k, index: 'i', from: 'b', to: 'b', fallbackFilter: () => false }
      t.equal(await scanned(store.scanByIndex(scan)), '', 'no match')
      t.equal(await scanned(store.scanByIndex({ ...scan, prefix: fresh() })), '', 'no children')
    },
  },
  {
    name: 'both bounds of a scan by index are inclusive, a point is exact',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      for (const n of [100, 200, 300]) {
        const secondaryIndexes = { size: padded(n), tag: `K${n === 100 ? '' : n}` }
        await store.put(`${k}/${n}`, String(n), undefined, { secondaryIndexes })
      }
      const upTo = (max: number) => ({
        prefix: k,
        index: 'size',
        to: padded(max),
        fallbackFilter: ({ value }: { value: Buffer }) => Number(value.toString()) <= max,
      })
      const range = { ...upTo(200), from: padded(100) }
      t.equal(await scanned(store.scanByIndex(range)), '100,200', 'from and to')
      t.equal(await scanned(store.scanByIndex(upTo(200))), '100,200', 'unbounded below')
      const point = {
        prefix: k,
        index: 'tag',
        from: 'K',
        to: 'K',
        fallbackFilter: ({ value }: { value: Buffer }) => value.toString() === '100',
      }
      t.equal(await scanned(store.scanByIndex(point)), '100', 'a point')
    },
  },
  {
    name: 'index entries follow updates and deletes',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const scan = { prefix: k, index: 'i', fallbackFilter: () => true }
      await store.put(`${k}/a`, '1', undefined, { secondaryIndexes: { i: 'x' } })
      await store.put(`${k}/a`, '2')
      t.equal(await scanned(store.scanByIndex(scan)), 'a', 'kept by a plain put')
      await store.delete(`${k}/a`)
      t.equal(await scanned(store.scanByIndex(scan)), '', 'gone with the record')
    },
  },
  {
    name: 'readModifyUpdate writes the indexes again',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const cache = new MetadataCache<{ owner: string }>(store, jsonSerde())
      const indexes = ({ owner }: { owner: string }): Record<string, string> => ({ owner })
      await cache.create(`${k}/r`, { owner: 'alice' }, indexes)
      await cache.readModifyUpdate(`${k}/r`, () => ({ owner: 'bob' }), indexes)
      const hits = (owner: string): Promise<string> =>
        scanned(
          store.scanByIndex({
            prefix: k,
            index: 'owner',
            from: owner,
            to: owner,
            fallbackFilter: ({ value }) => value.toString().includes(owner),
          }),
        )
      t.equal(await hits('bob'), 'r', 'bob')
      t.equal(await hits('alice'), '', 'alice')
      await cache.readModifyUpdate(`${k}/r`, (value) => value)
      t.equal(await hits('bob'), 'r', 'kept without an extractor')
      cache.close()
    },
  },
  {
    name: 'an extractor without keys is like none',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const cache = new MetadataCache<string>(store, jsonSerde())
      await cache.create(`${k}/r`, 'x', () => ({}))
      t.equal(await cache.get(`${k}/r`), 'x', 'created')
      cache.close()
    },
  },
  {
    name: 'two puts of two paths at once',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const puts = [store.put(`${k}/1`, ''), store.put(`${k}/2`, '')]
      t.equal(joined(await Promise.all(puts.map(outcome))), 'OK,OK', 'both')
    },
  },
  {
    name: 'reads of what is there and of what is not at once',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      await store.put(`${k}/1`, 'x')
      const found = await Promise.all([textOf(store, `${k}/1`), textOf(store, `${k}/2`)])
      t.equal(joined(found), 'x,none', 'present and absent')
    },
  },
  {
    name: 'ten sequential puts at once',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      await store.put(k, 'parent')
      const puts = Array.from({ length: 10 }, () =>
        store.put(`${k}/s-`, '', -1, { sequential: true }),
      )
      const paths = (await Promise.all(puts)).map(({ path }) => path)
      t.equal((await store.getChildren(k)).length, 10, 'ten')
      t.equal(
        paths.every((path) => /\/s-\d{10}$/.test(path)),
        true,
        'ten digits',
      )
      t.equal(await textOf(store, k), 'parent', 'the parent is untouched')
      t.equal((await store.get(k))!.stat.version, 0, 'and its version')
    },
  },
  {
    name: '40 values of 500 KB at once',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const value = Buffer.alloc(500 * 1024, 7)
      const numbers = Array.from({ length: 40 }, (_, i) => i)
      await Promise.all(numbers.map((i) => store.put(`${k}/${i}`, value)))
      const found = await Promise.all(numbers.map((i) => store.get(`${k}/${i}`)))
      t.equal(found.filter((each) => each?.value.length === value.length).length, 40, 'all')
      await store.deleteRecursive(k)
    },
  },
]
