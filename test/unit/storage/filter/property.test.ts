/**
 * Random filters over random tables against naive evaluation.
 *
 * @runs long
 */
import t from 'tap'
import { seededRandom } from '../../../../src/base/random.js'
import { lengthOf } from '../../../helpers/length.js'
import { Choice, randomPureFilter } from './naive.js'
import { makeTable, newest, rowsOf, scanTable, show, tableStates } from './random-table.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20_260_101)
const tablesPerState = lengthOf('CELLAR_FILTER_TABLES', 6, 24)
const filtersPerTable = 40

for (const state of tableStates) {
  void t.test(`filters return what naive evaluation does [${state}, seed ${seed}]`, async (t) => {
    const choice = new Choice(seededRandom(seed + tableStates.indexOf(state)))
    for (let round = 0; round < tablesPerState; round++) {
      const table = await makeTable(choice, state)
      for (let each = 0; each < filtersPerTable; each++) {
        const filter = randomPureFilter(choice, each % 2 === 0 ? 3 : 7)
        const real = filter.make()
        for (const reversed of [false, true]) {
          const versions = choice.flag() ? 'all' : 1 + choice.below(3)
          const kept = table.cells.filter((cell) => filter.keeps(cell, reversed))
          const wanted = versions === 'all' ? kept : newest(kept, versions)
          const expected = show(rowsOf(wanted, reversed))
          // The same object serves both scans: a scan starts it afresh.
          const form = each % 4 === 0 ? 'async' : 'sync'
          const found = await scanTable(table, real, { versions, reversed }, form)
          const what = `table ${round}, filter ${each}, ${reversed}, ${versions}: ${filter.text}`
          if (JSON.stringify(found) !== JSON.stringify(expected)) t.same(found, expected, what)
        }
      }
      await table.test.close()
    }
    t.pass(`${tablesPerState * filtersPerTable} filters`)
  })
}
