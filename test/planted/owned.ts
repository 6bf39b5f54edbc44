import type { PlantedFault } from './planted-fault.js'

const simulation = ['test/model/owned/simulation.test.ts']

/** Faults in the log of owned databases. */
export const faults: readonly PlantedFault[] = [
  {
    name: 'an owner goes on after an append whose check did not hold',
    file: 'src/hbase/owned/log/owner-log.ts',
    find: 'if (!isDone) throw deposed(this.#place)',
    replace: '',
    tests: simulation,
  },
  {
    name: 'a batch is acknowledged before it is in the log',
    file: 'src/hbase/owned/log/owner-log.ts',
    find: 'this.#appending = group\n',
    replace: 'this.#appending = group\n    for (const { done } of group) done.resolve()\n',
    tests: simulation,
    foundBy: 'owned',
  },
  {
    name: 'a new owner does not seal the chunks of the earlier one',
    file: 'src/hbase/owned/log/takeover.ts',
    find: 'if (state.sealed) return chunk',
    replace: 'if (state.epoch < epoch) return chunk',
    tests: simulation,
  },
  {
    name: 'an append whose answer was lost is repeated under another sequence',
    file: 'src/hbase/owned/log/log-store.ts',
    find: 'if (await repeated(patience, () => store.change(row, change))) return true',
    replace:
      'let attempts = 0\n' +
      '  const again = () => ({ ...change, batches: change.batches.map((each) => ' +
      '({ ...each, sequence: each.sequence + attempts++ })) })\n' +
      '  if (await repeated(patience, () => store.change(row, again()))) return true',
    tests: simulation,
    foundBy: 'owned',
  },
  {
    name: 'batches are applied with the time of the store',
    file: 'src/hbase/owned/log/apply.ts',
    find: 'write.byName.set(cellName(cell), cell)',
    replace:
      'write.byName.set(cellName(cell), { ...cell, timestamp: undefined as unknown as bigint })',
    tests: simulation,
    foundBy: 'owned',
  },
  {
    name: 'a round of applying takes batches that are logged while it runs',
    file: 'src/hbase/owned/log/owner-log.ts',
    find: 'const round = [...this.#logged]',
    replace: 'const round = this.#logged',
    tests: simulation,
  },
  {
    name: 'chunks are removed that a feed has not read',
    file: 'src/hbase/owned/log/owner-log.ts',
    find: 'if (number >= marked || end > needed ||',
    replace: 'if (number >= marked ||',
    tests: simulation,
  },
  {
    name: 'an owner appends to a chunk that a later owner has removed',
    file: 'src/hbase/owned/log/takeover.ts',
    find: 'await confirmOwner(place, epoch)\n  return { ...own, number }',
    replace: 'return { ...own, number }',
    tests: ['test/unit/hbase/owned/takeover.test.ts'],
  },
  {
    name: 'rows are changed without an image for the open snapshots',
    file: 'src/hbase/owned/owned-database.ts',
    find: 'await this.#views.capture(writes)',
    replace: '',
    tests: ['test/unit/hbase/owned/takeover.test.ts'],
  },
  {
    name: 'the checksum of a batch is not looked at',
    file: 'src/hbase/owned/log/logged-batch.ts',
    find: '!checksumMatches(bytes, 0, body, BigInt(sequence))',
    replace: '!checksumMatches(bytes, 0, body, BigInt(sequence)) && bytes.length === 0',
    tests: ['test/unit/hbase/owned/takeover.test.ts'],
  },
  {
    name: 'a put behind a marker of its timestamp is applied with the marker',
    file: 'src/hbase/owned/log/apply.ts',
    find: 'if (isBehind || rounds.length === 0) {',
    replace: 'if (rounds.length === 0) {',
    tests: ['test/unit/hbase/owned/writing-order.test.ts'],
  },
  {
    name: 'the working copy does not know where the order of writing counts',
    file: 'src/hbase/owned/mirror.ts',
    find: 'keepDeletedCells, newVersionBehavior } =',
    replace: 'keepDeletedCells, unknown: newVersionBehavior } =',
    tests: ['test/unit/hbase/owned/writing-order.test.ts'],
  },
]
