/** Faults in the interfaces of tables and the Level. */
import type { PlantedFault } from './planted-fault.js'

export const faults: readonly PlantedFault[] = [
  {
    name: 'a result knows no family that its table lacks',
    file: 'src/api/results/result.ts',
    find: 'if (families === undefined || families.includes(family)) return',
    replace: 'if (families !== undefined || families === undefined) return',
    tests: ['test/unit/api/result-columns.test.ts'],
  },
  {
    name: 'a batch of a Level puts what it should delete',
    file: 'src/level/plain-batch.ts',
    find: "if (type === 'del') rows.del(encoded)",
    replace: "if (type === 'del') rows.put(encoded, Buffer.alloc(0))",
    tests: ['test/unit/level/level.test.ts'],
  },
  {
    name: 'the next page begins with the last row of the page before',
    file: 'src/comfort/pages.ts',
    find: 'isInclusive: row === undefined',
    replace: 'isInclusive: true',
    tests: ['test/unit/api/comfort.test.ts'],
  },
  {
    name: 'a previous page comes in the order of its read',
    file: 'src/comfort/pages.ts',
    find: 'if (isBefore) rows.reverse()',
    replace: 'if (isBefore && reversed) rows.reverse()',
    tests: ['test/unit/api/comfort.test.ts'],
  },
  {
    name: 'an increment of a transaction forgets those before it',
    file: 'src/comfort/transactions/transaction.ts',
    find: 'BigInt(before) + BigInt(amount)',
    replace: 'BigInt(0 * Number(before)) + BigInt(amount)',
    tests: ['test/unit/comfort/transactions.test.ts'],
  },
]
