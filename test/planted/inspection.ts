/** Faults of verification, salvage and repair. */
import type { PlantedFault } from './planted-fault.js'

const salvages = ['test/crash/salvage.test.ts']
const folder = 'src/storage/engine/inspection'

/** See the file header. */
export const faults: readonly PlantedFault[] = [
  {
    name: 'a survey skips a damaged block without telling its rows',
    file: `${folder}/table-survey.ts`,
    find: '      if (!isDamage(error)) throw error\n      runs.miss(start, end)\n',
    replace: '      if (!isDamage(error)) throw error\n',
    tests: salvages,
  },
  {
    name: 'a salvage takes mutations that SSTables hold already',
    file: `${folder}/log-remains.ts`,
    find: 'sequence <= store.flushedSequence',
    replace: 'sequence < 0',
    tests: salvages,
  },
  {
    name: 'a salvage keeps an SSTable whose value file is damaged',
    file: `${folder}/salvage-run.ts`,
    find: 'if (problem === undefined && !damagedValues) {',
    replace: 'if (problem === undefined || damagedValues) {',
    tests: salvages,
  },
  {
    name: 'a salvage ends at the first damage of the log and tells nothing',
    file: `${folder}/log-remains.ts`,
    find: '    return collector.finish([])\n  }\n  const losses: Loss[] = []\n  const floor',
    replace:
      "    return collector.finish([])\n  }\n  if (choice === 'all') return collector.finish([])\n  const losses: Loss[] = []\n  const floor",
    tests: salvages,
  },
  {
    name: 'a verification does not look whether the values of cells are there',
    file: `${folder}/table-survey.ts`,
    find: '    resolved.set(cell)\n    values.resolve(resolved, true)\n',
    replace: '    resolved.set(cell)\n',
    tests: salvages,
  },
  {
    name: 'the scrub takes a damaged file for a sound one',
    file: 'src/storage/engine/background/scrubber.ts',
    find: '      if (this.damagedFiles.has(name)) return\n',
    replace: "      if (name !== '') return\n",
    tests: ['test/unit/storage/engine/scrub.test.ts'],
  },
]
