/** The memory in which a cursor shows column entries with their whole keys. */
import t from 'tap'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import { cellTable, type Cells } from '../../../helpers/cells/cell-table.js'
import { storedForm, cellOf } from '../scan/random-cells.js'
import { valueOf } from './helpers.js'

t.before(() => loadChecksums())

void t.test('memory of a long entry is not kept for later reads', (t) => {
  const long = 'v'.repeat(1024 * 1024)
  const cells: Cells = ['a', 'b', 'c', 'd'].map((qualifier) => {
    return { row: 'r', qualifier, value: qualifier === 'b' ? long : 'v', type: 'Put' }
  })
  const cursor = cellTable(cells, 4 * 1024 * 1024).cursor()
  const read = (qualifier: string): void => {
    cursor.beginRead()
    const { bytes, keyEnd } = storedForm(cellOf({ row: 'r', qualifier, sequence: 9 }))
    cursor.seek(bytes, keyEnd)
  }
  read('b')
  t.ok(cursor.valid && valueOf(cursor).length > long.length)
  for (const qualifier of ['c', 'd']) {
    read(qualifier)
    t.ok(cursor.valid && valueOf(cursor).length < 10)
    t.ok(cursor.buffer.length <= 16 * 1024, `${cursor.buffer.length} bytes show a short entry`)
  }
  t.end()
})
