/**
 * The lists of planted faults agree with the source, and planting works: a fault is found, and a
 * change that alters nothing is not.
 */
import t from 'tap'
import { PlantedBuild, staleness } from '../planted/plant.js'
import type { PlantedFault } from '../planted/planted-fault.js'
import { faultsOf } from '../planted/rooms.js'

const bytesTest = 'test/unit/base/bytes.test.ts'

void t.test('every planted fault names text that its file has once, and tests', async (t) => {
  const faults = await faultsOf()
  t.ok(faults.length > 0)
  t.equal(new Set(faults.map(({ name }) => name)).size, faults.length, 'each has its own name')
  for (const fault of faults) t.equal(staleness(fault), undefined, `${fault.room}: ${fault.name}`)
})

void t.test('a fault whose text is gone, or that has no test, is refused', async (t) => {
  const fault: PlantedFault = {
    name: 'sample',
    file: 'src/base/bytes.ts',
    find: 'return aLength - bLength',
    replace: 'return 0',
    tests: [bytesTest],
  }
  t.equal(staleness(fault), undefined)
  t.match(staleness({ ...fault, find: 'no such text' }), /occurs 0 times/)
  t.match(staleness({ ...fault, file: 'src/base/none.ts' }), /does not exist/)
  t.match(staleness({ ...fault, tests: [] }), /names no test/)
  t.match(staleness({ ...fault, tests: ['test/none.test.ts'] }), /does not exist/)
})

void t.test('tests of a copy of the build find a planted fault, and nothing else', async (t) => {
  const [fault] = await faultsOf('base')
  if (fault === undefined) throw new Error('the room base has no faults')
  const build = new PlantedBuild()
  t.teardown(() => {
    build.dispose()
  })
  t.ok((await build.run(bytesTest, 60)).passed, 'sound code passes')
  build.plant(fault)
  const outcome = await build.run(bytesTest, 60)
  t.notOk(outcome.passed)
  t.match(outcome.reason, /not ok/)
  build.remove(fault)
  t.ok((await build.run(bytesTest, 60)).passed, 'and passes again after the fault is removed')
  build.plant({ ...fault, replace: `${fault.find} // the same` })
  t.ok((await build.run(bytesTest, 60)).passed, 'a change that alters nothing is not found')
})
