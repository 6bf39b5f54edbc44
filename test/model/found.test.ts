/** Short lists of operations that once told the engine from the model. */
import t from 'tap'
import { SimulatedDisk } from '../doubles/simulated-disk.js'
import { compare } from './comparison.js'
import { startTime, type Operation } from './operations.js'

const family = 'one'
const q = { family, qualifier: 'q' }
const flush: Operation = { kind: 'flush' }
const counter = '\0\0\0\0\0\0\0\x07'

function put(timestamp: number | bigint | undefined, value = 'v', row = 'a'): Operation {
  return { kind: 'put', put: { row, cells: [{ column: q, value, timestamp }] } }
}

function deleteVersion(timestamp: number): Operation {
  return { kind: 'delete', delete: { row: 'a', columnVersions: [{ ...q, timestamp }] } }
}

function deleteColumn(timestamp: number): Operation {
  return { kind: 'delete', delete: { row: 'a', columns: [{ ...q, timestamp }] } }
}

const lists: Readonly<Record<string, readonly Operation[]>> = {
  'a memtable of many bytes waits for the operation that flushes it': [
    put(5),
    deleteColumn(5),
    { kind: 'openSnapshot' },
    put(7, 'v'.repeat(100_000), 'b'),
    put(8, 'w', 'b'),
    { kind: 'closeSnapshot', view: 0 },
    put(1, 'x', 'c'),
    flush,
  ],
  'a flush keeps a column marker that lies behind surplus versions': [
    put(2),
    flush,
    put(5),
    put(4),
    deleteColumn(3),
    flush,
    deleteVersion(5),
    deleteVersion(4),
  ],
  'a flush keeps a version marker that lies behind surplus versions': [
    put(3),
    flush,
    put(5),
    put(4),
    deleteVersion(3),
    flush,
    deleteVersion(5),
    deleteVersion(4),
  ],
  'a flush keeps what is newer than a snapshot behind surplus versions': [
    put(5),
    put(4),
    { kind: 'openSnapshot' },
    put(3),
    deleteVersion(5),
    deleteVersion(4),
    flush,
  ],
  'limit counts rows whose last piece holds nothing visible': [
    put(5),
    put(4),
    put(5, 'v', 'b'),
    { kind: 'scan', scan: { batch: 1, limit: 1 }, view: undefined },
    { kind: 'scan', scan: { batch: 1, limit: 1, reversed: true }, view: undefined },
    { kind: 'scan', scan: { batch: 1, cellsPerFamilyMax: 1 }, view: undefined },
  ],
  'a check that does not hold does not look at stored counters': [
    put(5, 'text'),
    {
      kind: 'check',
      check: { row: 'a', column: q, equals: 'other' },
      action: { increment: { columns: [{ column: q, amount: 1 }] } },
    },
  ],
  'an increment of an existing counter ignores its own timestamp': [
    put(5, counter),
    {
      kind: 'increment',
      increment: { row: 'a', columns: [{ column: q, amount: 1 }], timestamp: 7 },
    },
  ],
  'a put under a check is not hidden by a timestamp beyond 2^53': [
    put(2n ** 53n + 1n, 'old'),
    {
      kind: 'check',
      check: { row: 'a', column: q, equals: 'old' },
      action: { put: { cells: [{ column: q, value: 'new' }] } },
    },
    put(undefined, 'later'),
    put(undefined, 'last'),
  ],
  'a delete under a check has the time of the clock': [
    put(startTime + 50, 'old'),
    {
      kind: 'check',
      check: { row: 'a', column: q, equals: 'old' },
      action: { delete: { columns: [q] } },
    },
  ],
  'an increment of a fresh counter under a check has the time of the clock': [
    put(startTime + 50, 'old'),
    {
      kind: 'check',
      check: { row: 'a', column: q, equals: 'old' },
      action: { increment: { columns: [{ column: { family, qualifier: 'n' }, amount: 1 }] } },
    },
  ],
  'server timestamps grow after a clock that stepped back, a flush and a reopen': [
    put(undefined),
    flush,
    { kind: 'reopen' },
    { kind: 'clock', milliseconds: -20_000 },
    put(undefined, 'w'),
    { kind: 'get', get: { row: 'a' }, view: undefined },
  ],
}

for (const [name, operations] of Object.entries(lists)) {
  void t.test(name, async (t) => {
    for (const form of ['sync', 'async'] as const) {
      const setup = { families: [family], form, blockCacheBytesMax: 0 }
      await compare(setup, operations, new SimulatedDisk(), '/database')
    }
    t.pass('the model agrees')
  })
}
