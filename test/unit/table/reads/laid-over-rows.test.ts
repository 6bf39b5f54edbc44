/**
 * A get of a whole row of one SSTable with newer, older and other cells of the row in memtables and
 * other SSTables: those are laid over the row (`StoreReader`), or the rules decide. The oracle is a
 * scan of the row, which merges the sources.
 *
 * CELLAR_SEED repeats a run.
 *
 * @runs long
 */
import t from 'tap'
import { seededRandom } from '../../../../bench/harness/draws/random.js'
import type { EmbeddedTable, Snapshot } from '../../../../src/entries/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 1)

const columns = Array.from({ length: 8 }, (_, i) => `f:${'c'.repeat(1 + (i % 3))}${i}`)

/** The cells of a row by a get, and by a scan; both with their timestamps. */
function bothWays(
  table: EmbeddedTable,
  row: string,
  snapshot: Snapshot | undefined,
  wanted?: readonly string[],
): string[] {
  const got = table.getSync({ row, snapshot, columns: wanted })
  const scanned = [...table.scanSync({ startRow: row, limit: 1, snapshot, columns: wanted })]
  const found = scanned.filter((result) => result.row!.toString() === row)
  return [got, ...found.slice(0, 1)].map((result) => {
    const cells = result.cells().map(({ family, qualifier, timestamp, value }) => {
      return `${family}:${qualifier.toString()} ${timestamp} ${value.toString()}`
    })
    return cells.join()
  })
}

for (const versions of [1, 3]) {
  void t.test(`gets agree with scans, versions ${versions}, seed ${seed}`, async (t) => {
    const random = seededRandom(seed + versions)
    const next = (bound: number): number => random.below(bound)
    const test = await TestDatabase.open({ options: { compactionEnabled: false } })
    const { database } = test
    const families = { f: { versions, blockBytes: 2048 }, g: { versions } }
    const table = await database.createTable('t', { families })
    const rows = Array.from({ length: 40 }, (_, i) => `row${i}${'\0'.repeat(i % 3)}`)
    const snapshots: Snapshot[] = []
    let compared = 0
    for (let step = 0; step < 2000; step++) {
      const row = rows[next(rows.length)]
      const choice = next(1000)
      const value = `${step}`.padEnd(next(60), '.')
      const some = columns.slice(next(columns.length))
      const put = { row, cells: Object.fromEntries(some.map((column) => [column, value])) }
      if (choice < 60) table.putSync({ row, cells: { ...put.cells, 'g:x': value } })
      else if (choice < 260) table.putSync({ row, cells: { [some[0]]: value } })
      // Timestamps far below those of the clock: older than what they are laid over.
      else if (choice < 300) table.putSync({ ...put, timestamp: 1 + next(50) })
      else if (choice < 310) table.putSync({ ...put, ttlMilliseconds: 1_000_000 })
      else if (choice < 314) table.deleteSync({ row, columns: [some[0]] })
      else if (choice < 315) table.deleteSync({ row })
      else if (choice < 318) await test.flush()
      else if (choice < 319) await test.compact(next(2) === 0)
      else if (choice < 322) {
        if (snapshots.length > 3) snapshots.shift()!.close()
        snapshots.push(database.snapshot())
      } else {
        const chosen = [undefined, ...snapshots][next(snapshots.length + 1)]
        for (let times = 0; times < 2; times++) {
          const [got, scanned = ''] = bothWays(table, row, chosen)
          if (got !== scanned) t.fail(`step ${step}: get ${got}, scan ${scanned}`)
          compared++
        }
        const wanted = columns.filter(() => next(3) > 0)
        if (wanted.length > 0) {
          const [got, scanned = ''] = bothWays(table, row, chosen, wanted)
          if (got !== scanned) t.fail(`step ${step}: ${wanted.join()}: ${got}, scan ${scanned}`)
        }
        const isThere = table.existsSync({ row, snapshot: chosen })
        if (isThere !== bothWays(table, row, chosen).length > 1) t.fail(`exists, step ${step}`)
      }
    }
    t.ok(compared > 500)
    for (const snapshot of snapshots) snapshot.close()
    await test.close()
  })
}

void t.test('many versions in the memtable are not passed one by one', async (t) => {
  const test = await TestDatabase.open()
  const table = await test.database.createTable('t', { families: { f: { versions: 3 } } })
  const cells = Object.fromEntries(columns.map((column) => [column, 'old']))
  await table.put({ row: 'r', cells })
  await test.flush()
  const [, second] = columns
  for (let i = 0; i < 200; i++) await table.put({ row: 'r', cells: { [second]: `${i}` } })
  await table.put({ row: 'r', cells: { 'f:z': 'new' } })
  for (let times = 0; times < 2; times++) {
    t.same(table.getSync({ row: 'r' }).toObject(), { ...cells, [second]: '199', 'f:z': 'new' })
  }
  await test.close()
})
