import t from 'tap'
import { killed, namesOf, openIn, pathOf, rowOf } from '../../../../helpers/damage.js'

const rowCount = 3000

void t.test('what an open replays is bounded by the log, and soon by the budget', async (t) => {
  const image = await killed((table) => {
    for (let i = 0; i < rowCount; i++) {
      table.putSync({ row: rowOf(i), cells: { 'f:q': Buffer.alloc(1000, i) } })
    }
  })
  const sizes = namesOf(image, /\.log$/).map((name) => image.statSync(pathOf(name))!.size)
  const logBytes = sizes.reduce((sum, size) => sum + size, 0)
  const memtableBytesMax = 512 * 1024
  t.ok(logBytes > 5 * memtableBytesMax, `a log of ${logBytes} bytes`)
  const database = await openIn(image, { memtableBytesMax, flushBytes: 128 * 1024 })
  try {
    const replayed = database.statistics().memtableBytes
    t.ok(replayed < 1.25 * logBytes, `${replayed} bytes replayed`)
    const table = database.table('t')
    await table.put({ row: 'later', cells: { 'f:q': 'v' } })
    const left = database.statistics().memtableBytes
    t.ok(left <= memtableBytesMax, `${left} bytes when the first promise is fulfilled`)
    t.equal([...table.scanSync()].length, rowCount + 1)
  } finally {
    await database.close()
  }
})
