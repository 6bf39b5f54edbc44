import fc from 'fast-check'
import t from 'tap'
import { InvariantError } from '../../../../src/base/assert.js'
import { CellarError } from '../../../../src/base/errors.js'
import {
  applyEdit,
  applySnapshot,
  snapshotEdit,
} from '../../../../src/storage/version/apply-edit.js'
import type { TableDefinition } from '../../../../src/storage/version/catalog.js'
import { levelMax, type FileMetadata } from '../../../../src/storage/version/file-metadata.js'
import { formatFileName, parseFileName } from '../../../../src/storage/version/file-names.js'
import {
  decodeEdit,
  encodeEdit,
  type ManifestEdit,
} from '../../../../src/storage/version/version-edit.js'
import { emptyState, type VersionState } from '../../../../src/storage/version/version.js'
import { describe, fileOf, seed, tableOf } from './fixtures.js'

const count = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
const positive = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
const bytes = fc.uint8Array({ maxLength: 20 }).map((array) => Buffer.from(array))
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 12 })
const options = fc.dictionary(
  fc.string(),
  fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown),
)

const file: fc.Arbitrary<FileMetadata> = fc
  .record({
    fileNumber: positive,
    fileBytes: positive,
    level: fc.integer({ min: 0, max: levelMax }),
    entryCount: positive,
    keys: fc.tuple(bytes, bytes).map(([a, b]) => (Buffer.compare(a, b) <= 0 ? [a, b] : [b, a])),
    sequences: fc.tuple(count, count).map(([a, b]) => [Math.min(a, b), Math.max(a, b)]),
    timestamps: fc.tuple(int64, int64).map(([a, b]) => (a <= b ? [a, b] : [b, a])),
    earliestPutTimestamp: int64,
    createdMilliseconds: count,
  })
  .map(({ keys, sequences, timestamps, ...rest }) => ({
    ...rest,
    deleteCount: Math.floor(rest.entryCount / 2),
    familyDeleteCount: Math.floor(rest.entryCount / 3),
    firstKey: keys[0],
    lastKey: keys[1],
    minSequence: sequences[0],
    maxSequence: sequences[1],
    minTimestamp: timestamps[0],
    maxTimestamp: timestamps[1],
  }))

const table: fc.Arbitrary<TableDefinition> = fc.record({
  tableId: positive,
  name,
  families: fc.array(fc.record({ storeId: positive, name, options }), { maxLength: 3 }),
  options,
})

const edit: fc.Arbitrary<ManifestEdit> = fc.record(
  {
    snapshot: fc.constant(true),
    tablesCreated: fc.array(table, { maxLength: 2 }),
    tablesDropped: fc.array(positive, { maxLength: 3 }),
    tablesAltered: fc.array(table, { maxLength: 2 }),
    filesAdded: fc.array(fc.record({ storeId: positive, file }), { maxLength: 3 }),
    filesRemoved: fc.array(fc.record({ storeId: positive, fileNumber: positive }), {
      maxLength: 3,
    }),
    flushedSequences: fc.array(fc.record({ storeId: positive, sequence: count }), {
      maxLength: 3,
    }),
    nextFileNumber: positive,
    nextId: positive,
    logFileNumberFloor: count,
    lastSequence: count,
  },
  { requiredKeys: [] },
)

function decode(text: string): ManifestEdit {
  const payload = Buffer.from(text)
  return decodeEdit(payload, 0, payload.length)
}

void t.test(`an edit reads back as it was written (seed ${seed})`, async (t) => {
  fc.assert(
    fc.property(edit, (original) => {
      const payload = Buffer.concat([Buffer.from('xx'), encodeEdit(original), Buffer.from('yy')])
      const back = decodeEdit(payload, 2, payload.length - 2)
      payload.fill(0)
      t.same(back, original)
    }),
    { seed, numRuns: 300 },
  )
})

void t.test('an edit keeps byte strings, lone surrogates and a key named __proto__', async (t) => {
  const strange = JSON.parse('{"__proto__":{"x":1},"constructor":[]}') as Record<string, unknown>
  const original = {
    tablesCreated: [{ tableId: 1, name: '\u0000\u00ff\ud800', families: [], options: strange }],
  }
  const payload = encodeEdit(original)
  const back = decodeEdit(payload, 0, payload.length).tablesCreated![0]
  t.equal(back.name, '\u0000\u00ff\ud800')
  t.same(Object.keys(back.options), ['__proto__', 'constructor'])
  t.equal(({} as Record<string, unknown>).x, undefined)
})

void t.test(
  'an edit of a newer format is ERR_FORMAT_VERSION, whatever else it holds',
  async (t) => {
    t.throws(() => decode('{"format":2,"miracles":[1]}'), { code: 'ERR_FORMAT_VERSION' })
    t.throws(() => decode('{"format":2}'), CellarError)
  },
)

void t.test('a malformed edit is refused', async (t) => {
  const good = JSON.parse(
    encodeEdit({ filesAdded: [{ storeId: 1, file: fileOf(3) }] }).toString(),
  ) as { filesAdded: Record<string, unknown>[] }
  t.ok(decode(JSON.stringify(good)))
  const added = (changes: Record<string, unknown>): string =>
    JSON.stringify({ ...good, filesAdded: [{ ...good.filesAdded[0], ...changes }] })
  const cases = [
    '',
    '[]',
    'null',
    '{"format":1',
    '{}',
    '{"format":0}',
    '{"format":"1"}',
    '{"format":1.5}',
    '{"format":1,"filesadded":[]}',
    '{"format":1,"snapshot":false}',
    '{"format":1,"filesAdded":{}}',
    '{"format":1,"tablesDropped":[0]}',
    '{"format":1,"tablesDropped":["1"]}',
    '{"format":1,"nextId":0}',
    '{"format":1,"lastSequence":-1}',
    '{"format":1,"lastSequence":9007199254740992}',
    '{"format":1,"filesRemoved":[{"storeId":1}]}',
    '{"format":1,"filesRemoved":[{"storeId":1,"fileNumber":1,"why":1}]}',
    '{"format":1,"tablesCreated":[{"tableId":1,"name":"","families":[],"options":{}}]}',
    '{"format":1,"tablesCreated":[{"tableId":1,"name":"a","families":[],"options":[]}]}',
    added({ entryCount: 0 }),
    added({ fileNumber: 0 }),
    added({ deleteCount: 6 }),
    added({ familyDeleteCount: 6 }),
    added({ level: levelMax + 1 }),
    added({ level: undefined }),
    added({ firstKey: 'zzzz' }),
    added({ firstKey: 'a b=' }),
    added({ firstKey: 7 }),
    added({ minSequence: 1000 }),
    added({ minTimestamp: String(2n ** 63n - 1n) }),
    added({ minTimestamp: String(-(2n ** 63n) - 1n) }),
    added({ minTimestamp: '-0' }),
    added({ minTimestamp: '1e3' }),
    added({ minTimestamp: 5 }),
    added({ surprise: 5 }),
  ]
  for (const text of cases) t.throws(() => decode(text), InvariantError, text.slice(0, 80))
  const invalid = Buffer.from('{"format":1,"x":"\u00ff"}', 'latin1')
  t.throws(() => decodeEdit(invalid, 0, invalid.length), /UTF-8/)
})

void t.test('options nested too deep are refused without exhausting the stack', async (t) => {
  const nested = (depth: number): string =>
    `{"format":1,"tablesCreated":[{"tableId":1,"name":"a","families":[],` +
    `"options":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}]}`
  t.ok(decode(nested(32)))
  t.throws(() => decode(nested(33)), /nested/)
  t.throws(() => decode(nested(20_000)), InvariantError)
})

function stateWithTable(): VersionState {
  return applyEdit(emptyState, {
    tablesCreated: [tableOf(1, 'a', { f: 2, g: 3 }), tableOf(4, 'b', { f: 5 })],
    filesAdded: [
      { storeId: 2, file: fileOf(1) },
      { storeId: 2, file: fileOf(2, { level: 2 }) },
      { storeId: 5, file: fileOf(3) },
    ],
    flushedSequences: [{ storeId: 2, sequence: 50 }],
    nextFileNumber: 10,
    nextId: 10,
    logFileNumberFloor: 4,
    lastSequence: 60,
  })
}

void t.test('an edit that breaks a rule of versions is refused', async (t) => {
  const base = stateWithTable()
  const before = describe(base)
  const add = (file: FileMetadata, storeId = 2): ManifestEdit => ({
    filesAdded: [{ storeId, file }],
  })
  const remove = (fileNumber: number, storeId = 2): ManifestEdit => ({
    filesRemoved: [{ storeId, fileNumber }],
  })
  const cases: [string, ManifestEdit, RegExp][] = [
    ['used number', add(fileOf(1)), /exists already/],
    ['number used by another store', add(fileOf(3)), /exists already/],
    ['number never allocated', add(fileOf(10)), /never allocated/],
    ['unknown store', add(fileOf(7), 9), /store 9 does not exist/],
    ['a table is no store', add(fileOf(7), 1), /store 1 does not exist/],
    ['overlap', add(fileOf(7, { level: 2, firstKey: Buffer.from('key2z') })), /reversed|overlap/],
    [
      'shared boundary key',
      add(fileOf(7, { level: 2, firstKey: Buffer.from('key2z'), lastKey: Buffer.from('x') })),
      /overlap/,
    ],
    ['unknown file', remove(7), /not in store/],
    ['file of another store', remove(3), /not in store/],
    [
      'removed twice',
      { filesRemoved: [...remove(1).filesRemoved!, ...remove(1).filesRemoved!] },
      /not in/,
    ],
    ['moved to another store', { ...remove(1), ...add(fileOf(1), 5) }, /comes back/],
    ['moved and changed', { ...remove(1), ...add(fileOf(1, { fileBytes: 1 })) }, /comes back/],
    ['flushed backwards', { flushedSequences: [{ storeId: 2, sequence: 49 }] }, /decreases/],
    ['sequence backwards', { lastSequence: 59 }, /decreases/],
    ['log floor backwards', { logFileNumberFloor: 3 }, /decreases/],
    ['file numbers backwards', { nextFileNumber: 9 }, /decreases/],
    ['identifiers backwards', { nextId: 9 }, /decreases/],
    ['unknown table dropped', { tablesDropped: [2] }, /does not exist/],
    ['unknown table altered', { tablesAltered: [tableOf(7, 'z', {})] }, /does not exist/],
    ['table name twice', { tablesCreated: [tableOf(7, 'b', {})] }, /exists twice/],
    [
      'table gets the name of another',
      { tablesAltered: [tableOf(1, 'b', { f: 2, g: 3 })] },
      /exists twice/,
    ],
    [
      'two tables of one name',
      { tablesCreated: [tableOf(7, 'z', {}), tableOf(8, 'z', {})] },
      /exists twice/,
    ],
    ['store takes the place of a table', { tablesCreated: [tableOf(7, 'z', { f: 4 })] }, /twice/],
    ['store of the same number', { tablesCreated: [tableOf(7, 'z', { f: 7 })] }, /used twice/],
    [
      'two tables with one store',
      { tablesCreated: [tableOf(7, 'z', { f: 8 }), tableOf(9, 'y', { f: 8 })] },
      /used twice/,
    ],
    ['table identifier twice', { tablesCreated: [tableOf(4, 'z', {})] }, /exists/],
    ['table takes the place of a store', { tablesCreated: [tableOf(5, 'z', {})] }, /used twice/],
    ['store identifier twice', { tablesCreated: [tableOf(7, 'z', { f: 5 })] }, /exists/],
    ['identifier never allocated', { tablesCreated: [tableOf(10, 'z', {})] }, /never allocated/],
    [
      'dropped table comes back',
      { tablesDropped: [4], tablesCreated: [tableOf(4, 'b', { f: 5 })] },
      /exists/,
    ],
    [
      'store changes its table',
      { tablesDropped: [4], tablesAltered: [tableOf(1, 'a', { f: 2, h: 5 })] },
      /another table/,
    ],
    ['store changes its name', { tablesAltered: [tableOf(1, 'a', { h: 2, g: 3 })] }, /name/],
    ['file for a dropped store', { tablesDropped: [4], ...add(fileOf(7), 5) }, /does not exist/],
  ]
  for (const [what, bad, message] of cases) {
    t.throws(() => applyEdit(base, bad), { name: 'Error', message }, what)
  }
  t.equal(describe(base), before, 'the base is untouched')
})

void t.test('an edit of files takes no time for the tables', async (t) => {
  const base = stateWithTable()
  const after = applyEdit(base, { flushedSequences: [{ storeId: 2, sequence: 60 }] })
  t.equal(after.tables, base.tables)
})

void t.test('an edit changes what it says and nothing else', async (t) => {
  const base = stateWithTable()
  const after = applyEdit(base, {
    filesRemoved: [{ storeId: 2, fileNumber: 1 }],
    tablesDropped: [4],
    tablesAltered: [tableOf(1, 'a', { f: 2, h: 6 })],
    filesAdded: [
      { storeId: 2, file: fileOf(1, { level: 2 }) },
      { storeId: 2, file: fileOf(7, { maxSequence: 75 }) },
      { storeId: 2, file: fileOf(8, { maxSequence: 85 }) },
      { storeId: 6, file: fileOf(9) },
    ],
  })
  t.same([...after.stores.keys()].sort(), [2, 6])
  const numbers = after.stores.get(2)!.levels.map((files) => files.map((file) => file.fileNumber))
  t.same(numbers, [[8, 7], [], [1, 2]], 'newest first on level 0, by key below')
  t.equal(after.lastSequence, 99, 'no entry of a file is above the last sequence')
  t.equal(after.stores.get(2)!.flushedSequence, 50)
  const emptied = applyEdit(after, {
    filesRemoved: [1, 2].map((fileNumber) => ({ storeId: 2, fileNumber })),
  })
  t.equal(emptied.stores.get(2)!.levels.length, 1, 'empty deep levels go')
  t.equal(emptied.stores.get(6), after.stores.get(6), 'untouched stores are shared')
})

void t.test('a snapshot edit makes the same state again', async (t) => {
  const state = stateWithTable()
  const payload = encodeEdit(snapshotEdit(state))
  const again = applySnapshot(decodeEdit(payload, 0, payload.length))
  t.equal(describe(again), describe(state))
  t.equal(again.nextFileNumber, state.nextFileNumber)
  t.equal(again.nextId, state.nextId)
  t.throws(() => applySnapshot({}), /not a snapshot/)
})

void t.test('file names round-trip, and only names of exactly our form are ours', async (t) => {
  t.equal(formatFileName('manifest', 1), 'MANIFEST-000001')
  t.equal(formatFileName('table', 1_234_567), '1234567.sst')
  for (const kind of ['manifest', 'log', 'table'] as const) {
    for (const fileNumber of [1, 999_999, 1_000_000, Number.MAX_SAFE_INTEGER]) {
      t.same(parseFileName(formatFileName(kind, fileNumber)), { kind, fileNumber })
    }
  }
  t.same(parseFileName('MANIFEST-000007.tmp'), { kind: 'temporary', fileNumber: 7 })
  t.same(parseFileName('000007.sst.tmp'), { kind: 'temporary', fileNumber: 7 })
  const foreign = [
    '',
    'LOCK',
    '1.sst',
    '000000.sst',
    '0000001.sst',
    '000001.SST',
    '000001.sst.bak',
    'x000001.sst',
    '000001.sst ',
    'MANIFEST',
    'MANIFEST-1',
    'MANIFEST-0000001',
    'manifest-000001',
    '9007199254740992.sst',
    '000001.tmp',
  ]
  for (const name of foreign) t.equal(parseFileName(name), undefined, name)
})
