/** Small histories in which every part of the write path is interrupted. */
import type { DatabaseOptions } from '../../src/entries/index.js'
import type { Logged, Operation, Workload } from './history.js'
import { unloggedTable } from './model.js'

/** A history with a name and what the database is opened with. */
export interface Scenario {
  readonly name: string
  readonly options?: DatabaseOptions
  /** Where the database lies. Default `/db`, which exists; a deeper one does not. */
  readonly directory?: string
  readonly operations: readonly Operation[]
}

const create: readonly Operation[] = [
  { kind: 'create', table: 'a', families: ['f', 'g'] },
  { kind: 'create', table: 'b', families: ['f', 'g', 'h'] },
]

function put(
  table: string,
  row: string,
  durability: Logged,
  more: { readonly sync?: boolean; readonly bytes?: number } = {},
): Operation {
  return { kind: 'put', table, row, durability, ...more }
}

function repeat(count: number, make: (index: number) => Operation | readonly Operation[]) {
  return Array.from({ length: count }, (_, index) => make(index)).flat()
}

const mixed: readonly Logged[] = ['SYNC_WAL', 'ASYNC_WAL', 'FSYNC_WAL', 'SYNC_WAL']

/** One of every operation on rows. */
const everyRowOperation: readonly Operation[] = [
  put('a', 'r1', 'SYNC_WAL'),
  { kind: 'increment', table: 'a', row: 'c', family: 'f', amount: 5, durability: 'SYNC_WAL' },
  { kind: 'checkAndPut', table: 'a', row: 'r1', durability: 'SYNC_WAL' },
  { kind: 'checkAndPut', table: 'a', row: 'r1', durability: 'SYNC_WAL', wrong: true },
  { kind: 'mutateRow', table: 'b', row: 'r1', durability: 'FSYNC_WAL' },
  { kind: 'putList', table: 'b', row: 'l', rows: 4, durability: 'SYNC_WAL' },
  { kind: 'increment', table: 'a', row: 'c', family: 'f', amount: 2, durability: 'ASYNC_WAL' },
  { kind: 'deleteFamily', table: 'b', row: 'l1', family: 'g', durability: 'SYNC_WAL' },
  { kind: 'delete', table: 'b', row: 'l2', durability: 'SYNC_WAL', sync: true },
  put('b', 'l2', 'FSYNC_WAL', { sync: true }),
  { kind: 'mutateRow', table: 'a', row: 'r1', durability: 'SYNC_WAL', sync: true },
]

/** Atomic batches over both tables, between writes to single ones. */
const atomicBatches: readonly Operation[] = [
  put('a', 'x', 'SYNC_WAL'),
  { kind: 'atomic', table: 'a', other: 'b', row: 'x', durability: 'SYNC_WAL' },
  { kind: 'atomic', table: 'b', other: 'a', row: 'x', durability: 'FSYNC_WAL' },
  put('b', 'x0', 'ASYNC_WAL'),
  { kind: 'atomic', table: 'a', other: 'b', row: 'x', durability: 'ASYNC_WAL' },
  put('a', 'y', 'SYNC_WAL'),
]

/** All scenarios; each is a few hundred operations of the file system at most. */
export const scenarios: readonly Scenario[] = [
  {
    name: 'open an empty directory',
    operations: [{ kind: 'reopen' }, ...create, { kind: 'close' }],
  },
  {
    name: 'open in directories that do not exist',
    directory: '/new/deep/db',
    operations: [...create, put('a', 'r', 'FSYNC_WAL'), { kind: 'close' }],
  },
  {
    name: 'single puts of all durabilities, synchronous and not',
    operations: [
      ...create,
      ...repeat(12, (i) =>
        put(i % 3 === 0 ? 'a' : 'b', `r${i % 5}`, mixed[i % 4], { sync: i % 2 === 0 }),
      ),
    ],
  },
  { name: 'every operation on rows', operations: [...create, ...everyRowOperation] },
  {
    name: 'atomic batches over two tables, with a flush of one between',
    operations: [
      ...create,
      ...atomicBatches,
      { kind: 'flush', table: 'a' },
      ...atomicBatches,
      { kind: 'flush' },
      ...atomicBatches,
    ],
  },
  {
    name: 'atomic batches that are as durable as the strongest of their tables',
    operations: [
      { kind: 'create', table: 'a', families: ['f'], durability: 'FSYNC_WAL' },
      { kind: 'create', table: 'b', families: ['f'], durability: 'ASYNC_WAL' },
      ...repeat(3, (i) => {
        const [table, other] = i === 1 ? ['b', 'a'] : ['a', 'b']
        const row = `r${i}`
        return { kind: 'atomic', table, other, row, durability: 'FSYNC_WAL', byTables: true }
      }),
    ],
  },
  {
    name: 'groups that commit together',
    operations: [
      ...create,
      ...repeat(4, (i) => ({
        kind: 'together' as const,
        operations: repeat(6, (j) => put(j % 2 === 0 ? 'a' : 'b', `r${i}${j}`, mixed[(i + j) % 4])),
      })),
    ],
  },
  {
    name: 'a batch larger than a frame of the log',
    options: { memtableBytesMax: 8 * 1024 * 1024 },
    operations: [
      ...create,
      put('a', 'before', 'FSYNC_WAL'),
      { kind: 'putList', table: 'a', row: 'l', rows: 12, bytes: 60_000, durability: 'SYNC_WAL' },
      put('a', 'after', 'FSYNC_WAL'),
    ],
  },
  {
    name: 'a flush of everything',
    operations: [
      ...create,
      ...everyRowOperation,
      { kind: 'flush' },
      put('a', 'r9', 'SYNC_WAL'),
      put('b', 'r9', 'SYNC_WAL'),
    ],
  },
  {
    name: 'a flush of one table while the other has only writes that are not synced',
    operations: [
      ...create,
      ...repeat(6, (i) => put(i % 2 === 0 ? 'a' : 'b', `r${i}`, 'SYNC_WAL')),
      { kind: 'flush', table: 'a' },
      put('b', 'r1', 'SYNC_WAL'),
    ],
  },
  {
    name: 'two flushes with writes between',
    operations: [
      ...create,
      ...everyRowOperation,
      { kind: 'flush' },
      ...everyRowOperation.filter((operation) => operation.kind !== 'checkAndPut'),
      { kind: 'flush' },
      put('a', 'r9', 'FSYNC_WAL'),
      put('b', 'r9', 'SYNC_WAL'),
    ],
  },
  {
    name: 'segments of the log fill up',
    options: { logBytesMax: 64 * 1024, memtableBytesMax: 4 * 1024 * 1024, flushBytes: 1024 * 1024 },
    operations: [
      ...create,
      ...repeat(16, (i) => put(i % 2 === 0 ? 'a' : 'b', `r${i}`, mixed[i % 4], { bytes: 9000 })),
    ],
  },
  {
    name: 'memtables fill up and are flushed behind asynchronous writers',
    options: { logBytesMax: 64 * 1024 },
    operations: [
      ...create,
      ...repeat(16, (i) => put(i % 3 === 0 ? 'a' : 'b', `r${i}`, mixed[i % 4], { bytes: 9000 })),
    ],
  },
  {
    name: 'memtables fill up and are flushed by synchronous writers',
    options: { logBytesMax: 64 * 1024 },
    operations: [
      ...create,
      ...repeat(14, (i) =>
        put(i % 3 === 0 ? 'a' : 'b', `r${i}`, mixed[i % 4], { bytes: 9000, sync: true }),
      ),
    ],
  },
  {
    name: 'create, alter, truncate and drop tables between writes',
    operations: [
      ...create,
      put('a', 'r1', 'SYNC_WAL'),
      put('b', 'r1', 'SYNC_WAL'),
      { kind: 'addFamily', table: 'a', family: 'n' },
      put('a', 'r2', 'SYNC_WAL'),
      { kind: 'dropFamily', table: 'b', family: 'g' },
      put('b', 'r2', 'SYNC_WAL'),
      { kind: 'flush', table: 'b' },
      { kind: 'truncate', table: 'b' },
      put('b', 'r3', 'ASYNC_WAL'),
      { kind: 'drop', table: 'a' },
      put('b', 'r4', 'SYNC_WAL'),
      { kind: 'create', table: 'a', families: ['g'] },
      put('a', 'r1', 'SYNC_WAL'),
      { kind: 'dropFamily', table: 'b', family: 'f' },
      { kind: 'addFamily', table: 'b', family: 'f' },
      put('b', 'r5', 'SYNC_WAL'),
    ],
  },
  {
    name: 'the manifest becomes too long and is replaced',
    options: { manifestBytesMax: 1024 },
    operations: [
      ...create,
      put('a', 'r', 'FSYNC_WAL'),
      ...repeat(12, () => [
        { kind: 'addFamily', table: 'a', family: 'n' },
        { kind: 'dropFamily', table: 'a', family: 'n' },
      ]),
      put('a', 'r2', 'FSYNC_WAL'),
    ],
  },
  {
    name: 'close and reopen between writes',
    operations: [
      ...create,
      put('a', 'r1', 'SYNC_WAL'),
      { kind: 'reopen' },
      put('b', 'r1', 'ASYNC_WAL'),
      { kind: 'flush' },
      put('a', 'r2', 'SYNC_WAL'),
      { kind: 'reopen' },
      put('a', 'r3', 'FSYNC_WAL'),
      put('b', 'r3', 'SYNC_WAL'),
      { kind: 'close' },
    ],
  },
  {
    name: 'writes without log between logged ones',
    operations: [
      ...create,
      { kind: 'create', table: unloggedTable, families: ['f'] },
      ...repeat(3, (i): Operation[] => [
        { kind: 'unlogged', row: `u${i % 2}` },
        put('a', `r${i}`, 'SYNC_WAL'),
        { kind: 'unlogged', row: `w${i}` },
        put('b', `r${i}`, 'ASYNC_WAL'),
        ...(i === 1 ? [{ kind: 'flush' as const }] : [put('b', 'r', 'FSYNC_WAL')]),
      ]),
      { kind: 'reopen' },
      { kind: 'unlogged', row: 'u1' },
      put('a', 'r9', 'SYNC_WAL'),
      { kind: 'close' },
    ],
  },
  {
    name: 'flushes are compacted',
    operations: [
      ...create,
      ...repeat(3, (i): Operation[] => [
        put('a', 'r', 'SYNC_WAL'),
        put('b', `r${i}`, 'SYNC_WAL'),
        { kind: 'delete', table: 'b', row: `r${i - 1}`, durability: 'SYNC_WAL' },
        { kind: 'flush' },
      ]),
      put('a', 'r9', 'SYNC_WAL'),
      { kind: 'compact', major: false },
      put('a', 'r9', 'SYNC_WAL'),
      { kind: 'compact', major: true },
      put('b', 'r9', 'SYNC_WAL'),
    ],
  },
  // A manifest that is replaced is cut at every operation by
  // test/unit/storage/version/power-cut.test.ts;
  // here it takes hundreds of families, and each image is slow to open.
  {
    name: 'a snapshot is held over flushes',
    operations: [
      ...create,
      put('a', 'r1', 'SYNC_WAL'),
      put('b', 'r1', 'SYNC_WAL'),
      { kind: 'takeSnapshot' },
      put('a', 'r1', 'SYNC_WAL'),
      { kind: 'delete', table: 'b', row: 'r1', durability: 'SYNC_WAL' },
      { kind: 'flush' },
      put('a', 'r1', 'SYNC_WAL'),
      { kind: 'closeSnapshot' },
      { kind: 'flush' },
      put('b', 'r1', 'SYNC_WAL'),
    ],
  },
]

/** A random history that continues the state of a workload. */
export function randomOperations(
  workload: Workload,
  random: () => number,
  count: number,
): Operation[] {
  const below = (limit: number): number => Math.floor(random() * limit)
  const tables = new Map<string, string[]>()
  for (const name of workload.model.tables.keys()) {
    if (name !== unloggedTable) tables.set(name, workload.model.families(name))
  }
  const operations: Operation[] = []
  if (!workload.model.tables.has(unloggedTable)) {
    operations.push({ kind: 'create', table: unloggedTable, families: ['f'] })
  }
  while (operations.length < count) operations.push(randomOperation(tables, below))
  return operations
}

function randomOperation(
  tables: Map<string, string[]>,
  below: (limit: number) => number,
): Operation {
  const name = below(2) === 0 ? 'a' : 'b'
  const families = tables.get(name)
  if (families === undefined) {
    const created = ['f', 'g', 'h'].slice(0, 2 + below(2))
    tables.set(name, created)
    return { kind: 'create', table: name, families: [...created] }
  }
  const draw = below(100)
  if (draw >= 82) return randomControl(name, families, tables, below)
  const durability = mixed[below(4)]
  const target = { table: name, row: `r${below(6)}`, durability, sync: below(3) === 0 }
  const bytes = below(10) === 0 ? 12_000 : below(40)
  const family = families[below(families.length)]
  if (draw < 30) return { kind: 'put', ...target, bytes }
  if (draw < 40) return { kind: 'putList', ...target, rows: 1 + below(5), bytes }
  if (draw < 47) return { kind: 'delete', ...target }
  if (draw < 52) return { kind: 'deleteFamily', ...target, family }
  if (draw < 60) return { kind: 'increment', ...target, family, amount: below(10) - 3 }
  if (draw < 66) return { kind: 'checkAndPut', ...target, wrong: below(4) === 0 }
  const other = name === 'a' ? 'b' : 'a'
  if (draw < 69 && tables.has(other)) return { kind: 'atomic', ...target, other }
  if (draw < 72) return { kind: 'mutateRow', ...target }
  if (draw < 76) return { kind: 'unlogged', row: `u${below(4)}`, bytes }
  const operations: Operation[] = []
  for (let i = 2 + below(5); i > 0; i--) {
    operations.push({ kind: 'put', table: name, row: `r${below(6)}`, durability: mixed[below(4)] })
  }
  return { kind: 'together', operations }
}

function randomControl(
  name: string,
  families: string[],
  tables: Map<string, string[]>,
  below: (limit: number) => number,
): Operation {
  switch (below(10)) {
    case 0:
    case 1:
      return { kind: 'flush', table: name }
    case 2:
      return { kind: 'flush' }
    case 9:
      return { kind: 'compact', major: below(2) === 0 }
    case 3:
      return { kind: 'reopen' }
    case 4:
      return { kind: 'takeSnapshot' }
    case 5:
      return { kind: 'closeSnapshot' }
    case 6:
      return { kind: 'truncate', table: name }
    case 7:
      tables.delete(name)
      return { kind: 'drop', table: name }
    default: {
      const absent = ['f', 'g', 'h', 'n'].find((family) => !families.includes(family))
      if (absent !== undefined && (families.length < 2 || below(2) === 0)) {
        families.push(absent)
        return { kind: 'addFamily', table: name, family: absent }
      }
      return {
        kind: 'dropFamily',
        table: name,
        family: families.splice(below(families.length), 1)[0],
      }
    }
  }
}
