/** Cases about versions and values on their own. */
import { CellarError } from '../../../src/api/index.js'
import {
  ALL_FIELDS,
  LongVersion,
  ReturnCode,
  returnCodeOf,
  Value,
  Version,
} from '../../../src/systems/metastore/index.js'
import { MetastoreErrorCode } from '../../../src/systems/metastore/index.js'
import { fields, valueText, type MetastoreCase } from './case.js'

/** Whether a function throws. */
function throws(action: () => unknown): boolean {
  try {
    action()
    return false
  } catch {
    return true
  }
}

/** The cases. */
export const valueCases: readonly MetastoreCase[] = [
  {
    name: 'versions compare by number, with NEW and with ANY',
    source: 'TestZkVersion#testCompare, TestLongVersion#testCompare',
    run: async (t) => {
      const version = new LongVersion(99)
      const { NEW, ANY } = Version
      const rows: [string, Version, Version, string][] = [
        ['99 and 98', version, new LongVersion(98), 'AFTER'],
        ['99 and 100', version, new LongVersion(100n), 'BEFORE'],
        ['99 and 99', version, new LongVersion(99n), 'CONCURRENTLY'],
        ['99 and ANY', version, ANY, 'CONCURRENTLY'],
        ['99 and NEW', version, NEW, 'AFTER'],
        ['NEW and NEW', NEW, NEW, 'CONCURRENTLY'],
        ['NEW and ANY', NEW, ANY, 'BEFORE'],
        ['NEW and 99', NEW, version, 'BEFORE'],
        ['ANY and NEW', ANY, NEW, 'CONCURRENTLY'],
        ['ANY and ANY', ANY, ANY, 'CONCURRENTLY'],
        ['ANY and 99', ANY, version, 'CONCURRENTLY'],
        ['the ends', new LongVersion(2n ** 63n - 1n), new LongVersion(-(2n ** 63n)), 'AFTER'],
      ]
      for (const [what, a, b, wanted] of rows) t.equal(a.compare(b), wanted, what)
      t.equal(
        throws(() => new LongVersion(2n ** 63n)),
        true,
        'more than 63 bits',
      )
      const changing = (): void => void ((version as { value: bigint }).value = 1n)
      t.equal(throws(changing) && version.value === 99n, true, 'versions are immutable')
    },
  },
  {
    name: 'comparing with null or a version of another kind throws',
    source: 'TestLongVersion#testNull…, #testInvalidVersion',
    run: async (t, { foreignVersion }) => {
      for (const version of [new LongVersion(1), Version.NEW, Version.ANY]) {
        t.equal(
          throws(() => version.compare(null as never)),
          true,
          `${version.toString()}, null`,
        )
        t.equal(
          throws(() => version.compare(foreignVersion)),
          true,
          `${version.toString()}, foreign`,
        )
      }
    },
  },
  {
    name: 'values merge, project and compare',
    source: 'public ValueTest',
    run: async (t) => {
      const value = fields({ a: '1', b: '2' })
      t.equal(valueText(new Value(value).merge(fields())), 'a=1 b=2', 'merge with nothing')
      t.equal(valueText(new Value(value).merge(fields({ a: null, c: '3' }))), 'b=2 c=3', 'merge')
      const all = value.project(ALL_FIELDS)
      t.equal(all.equals(value), true, 'all fields')
      all.setField('a', 'changed')
      t.equal(valueText(value), 'a=1 b=2', 'a projection is independent')
      t.equal(valueText(value.project(new Set(['b', 'x']))), 'b=2 x=NULL', 'some fields')
      t.equal(value.equals(fields({ b: '2', a: '1' })), true, 'equal in another order')
      t.equal(value.equals(fields({ a: '1', b: '3' })), false, 'other bytes')
      t.equal(value.equals(fields({ a: '1', c: '2' })), false, 'other names')
      t.equal(value.equals(fields({ a: '1' })), false, 'fewer fields')
      t.equal(value.equals(fields({ a: '1', b: null })), false, 'null is not bytes')
      t.equal(fields({ a: null }).equals(fields({ a: null })), true, 'null is null')
      t.equal(fields({ a: null }).equals(fields({ a: '' })), false, 'null is not empty')
      t.equal(value.equals(null), false, 'not a value')
      t.equal(fields().toString(), '[]', 'text of no fields')
      t.equal(fields({ a: null }).toString().includes('NONE'), true, 'text of null')
      t.equal(value.clearFields().size, 0, 'cleared')
    },
  },
  {
    name: 'error codes have the numbers of BookKeeper; a failed guard is a bad version',
    source: 'MSException.Code',
    run: async (t) => {
      const numbers = Object.values(MetastoreErrorCode).map((code) =>
        returnCodeOf(new CellarError(code, 'message')),
      )
      t.equal(numbers.join(' '), '-1 -2 -3 -1 -4 -100 -101 -102 -103 -103', 'numbers')
      t.equal(ReturnCode.OK, 0, 'OK')
    },
  },
]
