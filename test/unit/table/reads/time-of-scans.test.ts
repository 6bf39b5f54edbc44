/** Cells expire for a scan as of its opening, however long the caller pauses. */
import t from 'tap'
import type { FamilyOptions } from '../../../../src/api/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const expiring: Readonly<Record<string, { family: FamilyOptions; ttlMilliseconds?: number }>> = {
  'TTL of the cell': { family: { versions: 2 }, ttlMilliseconds: 100 },
  'TTL of the family': { family: { versions: 2, ttlMilliseconds: 100 } },
  MIN_VERSIONS: { family: { versions: 2, ttlMilliseconds: 100, minVersions: 1 } },
}

for (const [name, { family, ttlMilliseconds }] of Object.entries(expiring)) {
  for (const isFlushed of [false, true]) {
    const where = isFlushed ? 'files' : 'memory'
    void t.test(`${name}, in ${where}: a pause before the first such cell`, async (t) => {
      const test = await TestDatabase.open()
      const table = await test.database.createTable('table', { families: { e: family, f: {} } })
      for (let i = 100; i < 300; i++) table.putSync({ row: `r${i}`, cells: { 'f:q': 'v' } })
      for (let i = 0; i < 2; i++)
        table.putSync({ row: 'z', cells: { 'e:q': 'v' }, ttlMilliseconds })
      if (isFlushed) await test.flush()
      const sync = table.scanSync({ versions: 'all' })
      const scan = table.scan({ versions: 'all' })
      const uncommitted = table.scan({ versions: 'all', isolation: 'READ_UNCOMMITTED' })
      sync.next()
      await scan.next()
      await uncommitted.next()
      test.clock.milliseconds += 1_000
      for (const rest of [sync.toArray(), await scan.all(), await uncommitted.all()]) {
        t.equal(rest.length, 200)
        t.equal(rest.at(-1)?.size, 2, 'both versions of the last row')
      }
      await test.close()
    })
  }
}
