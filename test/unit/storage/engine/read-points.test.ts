/** The read points of snapshots: their names, and which sequences somebody sees. */
import t from 'tap'
import { ReadPoints } from '../../../../src/storage/engine/catalog/read-points.js'

const seed = Number(process.env.CELLAR_SEED ?? 20261122)

function open(): ReadPoints {
  const nothing = (): void => undefined
  const keeper = { protectFile: nothing, unprotectFile: nothing, removeObsoleteFiles: nothing }
  return new ReadPoints(keeper, 0)
}

void t.test('each open read point of a sequence has a name of its own', (t) => {
  const points = open()
  const all = Array.from({ length: 1022 }, () => points.add(7))
  t.equal(new Set(all).size, 1022)
  for (const point of all) t.equal(Math.floor(point), 7)
  const [first, second] = all
  points.remove(first)
  t.equal(points.add(7), first, 'a name is given again')
  const last = points.add(7)
  t.equal(points.add(7), last, 'those beyond share one')
  points.remove(last)
  t.equal(points.hold(last), true, 'which stays open for the others')
  points.remove(last)
  points.remove(last)
  t.equal(points.hold(last), false)
  points.remove(second)
  t.equal(points.newest, 7)
  t.end()
})

void t.test(`newest and oldest are those of the open read points, seed ${seed}`, (t) => {
  let state = seed
  const random = (limit: number): number => {
    state = (state * 1103515245 + 12345) & 0x7fffffff
    return (state >>> 8) % limit
  }
  const points = open()
  const held: number[] = []
  let sequence = 1
  for (let i = 0; i < 5000; i++) {
    const choice = random(3)
    if (choice === 0) sequence += random(2)
    else if (choice === 1 || held.length === 0) held.push(points.add(sequence))
    else points.remove(held.splice(random(held.length), 1)[0])
    points.lastSequence = sequence
    const sequences = held.map((point) => Math.floor(point))
    const newest = Math.max(0, ...sequences)
    const oldest = Math.min(sequence, ...sequences)
    if (points.newest !== newest) throw new Error(`newest is ${newest}, step ${i}`)
    if (points.oldest !== oldest) throw new Error(`oldest is ${oldest}, step ${i}`)
  }
  t.pass('5000 steps')
  points.filteredReadCount++
  t.equal(points.newestSeen, Infinity, 'a filter may write')
  t.end()
})
