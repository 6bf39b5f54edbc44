/**
 * The pruning hook on cells made by hand: the cleanup matrix case by case, and random rows against
 * a naive model. CELLAR_SEED repeats a run.
 */
import t from 'tap'
import { seededRandom } from '../../../../src/base/random.js'
import { createCellHook } from '../../../../src/systems/messaging/prune-job/prune-hook.js'
import { encodePointer } from '../../../../src/systems/messaging/store/rows.js'
import { encodeMessageRow, encodePayloadRow } from '../../../conformance/messaging/rows.js'
import { contextOf, expectedOutcome, jobOf, runHook, type MadeCell } from './prune-support.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20261121)
const start = 1_489_707_864_000
const pointer3 = 1_489_707_864_000_000_003n

function message(
  name: string,
  generation: number,
  publishTimestamp: number,
  cell: { pointer?: bigint; payload?: string } = { payload: 'data' },
): MadeCell {
  const [namespace, topic] = name.split(':')
  const row = encodeMessageRow({
    id: { namespace, topic },
    generation,
    publishTimestamp,
    sequenceId: 256,
  })
  return cell.pointer === undefined
    ? { row, qualifier: 'p', value: Buffer.from(cell.payload ?? '') }
    : { row, qualifier: 't', value: encodePointer(cell.pointer) }
}

function payload(name: string, generation: number, writeTimestamp: number): MadeCell {
  const [namespace, topic] = name.split(':')
  const id = { namespace, topic }
  const row = { id, generation, writePointer: pointer3, writeTimestamp, sequenceId: 0 }
  return { row: encodePayloadRow(row), qualifier: 'c', value: Buffer.from('data') }
}

const kinds = ['flush', 'minor', 'major'] as const

void t.test('73 a payload goes when its write time is more than the TTL ago, not before', (t) => {
  const context = contextOf({ 'n:t': { generation: 1, ttl: 3000 } })
  for (const kind of kinds) {
    const at = (now: number): readonly string[] =>
      runHook([payload('n:t', 1, start)], { rows: 'payload', kind, now, context }).outcomes
    t.strictSame(at(start), ['keep'])
    t.strictSame(at(start + 3000), ['keep'], 'exactly the TTL')
    t.strictSame(at(start + 3001), ['drop'])
  }
  t.end()
})

void t.test('74 a message with pointer 100 goes with its TTL, both cells', (t) => {
  const context = contextOf({ 'n:t': { generation: 1, ttl: 3000 } })
  const cells = [message('n:t', 1, start, { pointer: 100n }), message('n:t', 1, start)]
  for (const kind of kinds) {
    const at = (now: number): readonly string[] => runHook(cells, { kind, now, context }).outcomes
    t.strictSame(at(start), ['keep', 'keep'])
    t.strictSame(at(start + 3000), ['keep', 'keep'], 'exactly the TTL')
    t.strictSame(at(start + 3001), ['drop', 'drop'])
  }
  const { report } = runHook(cells, { now: start + 3001, context })
  t.equal(report.counts.expired, 2)
  t.end()
})

void t.test(
  '143 a message that expires exactly at the TTL is kept, one that is a millisecond older is not',
  (t) => {
    const context = contextOf({ 'n:t': { generation: 2, ttl: 1000 } })
    const cells = [message('n:t', 2, start - 1), message('n:t', 2, start)]
    t.strictSame(runHook(cells, { now: start + 1000, context }).outcomes, ['drop', 'keep'])
    t.end()
  },
)

void t.test('10 older and deleted generations go, current and newer ones stay', (t) => {
  const cases = [
    [3, 5, 'drop'],
    [3, -3, 'drop'],
    [2, -3, 'drop'],
    [6, 5, 'keep'],
    [6, 6, 'keep'],
    [6, -5, 'keep'],
  ] as const
  for (const [data, generation, outcome] of cases) {
    const context = contextOf({ 'n:t': { generation } })
    for (const kind of kinds) {
      const settings = { kind, now: start, context }
      t.strictSame(runHook([message('n:t', data, start)], settings).outcomes, [outcome])
      const stored = runHook([payload('n:t', data, start)], { ...settings, rows: 'payload' })
      t.strictSame(stored.outcomes, [outcome])
    }
  }
  t.end()
})

void t.test('a TTL is for the current generation: data newer than the metadata stays', (t) => {
  const context = contextOf({ 'n:t': { generation: 1, ttl: 1 }, 'n:u': { generation: -1, ttl: 1 } })
  const cells = [message('n:t', 2, 0), message('n:u', 2, 0)]
  t.strictSame(runHook(cells, { now: start, context }).outcomes, ['keep', 'keep'])
  t.end()
})

void t.test('76 the pointer of an invalid transaction is negated, everything else stays', (t) => {
  const context = contextOf({ 'n:t': { generation: 1 } }, [pointer3, pointer3 + 2n, pointer3 + 4n])
  const cells = [
    message('n:t', 1, start, { pointer: pointer3 }),
    message('n:t', 1, start, { payload: 'data' }),
    message('n:t', 1, start + 1, { pointer: pointer3 + 1n }),
    message('n:t', 1, start + 2, { pointer: -pointer3 }),
    message('n:t', 1, start + 3, { pointer: pointer3 + 4n }),
  ]
  for (const kind of kinds) {
    const { outcomes, report } = runHook(cells, { kind, now: start, context })
    t.strictSame(outcomes, [
      encodePointer(-pointer3).toString('hex'),
      'keep',
      'keep',
      'keep',
      encodePointer(-pointer3 - 4n).toString('hex'),
    ])
    t.equal(report.counts.negated, 2)
    t.equal(report.pointerLeft, undefined)
  }
  t.end()
})

void t.test('76 nothing is done to the rows of invalid transactions in the payload table', (t) => {
  const context = contextOf({ 'n:t': { generation: 1 } }, [pointer3])
  const cell = payload('n:t', 1, start)
  const cells = [cell, { ...cell, qualifier: 't', value: encodePointer(pointer3) }]
  const { outcomes } = runHook(cells, { rows: 'payload', now: start, context })
  t.strictSame(outcomes, ['keep', 'keep'])
  t.end()
})

void t.test('without a transaction snapshot TTL and generation still apply', (t) => {
  const topics = { 'n:t': { generation: 2, ttl: 10 } }
  const cells = [
    message('n:t', 1, start, { pointer: pointer3 }),
    message('n:t', 2, start, { pointer: pointer3 }),
    message('n:t', 2, start - 11, { pointer: pointer3 }),
  ]
  const { outcomes } = runHook(cells, { now: start, context: contextOf(topics) })
  t.strictSame(outcomes, ['drop', 'keep', 'drop'])
  t.end()
})

void t.test('without a context everything is kept', (t) => {
  const cells = [message('n:t', 1, 0), message('n:t', 1, 0, { pointer: pointer3 })]
  const { outcomes, report } = runHook(cells, { now: start, context: undefined })
  t.strictSame(outcomes, ['keep', 'keep'])
  t.equal(report.pruneBound, undefined)
  t.end()
})

void t.test('an unknown topic is never judged by the topic before it', (t) => {
  const context = contextOf(
    { 'n:a': { generation: 5, ttl: 1 }, 'n:c': { generation: 5, ttl: 1 } },
    [pointer3],
  )
  const cells = [
    message('n:a', 1, 0),
    message('n:b', 1, 0),
    message('n:b', 1, 1),
    message('n:b', 5, 2, { pointer: pointer3 }),
    message('n:c', 1, 0),
    message('n1:a', 1, 0),
  ]
  const { outcomes, report } = runHook(cells, { now: start, context })
  t.strictSame(outcomes, ['drop', 'keep', 'keep', 'keep', 'drop', 'keep'])
  t.equal(report.counts.unknownTopic, 4)
  t.equal(report.pointerLeft, pointer3, 'its transaction must stay in the list')
  t.end()
})

void t.test('145 topics whose names begin alike do not mix', (t) => {
  const context = contextOf({ 'n:a': { generation: 2 }, 'n:ab': { generation: 1 } })
  const cells = [message('n:a', 1, 0), message('n:a-b', 1, 0), message('n:ab', 1, 0)]
  t.strictSame(runHook(cells, { now: start, context }).outcomes, ['drop', 'keep', 'keep'])
  t.end()
})

void t.test('a rolled back row that has expired stays until a major compaction', (t) => {
  const context = contextOf({ 'n:t': { generation: 2, ttl: 10 } })
  const expired = message('n:t', 2, start - 11, { pointer: -pointer3 })
  const ended = message('n:t', 1, start, { pointer: -pointer3 })
  const at = (kind: 'flush' | 'minor' | 'major'): readonly string[] =>
    runHook([expired, ended], { kind, now: start, context }).outcomes
  t.strictSame(at('flush'), ['keep', 'drop'])
  t.strictSame(at('minor'), ['keep', 'drop'])
  t.strictSame(at('major'), ['drop', 'drop'])
  t.end()
})

void t.test('foreign and half-written rows and values are kept', (t) => {
  const context = contextOf({ 'n:t': { generation: 9, ttl: 1 } }, [pointer3])
  const good = message('n:t', 1, 0)
  const pointer = message('n:t', 9, start, { pointer: pointer3 })
  const cut = (cell: MadeCell, bytes: number): MadeCell => {
    return { ...cell, row: cell.row.subarray(0, cell.row.length - bytes) }
  }
  const changed = (cell: MadeCell, at: number, byte: number): MadeCell => {
    const row = Buffer.from(cell.row)
    row[row.length - 14 + at] = byte
    return { ...cell, row }
  }
  const rows = [
    ...Array.from({ length: good.row.length - 1 }, (_, index) => cut(good, index + 1)),
    { ...good, row: Buffer.concat([good.row, Buffer.of(0)]) },
    { ...good, row: Buffer.concat([good.row, Buffer.of(1, 2, 3, 4, 5, 6, 7, 8)]) },
    { ...good, row: Buffer.from('plain') },
    { ...good, row: Buffer.from('n:t:') },
    { ...good, row: Buffer.from('::') },
    { ...good, row: Buffer.from([0, 0xff, 0, 1]) },
    changed(good, 0, 0x80),
    changed(good, 3, 0),
    changed(good, 4, 0x80),
    changed(pointer, 0, 0xff),
  ]
  const values = [
    { ...pointer, value: pointer.value.subarray(0, 7) },
    { ...pointer, value: Buffer.concat([pointer.value, Buffer.of(0)]) },
    { ...pointer, value: Buffer.alloc(0) },
    { ...pointer, value: Buffer.alloc(8) },
    { ...pointer, qualifier: 'tt' },
    { ...pointer, qualifier: '' },
    { ...pointer, qualifier: 'p' },
    { ...pointer, qualifier: '\0\0\0t' },
  ]
  const { outcomes, report } = runHook([...rows, ...values], { now: start, context })
  t.strictSame(
    outcomes,
    [...rows, ...values].map(() => 'keep'),
  )
  t.equal(report.counts.foreignRow, rows.length)
  t.equal(report.pointerLeft, pointer3, 'the one in a row of negative generation')
  t.strictSame(runHook([good], { now: start, context }).outcomes, ['drop'], 'the row itself goes')
  t.end()
})

void t.test('other rows than of messages and payloads are refused', (t) => {
  const job = jobOf('flush', 0)
  for (const options of [{}, { rows: 'metadata' }]) {
    const setup = { job, options, context: undefined }
    t.throws(() => createCellHook(setup), { code: 'ERR_INVALID_ARGUMENT' })
  }
  t.end()
})

void t.test('random cells are judged as a naive model judges them', (t) => {
  const random = seededRandom(seed)
  const whole = (bound: number): number => Math.floor(random() * bound)
  const one = <T>(list: readonly T[]): T => list[whole(list.length)]
  const names = ['a', 'a-b', 'ab', 'b'].flatMap((topic) => [`n:${topic}`, `n1:${topic}`])
  const pointers = [1n, 2n ** 32n - 1n, 2n ** 32n, pointer3, pointer3 + 1n, 2n ** 63n - 1n]
  const seen = new Map<string, number>()
  for (let round = 0; round < 300; round++) {
    const topics: Record<string, { generation: number; ttl?: number }> = {}
    for (const name of names) {
      const ttl = one([undefined, 1, 50, 1000])
      if (random() < 0.7) topics[name] = { generation: one([1, -1, 2, -2, 3, -3]), ttl }
    }
    const invalid = one([undefined, pointers.filter(() => random() < 0.5)])
    const rows = one(['message', 'payload'] as const)
    const kind = one(kinds)
    const now = start + one([0, 1, 50, 51, 1000, 1001, 5000])
    const cells = Array.from({ length: 60 }, (): MadeCell => {
      const time = start - whole(3)
      const make = one([
        () => message(one(names), 1 + whole(4), time, { pointer: one([1n, -1n]) * one(pointers) }),
        () => message(one(names), 1 + whole(4), time),
        () => payload(one(names), 1 + whole(4), time),
      ])
      const cell = make()
      if (random() < 0.9) return cell
      const damaged = Buffer.from(cell.row)
      damaged[whole(damaged.length)] = one([0, 1, 0x3a, 0xff])
      return { ...cell, row: damaged.subarray(0, damaged.length - one([0, 0, 1])) }
    }).sort((a, b) => Buffer.compare(a.row, b.row))
    const { outcomes } = runHook(cells, { rows, kind, now, context: contextOf(topics, invalid) })
    const wanted = cells.map((cell) =>
      expectedOutcome(cell, rows, kind === 'major', now, topics, invalid),
    )
    for (const outcome of wanted) {
      const word = /^(keep|drop)$/.test(outcome) ? outcome : 'negate'
      seen.set(word, (seen.get(word) ?? 0) + 1)
    }
    if (!t.strictSame(outcomes, wanted, `round ${round}, seed ${seed}`)) break
  }
  for (const word of ['keep', 'drop', 'negate']) t.ok(seen.get(word)! > 100, `${word} happened`)
  t.end()
})
