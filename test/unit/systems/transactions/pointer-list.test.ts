/** Lists of write pointers against sets. CELLAR_SEED repeats the random history. */
import t from 'tap'
import { seededRandom } from '../../../../src/base/random.js'
import {
  PointerList,
  withoutMembers,
} from '../../../../src/systems/transactions/manager/pointer-list.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20261122)

void t.test('random changes give what a set gives, and old lists stay as they were', (t) => {
  t.comment(`CELLAR_SEED=${seed}`)
  const random = seededRandom(seed)
  const model = new Set<bigint>()
  let list = PointerList.of([])
  const kept: { list: PointerList; members: bigint[] }[] = []
  const sorted = (): bigint[] => [...model].sort((a, b) => (a < b ? -1 : 1))
  for (let i = 0; i < 5000; i++) {
    const pointer = BigInt(Math.floor(random() * 700)) + 1n
    if (random() < 0.55) {
      model.add(pointer)
      list = list.with(pointer)
    } else {
      model.delete(pointer)
      list = list.without(pointer)
    }
    if (list.size !== model.size || list.has(pointer) !== model.has(pointer)) {
      t.fail(`step ${i}`)
      break
    }
    if (list.first !== sorted()[0]) t.fail(`the first at step ${i}`)
    if (i % 250 === 0) kept.push({ list, members: sorted() })
  }
  t.strictSame([...list], sorted())
  for (const { list, members } of kept) t.strictSame([...list], members)
  const even = withoutMembers(list, (pointer) => pointer % 2n === 1n)
  t.strictSame(
    [...even],
    sorted().filter((pointer) => pointer % 2n === 0n),
  )
  t.end()
})

void t.test('a change of a long list keeps its memory', (t) => {
  const long = PointerList.of(BigInt64Array.from({ length: 10_000 }, (_, i) => BigInt(2 * i + 2)))
  const longer = long.with(5n).without(4n)
  t.equal(longer.size, 10_000)
  t.ok(longer.has(5n) && !longer.has(4n) && long.has(4n) && !long.has(5n))
  t.equal(longer.first, 2n)
  t.equal(longer.without(2n).first, 5n)
  t.end()
})
