/** Faults in the tables of a live HBase. */
import type { PlantedFault } from './planted-fault.js'

export const faults: readonly PlantedFault[] = [
  {
    name: 'a mutation whose answer was lost is sent again',
    file: 'src/hbase/thrift/client.ts',
    find: 'if (isSent && !request.isIdempotent) throw',
    replace: 'if (isSent && request.isIdempotent) throw',
    tests: ['test/unit/hbase/faults.test.ts'],
  },
  {
    name: 'puts whose cells get the time of the server count as repeatable',
    file: 'src/hbase/thrift/mutations.ts',
    find: 'if (own === undefined) this.#isRepeatable = false',
    replace: 'if (own === undefined) this.#isRepeatable = true',
    tests: ['test/unit/hbase/faults.test.ts'],
  },
  {
    name: 'a scan that is opened again gives the last row twice',
    file: 'src/hbase/thrift/scanner.ts',
    find: 'const fresh = isSameRow ? cells.filter((cell) => follows(cell, last)) : cells',
    replace: 'const fresh = isSameRow ? cells : cells',
    tests: ['test/unit/hbase/faults.test.ts'],
  },
  {
    name: 'a scan that ends early leaves the scanner of the gateway open',
    file: 'src/hbase/thrift/scanner.ts',
    find: '    this.#failure = undefined\n    this.#closeRemote()',
    replace: '    this.#failure = undefined',
    tests: ['test/unit/hbase/faults.test.ts'],
  },
  {
    name: 'the reader of messages passes over a map as if it had keys only',
    file: 'src/hbase/thrift/wire/message-reader.ts',
    find: 'count: size * types.length',
    replace: 'count: size',
    tests: ['test/unit/hbase/messages.test.ts'],
  },
  {
    name: 'timestamps beyond 2^53 lose their last bits',
    file: 'src/hbase/thrift/results.ts',
    find: 'timestampExact: timestamp,',
    replace: 'timestampExact: BigInt(Number(timestamp)),',
    tests: ['test/unit/hbase/faults.test.ts'],
  },
  {
    name: 'a row with a family that the table lacks passes the check before it is logged',
    file: 'src/hbase/thrift/table.ts',
    find: 'if (absent !== undefined) throw noSuchFamily(absent, this.name, known)',
    replace: '',
    tests: ['test/unit/hbase/faults.test.ts'],
  },
  {
    name: 'a filter sees cells of an earlier read of the row',
    file: 'src/hbase/owned/local-filters.ts',
    find: 'if (isFull || known?.rows.has(row) === true)',
    replace: 'if (isFull)',
    tests: ['test/unit/hbase/owned/filters.test.ts'],
  },
  {
    name: 'a filter that counts rows begins anew with each row',
    file: 'src/hbase/owned/owned-scanner.ts',
    find: 'if (!isBegun) filter',
    replace: 'filter',
    tests: ['test/unit/hbase/owned/filters.test.ts'],
  },
  {
    name: 'rows are kept for views that were closed meanwhile',
    file: 'src/hbase/owned/views.ts',
    find: 'if (!this.#generations.includes(generation)) return',
    replace: '',
    tests: ['test/unit/hbase/owned/takeover.test.ts'],
  },
]
