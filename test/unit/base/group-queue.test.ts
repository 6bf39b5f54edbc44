import t from 'tap'
import { GroupQueue } from '../../../src/base/group-queue.js'

/** A queue whose writes end when the test says so; groups hold at most three items. */
function controlled(): {
  readonly queue: GroupQueue<number>
  readonly groups: (readonly number[])[]
  readonly end: () => Promise<void>
} {
  const groups: (readonly number[])[] = []
  const ends: (() => void)[] = []
  const queue = new GroupQueue<number>({
    take: (waiting) => Math.min(3, waiting.length),
    write: (group) => {
      groups.push([...group])
      return new Promise((resolve) => ends.push(resolve))
    },
  })
  const end = async (): Promise<void> => {
    ends.shift()!()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { queue, groups, end }
}

void t.test('items of a turn share a group, and later ones wait for its end', async (t) => {
  const { queue, groups, end } = controlled()
  queue.add(1)
  queue.add(2)
  t.strictSame(groups, [], 'the turn may add more')
  await Promise.resolve()
  for (const item of [3, 4, 5, 6]) queue.add(item)
  t.strictSame([groups, queue.waiting], [[[1, 2]], 4])
  await end()
  t.strictSame(
    [groups, queue.waiting],
    [
      [
        [1, 2],
        [3, 4, 5],
      ],
      1,
    ],
    'a full group leaves the rest',
  )
  await end()
  await end()
  t.strictSame(groups.flat(), [1, 2, 3, 4, 5, 6], 'in the order of the calls')
})

void t.test('settled waits for items that are added meanwhile', async (t) => {
  const { queue, end } = controlled()
  await queue.settled()
  queue.add(1)
  let isSettled = false
  const settled = queue.settled().then(() => (isSettled = true))
  await new Promise((resolve) => setImmediate(resolve))
  queue.add(2)
  await end()
  t.equal(isSettled, false)
  await end()
  await settled
  t.equal(queue.waiting, 0)
})

void t.test('a group of no items is a fault', async (t) => {
  const queue = new GroupQueue<number>({ take: () => 0, write: async () => undefined })
  queue.add(1)
  await t.rejects(queue.settled(), { name: 'InvariantError' })
})
