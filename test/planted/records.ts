/** Faults of records: their writes, versions, rules, events and links. */
import type { PlantedFault } from './planted-fault.js'

const records = 'src/systems/repository/records'
const subscription = 'src/systems/repository/events/subscription.ts'
const versions = ['test/unit/systems/repository/versions.test.ts']
const writes = ['test/unit/systems/repository/writes.test.ts']
const unique = ['test/unit/systems/repository/unique.test.ts']
const subscriptions = ['test/unit/systems/repository/subscription.test.ts']

/** The faults. */
export const faults: readonly PlantedFault[] = [
  {
    name: 'A batch of records is checked for its first record only.',
    file: `${records}/writes/commit.ts`,
    find: 'const checks = changes.map(unchangedCheck)',
    replace: 'const checks = changes.slice(0, 1).map(unchangedCheck)',
    tests: writes,
    foundBy: 'repository-histories',
  },
  {
    name: 'An event of its own is put behind a record that has changed meanwhile.',
    file: `${records}/writes/record-writer.ts`,
    find: 'checks: [{ ...row, column: headColumn, equals: head }],',
    replace: 'checks: [],',
    tests: writes,
  },
  {
    name: 'The position of a subscription passes events that were not handled.',
    file: subscription,
    find: 'if (isDone) entry.left--',
    replace: 'entry.left--\n        if (isDone) void 0',
    tests: subscriptions,
    foundBy: 'repository-events',
  },
  {
    name: 'A replay goes on behind its end with events that were not handled.',
    file: subscription,
    find: 'if (this.#waiting.length > 0) return false',
    replace: '',
    tests: subscriptions,
    foundBy: 'repository-events',
  },
  {
    name: 'A batch of links is cut between the two rows of one link.',
    file: 'src/systems/repository/links/link-index.ts',
    find: 'const linksPerBatchMax = 1000',
    replace: 'const linksPerBatchMax = 1000.5',
    tests: ['test/unit/systems/repository/links.test.ts'],
  },
  {
    name: 'A new subscription begins without storing where.',
    file: subscription,
    find: 'await state.setPosition(start.sequence, replay)',
    replace: '',
    tests: subscriptions,
    foundBy: 'repository-events',
  },
  {
    name: 'A save of what an autosave has written does not keep it.',
    file: `${records}/writes/record-change.ts`,
    find: 'return isAutosave ? undefined : endAutosave(before, time)',
    replace: 'return undefined',
    tests: versions,
    foundBy: 'repository-histories',
  },
  {
    name: 'An autosave overwrites a version to which a tag points.',
    file: `${records}/writes/record-change.ts`,
    find: '![before.fields, newest].some((each) => taggedIn(each).has(before.version))',
    replace: 'taggedIn !== undefined',
    tests: versions,
    foundBy: 'repository-histories',
  },
  {
    name: 'Metadata is stored in the order in which it was given.',
    file: `${records}/metadata.ts`,
    find: '[...metadata.keys()].sort()',
    replace: 'metadata.keys()',
    tests: ['test/unit/systems/repository/histories.test.ts'],
    foundBy: 'repository-histories',
  },
  {
    name: 'A mutable update moves the time at which its version was made.',
    file: `${records}/writes/record-change.ts`,
    find: 'states.set(version, { ...old, modified,',
    replace: 'states.set(version, { ...old, created: modified, modified,',
    tests: versions,
    foundBy: 'repository-histories',
  },
  {
    name: 'A mutable update reaches versions from which the field was removed.',
    file: `${records}/writes/record-change.ts`,
    find: 'return fields.has(ordinal) || removed.has(ordinal)',
    replace: 'return fields.has(ordinal) || removed === undefined',
    tests: versions,
    foundBy: 'repository-histories',
  },
  {
    name: 'A write that names an old version of a type keeps to its old rules.',
    file: `${records}/writes/record-attempts.ts`,
    find: 'return schema.recordTypeById(type.id)',
    replace: 'return type',
    tests: unique,
  },
  {
    name: 'Writes that began before a field became unique are not waited for.',
    file: `${records}/unique/unique-values.ts`,
    find: 'await context.gate.turn()',
    replace: '',
    tests: unique,
  },
  {
    name: 'A stale claim of a unique value is held to be one that counts.',
    file: `${records}/unique/unique-values.ts`,
    find: 'const isStale = !values.some((value) => value.row.equals(row))',
    replace: 'const isStale = values.length < 0',
    tests: unique,
  },
]
