/** The bound of the invalid list. Numbers are those of the specification. */
import t from 'tap'
import {
  inactiveBound,
  pruneUpperBound,
} from '../../../../src/systems/transactions/transaction-snapshot.js'

void t.test('104 the prune upper bound', (t) => {
  const cases = [
    [100n, [10n, 30n], [80n, 90n], 30n],
    [100n, [10n, 95n], [80n, 90n], 79n],
    [110n, [10n], [], 10n],
    [100n, [], [60n], 59n],
    [100n, [], [50n], 49n],
    [100n, [], [], 99n],
    [100n, [30n, 10n], [90n, 80n], 30n],
    [100n, [95n, 10n], [90n, 80n], 79n],
  ] as const
  for (const [readPointer, invalid, inProgress, bound] of cases) {
    const name = `(${readPointer},[${invalid.join()}],[${inProgress.join()}]) = ${bound}`
    t.equal(pruneUpperBound({ readPointer, invalid, inProgress }), bound, name)
  }
  t.end()
})

void t.test('131 the inactive bound: now 120 s and 220 s, lifetime 10 s', (t) => {
  t.equal(inactiveBound(120_000, 10_000), 110n * 1_000_000_000n - 1n)
  t.equal(inactiveBound(220_000, 10_000), 210n * 1_000_000_000n - 1n)
  t.end()
})
