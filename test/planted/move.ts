/** Faults in the move of a database. */
import type { PlantedFault } from './planted-fault.js'

const tests = ['test/unit/hbase/move/move-database.test.ts']

export const faults: readonly PlantedFault[] = [
  {
    name: 'a table with unlogged mutations is compared as the others',
    file: 'src/hbase/move/move-database.ts',
    find: 'this.#unlogged.get(table) !== unlogged[i]',
    replace: '!this.#unlogged.has(table)',
    tests: ['test/unit/hbase/move/unlogged.test.ts'],
  },
  {
    name: 'writes made between the last round and their stop are lost',
    file: 'src/hbase/move/move-database.ts',
    find: '      await this.#stopWrites()\n      await this.#round(feed)',
    replace: '      await this.#stopWrites()',
    tests,
  },
  {
    name: 'the source stays writable after the move',
    file: 'src/hbase/move/move-database.ts',
    find: 'await admin.modifyTable(table, { readOnly: true })',
    replace: 'await admin.modifyTable(table, {})',
    tests,
  },
  {
    name: 'changes count as repeated before they are written',
    file: 'src/hbase/move/move-database.ts',
    find: '      await this.#write(group)\n      await this.#state.save({ sequence })',
    replace: '      await this.#state.save({ sequence })\n      await this.#write(group)',
    tests,
  },
  {
    name: 'the target keeps its rows although changes of the source are gone',
    file: 'src/hbase/move/move-database.ts',
    find: 'await this.#target.admin.truncateTable(table)',
    replace: 'await Promise.resolve()',
    tests,
  },
  {
    name: 'a row that differs is not copied again',
    file: 'src/hbase/move/move-database.ts',
    find: 'await this.#repair(table, difference, snapshot)',
    replace: 'await Promise.resolve()',
    tests,
  },
  {
    name: 'a mover goes on although another one has taken over',
    file: 'src/hbase/move/move-state.ts',
    find: 'if (!(await changeRow(this.#place, stateRow, this.#bytes, next))) {',
    replace:
      'if (!(await changeRow(this.#place, stateRow, this.#bytes, next)) && next.state.version < 0) {',
    tests,
  },
]
