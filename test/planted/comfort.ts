/** Faults in typed tables, their keys and what is built on them. */
import type { PlantedFault } from './planted-fault.js'

export const faults: readonly PlantedFault[] = [
  {
    name: 'a negative double keeps the order of its bits',
    file: 'src/comfort/keys/key-parts.ts',
    find: '    else invert(target, offset, offset + numberBytes)\n',
    replace: '    else target[offset] ^= 0x80\n',
    tests: ['test/unit/comfort/keys.test.ts'],
  },
  {
    name: 'text in the middle of a key is not escaped',
    file: 'src/comfort/keys/key-parts.ts',
    find: 'if (isOpen) {\n        target.set',
    replace: 'if (isOpen || stored.length > 0) {\n        target.set',
    tests: ['test/unit/comfort/keys.test.ts'],
  },
  {
    name: 'an exclusive beginning of a range leaves in the rows of its leading parts',
    file: 'src/comfort/keys/key-range.ts',
    find: 'if (isInclusive || isComplete) return { row: bytes, isInclusive }\n  // If',
    replace: 'if (bytes.length > 0) return { row: bytes, isInclusive }\n  // If',
    tests: ['test/unit/comfort/keys.test.ts'],
  },
  {
    name: 'a transaction does not check the columns that had no value',
    file: 'src/comfort/typed/row-form.ts',
    find: 'if (stored === undefined) return { row, column: column.column, notExists: true }',
    replace:
      "if (stored === undefined) return { row, column: column.column, operator: 'NOT_EQUAL', value: '-' }",
    tests: ['test/unit/comfort/transactions.test.ts'],
  },
  {
    name: 'an update writes over a row that changed since it was read',
    file: 'src/comfort/transactions/row-changes.ts',
    find: 'if (this.#found === undefined) return []',
    replace: 'if (this.#found !== null) return []',
    tests: ['test/unit/comfort/transactions.test.ts'],
  },
  {
    name: 'a put of several columns takes the lifetime of one of them for all',
    file: 'src/comfort/typed/row-form.ts',
    find: 'const lifetime = options.ttlMilliseconds ?? column.ttlMilliseconds',
    replace: 'const lifetime = options.ttlMilliseconds ?? writes.at(-1)?.column.ttlMilliseconds',
    tests: ['test/unit/comfort/typed-table.test.ts'],
  },
  {
    name: 'an index of the database with another key is taken for the declared one',
    file: 'src/comfort/typed/typed-indexes.ts',
    find: 'return isDeepStrictEqual(left, right)',
    replace: 'return isDeepStrictEqual(left, right) || left !== right',
    tests: ['test/unit/comfort/typed-indexes.test.ts'],
  },
  {
    name: 'a definition is opened before its indexes are built',
    file: 'src/comfort/typed/typed-indexes.ts',
    find: 'for (const index of found.values()) await index.ready()',
    replace: 'for (const index of found.values()) void index.ready().catch(() => undefined)',
    tests: ['test/unit/comfort/typed-indexes.test.ts'],
  },
  {
    name: 'the elements of a JSON array are one value of an index',
    file: 'src/comfort/typed/typed-indexes.ts',
    find: "each: stored === 'json' && each",
    replace: "each: stored === 'json' && !each",
    tests: ['test/unit/comfort/typed-indexes.test.ts'],
  },
  {
    name: 'the parts of a date are stored as text',
    file: 'src/comfort/indexes/entries.ts',
    find: "if (part.encoding !== 'json') return [value]",
    replace: "if (part.encoding !== 'json') return [part.as === 'date' ? new Date(0) : value]",
    tests: ['test/unit/comfort/typed-indexes.test.ts'],
  },
]
