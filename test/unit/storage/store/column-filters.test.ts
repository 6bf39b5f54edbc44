/**
 * Bloom filters of rows and columns (ROWCOL) leave out SSTables without the columns of a read. What
 * such a read remembers must not hide the other columns of the row from later reads.
 *
 * CELLAR_SEED repeats a run.
 *
 * @runs long
 */
import t from 'tap'
import { seededRandom } from '../../../../bench/harness/draws/random.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20_261_202)

const qualifiers = ['', 'a', 'b', 'c', 'd', 'n'.repeat(200), 'n'.repeat(9000)]

for (const versions of [1, 3]) {
  void t.test(`reads of columns hide nothing, versions ${versions}, seed ${seed}`, async (t) => {
    const random = seededRandom(seed)
    const db = await openMemoryDatabase({ compactionEnabled: false })
    const families = { f: { versions, bloomFilter: 'ROWCOL' as const } }
    const table = await db.createTable('t', { families })
    const rows = ['r', 'r\0', 's', 't'.repeat(300)]
    const stored = new Map(rows.map((row) => [row, new Set<string>()]))
    for (let round = 0; round < 60; round++) {
      for (const row of rows) {
        const names = qualifiers.filter(() => random.below(4) === 0)
        if (names.length === 0) continue
        for (const name of names) stored.get(row)!.add(name)
        const cells = names.map((qualifier) => ({ column: { family: 'f', qualifier } }))
        await table.put({ row, cells })
      }
      if (random.below(3) > 0) await db.flush()
      if (round % 10 === 9) await db.admin.majorCompact('t')
      for (let reads = 0; reads < 12; reads++) {
        const row = rows[random.below(rows.length)]
        const asked = qualifiers.filter(() => random.below(3) === 0)
        const columns = asked.map((qualifier) => ({ family: 'f', qualifier }))
        const found = await table.get({ row, columns })
        const all = stored.get(row)!
        const expected = asked.length === 0 ? all : asked.filter((name) => all.has(name))
        t.same(
          found
            .cells()
            .map(({ qualifier }) => qualifier.length)
            .sort(),
          [...expected].map((name) => name.length).sort(),
          `round ${round}`,
        )
        t.equal((await table.get({ row })).size, all.size, `round ${round}, whole row`)
      }
    }
    await db.close()
  })
}

void t.test('a get of two columns, then of the row', async (t) => {
  const db = await openMemoryDatabase({ compactionEnabled: false })
  const table = await db.createTable('t', { families: { f: { bloomFilter: 'ROWCOL' } } })
  await table.put({ row: 'r', cells: { 'f:a': '1', 'f:b': '1' } })
  await db.flush()
  await table.put({ row: 'r', cells: { 'f:c': '1', 'f:d': '1' } })
  await db.flush()
  for (const columns of [
    ['f:a', 'f:b'],
    ['f:c', 'f:d'],
    ['f:a', 'f:d'],
  ]) {
    for (let i = 0; i < 2; i++) {
      t.equal((await table.get({ row: 'r', columns })).size, 2)
      t.equal((await table.get({ row: 'r' })).size, 4)
    }
  }
  await db.close()
})
