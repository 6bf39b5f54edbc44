/** Change sets that are larger than the arguments that a function may have. */
import t from 'tap'
import { ChangeSets } from '../../../../src/systems/transactions/manager/change-sets.js'

void t.test('large change sets of one commit pointer are merged', (t) => {
  const sets = new ChangeSets()
  const keysOf = (name: string): string[] => Array.from({ length: 200_000 }, (_, i) => name + i)
  for (const [id, name] of [
    [1n, 'a'],
    [2n, 'b'],
  ] as const) {
    sets.add({ id, pointer: 5n, storedPointer: 5n, changes: keysOf(name), client: undefined })
  }
  const merged = sets.byPointer().get(5n)
  t.equal(merged?.length, 400_000)
  t.equal(merged?.at(-1), 'b199999')
  t.end()
})
