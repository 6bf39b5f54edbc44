/** Operations on lists of documents, also on lists that are used again and have bits then. */
import t from 'tap'
import { seededRandom } from '../../../../src/base/random.js'
import { intersection } from '../../../../src/systems/search/embedded/doc-sets.js'

void t.test('an intersection is the same however often its lists are used', (t) => {
  const seed = Number(process.env['CELLAR_SEED'] ?? 2260)
  t.comment(`seed ${seed}`)
  const random = seededRandom(seed)
  const list = (size: number, share: number): Int32Array => {
    return Int32Array.from(Array.from({ length: size }, (_, doc) => doc)).filter(() => {
      return random() < share
    })
  }
  for (const size of [0, 1, 31, 32, 33, 1000, 5000]) {
    const lists = [0, 0.001, 0.02, 0.05, 0.5, 1].map((share) => list(size, share))
    // A short list in front, so that the numbers of another one end behind its bits.
    lists.push(list(size >> 2, 0.9))
    const wrong: string[] = []
    for (let use = 0; use < 3; use++) {
      for (const [i, a] of lists.entries()) {
        for (const [j, b] of lists.entries()) {
          const has = new Set(b)
          const wanted = [...a].filter((doc) => has.has(doc))
          if (intersection(a, b).join() !== wanted.join()) wrong.push(`${use} ${i} ${j}`)
        }
      }
    }
    t.strictSame(wrong, [], `lists of ${size} documents`)
  }
  t.end()
})
