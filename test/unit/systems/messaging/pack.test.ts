/** The form in which jobs are told of topics and transactions. CELLAR_SEED repeats a run. */
import t from 'tap'
import { seededRandom } from '../../../../src/base/random.js'
import { packTopics } from '../../../../src/systems/messaging/prune-observer.js'
import {
  packPointers,
  PointerSet,
} from '../../../../src/systems/transactions/prune-job/job-data.js'
import { NoTopic, TopicIndex } from '../../../../src/systems/messaging/prune-job/prune-context.js'
import { type TopicRecord, topicPrefix } from '../../../../src/systems/messaging/topics/topic.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20261121)

void t.test('pointers come out ascending and positive, whatever they came in', (t) => {
  const random = seededRandom(seed)
  const word = (): bigint => BigInt(Math.floor(random() * 2 ** 32))
  const edges = [1n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 63n - 1n, -1n, 0n, -(2n ** 63n)]
  const some = [
    ...edges,
    ...Array.from({ length: 500 }, () => BigInt.asIntN(64, (word() << 32n) | word())),
  ]
  const wanted = [...new Set(some)].filter((one) => one > 0n).sort((a, b) => (a < b ? -1 : 1))
  const lists: Record<string, Iterable<bigint>> = {
    array: [...some, ...some],
    set: new Set(some),
    'unsorted typed array': BigInt64Array.from(some),
    'sorted typed array with negatives': BigInt64Array.from(some).sort(),
    'sorted typed array': BigInt64Array.from(wanted),
    'sorted unsigned array': BigUint64Array.from(wanted),
    'sorted array with a double': BigUint64Array.from([wanted[0], ...wanted]),
    'part of an array': BigInt64Array.from([-5n, ...wanted, -5n]).subarray(1, -1),
  }
  for (const [name, list] of Object.entries(lists)) {
    const packed = packPointers(list)
    t.strictSame([...packed], [...packed.slice().sort()], `${name}, seed ${seed}`)
    t.strictSame([...new Set(packed)], wanted, `${name}, seed ${seed}`)
    t.equal(packed.at(-1), wanted.at(-1))
  }
  for (const none of [[], [-1n, 0n]]) t.strictSame([...packPointers(none)], [])
  t.end()
})

void t.test('a pointer is found if it is in the list, asked once or twice', (t) => {
  const random = seededRandom(seed)
  const near = (): bigint => {
    const high = BigInt(Math.floor(random() * 3))
    return (high << 32n) | BigInt(Math.floor(random() * 40))
  }
  const list = Array.from({ length: 40 }, near)
  const set = new PointerSet(packPointers(list))
  for (let i = 0; i < 2000; i++) {
    const pointer = near()
    const wanted = pointer > 0n && list.includes(pointer)
    const ask = (): boolean => set.has(Number(pointer >> 32n), Number(pointer & 0xffff_ffffn))
    if (ask() === wanted && ask() === wanted) continue
    t.fail(`${pointer}, seed ${seed}`)
    break
  }
  t.equal(set.has(0, 0), false, `seed ${seed}`)
  t.end()
})

void t.test('a topic is found by the start of a row, whatever was asked before', (t) => {
  const random = seededRandom(seed)
  const one = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]
  const ids = ['n', 'n1', 'm', 'n_'].flatMap((namespace) =>
    ['a', 'a-b', 'ab', 'b', 'a'.repeat(200)].map((topic) => ({ namespace, topic })),
  )
  const known = ids.filter(() => random() < 0.6)
  const records = known.map((id): TopicRecord => {
    return { id, generation: 1, ttlMilliseconds: Infinity }
  })
  const index = new TopicIndex(packTopics([...records, ...records]))
  const names = known.map((id) => topicPrefix(id).toString()).sort()
  for (let i = 0; i < 3000; i++) {
    const id = one(ids)
    const prefix = topicPrefix(id)
    const rest = one(['', ':', 'x', '::', 'n:a:'])
    const row = Buffer.from(`##${prefix.toString()}${rest}##`)
    const end = row.length - 2
    const wanted = names.indexOf(prefix.toString())
    const found = index.find(row, 2, end)
    const right =
      found === (wanted < 0 ? NoTopic.unknown : wanted) && index.prefixEnd === 2 + prefix.length
    // A cut prefix is asked for in between, now and then.
    const cut = random() < 0.5 ? index.find(row, 2, 1 + prefix.length) : NoTopic.foreign
    if (right && cut === NoTopic.foreign) continue
    t.fail(`${row.toString()}, seed ${seed}`)
    break
  }
  t.equal(index.find(Buffer.from('n:a'), 0, 3), NoTopic.foreign, `seed ${seed}`)
  t.end()
})
