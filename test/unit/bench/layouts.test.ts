/**
 * The engines that need no package answer like the model: Cellar in both forms, and the two layouts
 * of rows over keys and values.
 *
 * @runs long
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { engine as cellar } from '../../../bench/engines/cellar.js'
import { openModel } from '../../../bench/engines/model.js'
import type { OpenedEngine, RowValues, Store } from '../../../bench/harness/engine.js'
import type { KeyRange, KeyValueStore, KeyVisitor } from '../../../bench/harness/key-value.js'
import { rowsOver } from '../../../bench/harness/layouts.js'
import { seededRandom, type Random } from '../../../bench/harness/draws/random.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 301)

/**
 * Keys and values in an array that is sorted when it is scanned; answers with promises if asked.
 */
function openKeyValue(isAsynchronous: boolean): KeyValueStore {
  const values = new Map<string, Buffer>()
  const answer = <T>(value: T): T | Promise<T> => (isAsynchronous ? Promise.resolve(value) : value)
  const nameOf = (key: Buffer): string => key.toString('latin1')
  return {
    get: (key) => answer(values.get(nameOf(key))),
    put: (key, value) => {
      values.set(nameOf(key), Buffer.from(value))
      return answer(undefined)
    },
    putMany: (puts) => {
      for (const { key, value } of puts) values.set(nameOf(key), Buffer.from(value))
      return answer(undefined)
    },
    deleteMany: (keys) => {
      for (const key of keys) values.delete(nameOf(key))
      return answer(undefined)
    },
    update: (key, change) => {
      const next = change(values.get(nameOf(key)))
      if (next === undefined) return answer(false)
      if (Buffer.isBuffer(next)) values.set(nameOf(key), Buffer.from(next))
      else values.delete(nameOf(key))
      return answer(true)
    },
    scan: ({ start, stop, limit, reversed }: KeyRange, visit: KeyVisitor) => {
      let names = [...values.keys()].sort()
      if (reversed) names.reverse()
      if (start.length > 0) {
        const first = nameOf(start)
        names = names.filter((name) => (reversed ? name <= first : name >= first))
      }
      if (stop !== undefined) names = names.filter((name) => name < nameOf(stop))
      if (limit > 0) names = names.slice(0, limit)
      for (const name of names) {
        if (!visit(Buffer.from(name, 'latin1'), values.get(name)!)) break
      }
      return answer(undefined)
    },
  }
}

const columnCount = 3

const textOf = (values: RowValues): string =>
  values.map((value) => value?.toString('hex') ?? '-').join(' ')

/** Carries out one operation and says what came back. */
async function step(store: Store, random: Random): Promise<string> {
  const row = Buffer.from(`row${random.below(30)}`)
  const column = random.below(columnCount)
  const small = (): Buffer => Buffer.from([random.below(3)])
  const values: RowValues = Array<Buffer | undefined>(columnCount).fill(undefined)
  const all = [0, 1, 2]
  switch (random.below(9)) {
    case 0:
      await store.put(row, all, [small(), small(), Buffer.alloc(8)])
      return 'put'
    case 1:
      await store.put(row, [column], [column === 2 ? Buffer.alloc(8) : small()])
      return 'put one'
    case 2: {
      const isFound = await store.get(row, values)
      return isFound ? textOf(values) : 'absent'
    }
    case 3:
      await store.delete(row)
      return 'delete'
    case 4: {
      const expected = small()
      const value = random.below(4) === 0 ? undefined : small()
      return `${await store.checkAndPut(row, 0, expected, value)}`
    }
    case 5:
      return `${await store.increment(row, 2, 1 + random.below(5))}`
    case 6:
      await store.append(row, 1, small())
      return 'append'
    case 7: {
      const rows = [1, 2, 3].map((number) => {
        return {
          row: Buffer.from(`row${number}`),
          columns: all,
          values: [small(), small(), Buffer.alloc(8)],
        }
      })
      await store.putMany(rows)
      return 'putMany'
    }
    default: {
      const reversed = random.below(2) === 0
      const visited: string[] = []
      const range = {
        start: random.below(3) === 0 ? Buffer.alloc(0) : row,
        stop: reversed || random.below(2) === 0 ? undefined : Buffer.from('row25'),
        limit: random.below(5),
        reversed,
        valueEquals: random.below(3) === 0 ? small() : undefined,
      }
      const count = await store.scan(range, (found, cells) => {
        visited.push(`${found.toString()}=${textOf(cells)}`)
      })
      return `${count}: ${visited.join(', ')}`
    }
  }
}

interface Candidate {
  readonly name: string
  readonly open: (directory: string) => Promise<{ store: Store; opened?: OpenedEngine }>
}

async function openCellar(directory: string, form: 'fastest' | 'awaited') {
  const opened = await cellar.open({
    directory,
    durability: 'buffered',
    layout: 'native',
    columns: ['a', 'b', 'c'],
    cacheBytes: 1024 * 1024,
  })
  return { store: opened[form], opened }
}

const candidates: readonly Candidate[] = [
  { name: 'cellar, synchronous', open: (directory) => openCellar(directory, 'fastest') },
  { name: 'cellar, awaited', open: (directory) => openCellar(directory, 'awaited') },
  ...(['cells', 'row'] as const).flatMap((layout) =>
    [false, true].map((isAsynchronous) => ({
      name: `${layout}, ${isAsynchronous ? 'promises' : 'values'}`,
      open: () =>
        Promise.resolve({ store: rowsOver(openKeyValue(isAsynchronous), layout, columnCount) }),
    })),
  ),
]

for (const { name, open } of candidates) {
  void t.test(`${name}: answers like the model`, async (t) => {
    const directory = join(t.testdir(), 'store')
    mkdirSync(directory, { recursive: true })
    const { store, opened } = await open(directory)
    const model = openModel(columnCount).fastest
    const random = seededRandom(seed)
    const sameRandom = seededRandom(seed)
    for (let i = 0; i < 3000; i++) {
      const expected = await step(model, sameRandom)
      const found = await step(store, random)
      if (found !== expected) {
        t.equal(found, expected, `operation ${i}, seed ${seed}`)
        break
      }
    }
    await opened?.close()
  })
}
