/** Faults of verification, salvage and repair. */
import type { PlantedFault } from './planted-fault.js'

const salvages = ['test/crash/salvage/salvage.test.ts']
const inspections = ['test/unit/cli/inspect.test.ts']
const folder = 'src/storage/engine/inspection'

/** See the file header. */
export const faults: readonly PlantedFault[] = [
  {
    name: 'a survey skips a damaged block without telling its rows',
    file: `${folder}/table-survey.ts`,
    find: 'if (block === undefined || forEachCell(block, take) !== undefined)',
    replace: 'if (block !== undefined && forEachCell(block, take) !== undefined)',
    tests: salvages,
    foundBy: 'salvage',
  },
  {
    name: 'a salvage takes mutations that SSTables hold already',
    file: `${folder}/log-remains.ts`,
    find: 'sequence <= store.flushedSequence',
    replace: 'sequence < 0',
    tests: salvages,
    foundBy: 'salvage',
  },
  {
    name: 'a salvage keeps an SSTable whose value file is damaged',
    file: `${folder}/salvage-run.ts`,
    find: 'if (problem === undefined && !damagedValues) {',
    replace: 'if (problem === undefined || damagedValues) {',
    tests: salvages,
    foundBy: 'salvage',
  },
  {
    name: 'a salvage ends at the first damage of the log and tells nothing',
    file: `${folder}/log-remains.ts`,
    find: '    return collector.finish([])\n  }\n  const losses: Loss[] = []\n  const floor',
    replace:
      "    return collector.finish([])\n  }\n  if (choice === 'all') return collector.finish([])\n  const losses: Loss[] = []\n  const floor",
    tests: salvages,
    foundBy: 'salvage',
  },
  {
    name: 'a verification does not look whether the values of cells are there',
    file: `${folder}/table-survey.ts`,
    find: '    resolved.set(cell)\n    values.resolve(resolved, true)\n',
    replace: '    resolved.set(cell)\n',
    tests: salvages,
    foundBy: 'salvage',
  },
  {
    name: 'an inspection leaves the damage of a file out of its problems',
    file: `${folder}/inspect-database.ts`,
    find: '[...inspection.problems, problem]',
    replace: '[...inspection.problems]',
    tests: inspections,
  },
  {
    name: 'an inspection shows no block that cannot be read',
    file: `${folder}/inspect-database.ts`,
    find: '      fault ??= error\n',
    replace: '      continue\n',
    tests: inspections,
  },
  {
    name: 'an inspection shows all segments as if an open would take them',
    file: `${folder}/inspect-database.ts`,
    find: 'lastSequence: scan?.lastSequence }',
    replace: 'lastSequence: scan?.lastSequence ?? 0 }',
    tests: inspections,
  },
  {
    name: 'the scrub takes a damaged file for a sound one',
    file: 'src/storage/engine/background/scrubber.ts',
    find: '      if (this.damagedFiles.has(name)) return\n',
    replace: "      if (name !== '') return\n",
    tests: ['test/unit/storage/engine/background/scrub.test.ts'],
  },
]
