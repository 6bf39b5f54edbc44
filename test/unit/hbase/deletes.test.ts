/** Delete markers as deletes of the gateway, which has one kind in each. */
import t from 'tap'
import { RowStructBuilder } from '../../../src/hbase/thrift/mutations.js'

interface Sent {
  readonly deleteType: number
  readonly columns: readonly { readonly family: string; readonly timestamp: number }[]
}

void t.test('no delete names a family twice, since HBase forgets the first one', async (t) => {
  const builder = new RowStructBuilder('r', undefined, Infinity)
  builder.addDelete({
    families: [
      { family: 'f', timestamp: 15 },
      { family: 'g', timestamp: 7 },
      { family: 'f', timestamp: 9 },
    ],
    familyVersions: [
      { family: 'f', timestamp: 20 },
      { family: 'f', timestamp: 21 },
    ],
    columns: [{ family: 'f', qualifier: 'q', timestamp: 30 }],
  })
  const deletes = builder.build().mutations.map((mutation) => {
    const { deleteType, columns } = mutation['deleteSingle'] as Sent
    return `${deleteType}: ${columns.map((each) => `${each.family}@${each.timestamp}`).join(' ')}`
  })
  t.strictSame(deletes.sort(), ['1: f@30', '2: f@15 g@7', '2: f@9', '3: f@20 f@21'])
})
