/** Lifetimes of the values of a put: the gateway takes one for each put, so it gets several. */
import t from 'tap'
import { RowStructBuilder } from '../../../src/hbase/thrift/mutations.js'

void t.test('values with a lifetime of their own are a put of their own', async (t) => {
  const builder = new RowStructBuilder('r', undefined, Infinity)
  const long = { value: '2', ttlMilliseconds: 2000 }
  builder.addPut({ cells: { 'f:a': '1', 'f:b': long, 'f:c': '3' }, ttlMilliseconds: 1000 })
  builder.addPut({ cells: [{ column: 'f:d', value: '4', ttlMilliseconds: 5 }, { column: 'f:e' }] })
  const puts = builder.build().mutations.map((mutation) => {
    const { columnValues, attributes } = mutation['put'] as {
      columnValues: readonly { qualifier: Buffer; value: Buffer }[]
      attributes?: Map<string, Buffer>
    }
    const columns = columnValues.map(
      ({ qualifier, value }) => `${String(qualifier)}=${String(value)}`,
    )
    return [columns, attributes?.get('_ttl')?.readBigInt64BE()]
  })
  t.strictSame(puts, [
    [['a=1', 'c=3'], 1000n],
    [['b=2'], 2000n],
    [['d=4'], 5n],
    [['e='], undefined],
  ])
  for (const ttlMilliseconds of [0, -1, 1.5, 2 ** 48]) {
    const put = { cells: { 'f:a': { value: '', ttlMilliseconds } } }
    t.throws(() => builder.addPut(put), { code: 'ERR_INVALID_ARGUMENT' })
  }
})

void t.test(
  'of values of one cell the last one is written, whatever their lifetimes',
  async (t) => {
    const builder = new RowStructBuilder('r', undefined, Infinity)
    builder.addPut({
      cells: [
        { column: 'f:a', value: 'other' },
        { column: 'f:b', value: 'first', ttlMilliseconds: 1000 },
        { column: 'f:b', value: 'last' },
        { column: 'f:b', value: 'older', timestamp: 5, ttlMilliseconds: 2000 },
      ],
    })
    const puts = builder.build().mutations.map((mutation) => {
      const { columnValues } = mutation['put'] as { columnValues: readonly { value: Buffer }[] }
      return columnValues.map(({ value }) => String(value))
    })
    t.strictSame(puts, [['other', 'last'], ['older']])
  },
)
