/** The import of Tephra's state: hostile bytes, and an import that did not end. */
import t from 'tap'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  importTephraState,
  TransactionManager,
} from '../../../../src/systems/transactions/index.js'

const base = 1_700_000_000_000_000_000n

function varint(value: bigint): number[] {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  return [...bytes, Number(rest)]
}

function list(items: readonly number[][]): number[] {
  const count = varint(BigInt(items.length))
  return items.length === 0 ? count : [...count, ...items.flat(), ...varint(0n)]
}

interface Parts {
  /** Default 4. */
  readonly version?: bigint
  readonly readPointer?: bigint
  readonly writePointer?: bigint
  readonly invalid?: readonly bigint[]
  /** Ids, each with its checkpoints. */
  readonly running?: readonly (readonly bigint[])[]
  readonly expiration?: bigint
  readonly bound?: bigint
  readonly committed?: bigint
}

/** A snapshot; the types of running transactions are SHORT. */
function snapshot(parts: Parts): Uint8Array {
  const { readPointer = base, writePointer = base, invalid = [], running = [] } = parts
  const { version = 4n, expiration = 1n, bound = 0n, committed } = parts
  return Uint8Array.from([
    ...[version, 0n, readPointer, writePointer].flatMap(varint),
    ...list(invalid.map(varint)),
    ...list(
      running.map(([id, ...checkpoints]) => [
        ...[id, expiration, bound, ...(version > 1n ? [0n] : [])].flatMap(varint),
        ...(version > 3n ? list(checkpoints.map(varint)) : []),
      ]),
    ),
    ...list([]),
    // One change: the key `A`.
    ...list(committed === undefined ? [] : [[...varint(committed), ...list([[2, 65]])]]),
  ])
}

async function open(): Promise<Database> {
  return Database.open('/d', { fileSystem: new MemoryFileSystem(), executor: 'inline' })
}

void t.test('every version of a snapshot is read, and another one is refused', async (t) => {
  const running = [[base + 1n], [base + 2n]]
  const parts = { running, expiration: 2n ** 62n, invalid: [base + 3n], committed: base + 4n }
  for (const version of [1n, 2n, 3n, 4n]) {
    const database = await open()
    const files = { snapshot: snapshot({ ...parts, version }) }
    const counts = await importTephraState(database, files)
    t.strictSame(counts, { running: 2, invalid: 1, committed: 1, edits: 0 }, `version ${version}`)
    await database.close()
  }
  for (const version of [-1n, 0n, 5n, 2n ** 63n - 1n]) {
    const database = await open()
    const imported = importTephraState(database, { snapshot: snapshot({ ...parts, version }) })
    await t.rejects(imported, { code: 'ERR_INVALID_ARGUMENT' }, `version ${version}`)
    await database.close()
  }
})

void t.test('pointers that no manager assigns are refused, and nothing is written', async (t) => {
  for (const parts of [
    { readPointer: -1n },
    { writePointer: 2n ** 63n - 1n },
    { invalid: [0n] },
    { invalid: [-base] },
    { running: [[-base]] },
    { running: [[2n ** 63n - 1n]] },
    { running: [[base, 0n]] },
    { running: [[base]], bound: -1n },
    { committed: -5n },
    { committed: 2n ** 63n - 1n },
  ] satisfies Parts[]) {
    const database = await open()
    const title = JSON.stringify(parts, (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    )
    const imported = importTephraState(database, { snapshot: snapshot(parts) })
    await t.rejects(imported, { code: 'ERR_INVALID_ARGUMENT' }, title)
    t.equal(database.admin.tableExists('tx.state'), false)
    await database.close()
  }
})

void t.test(
  'ids continue after every pointer, and a time may be the end of all time',
  async (t) => {
    const database = await open()
    const ahead = base + 2n ** 60n
    const parts = { running: [[ahead, ahead + 5n]], invalid: [ahead + 9n], committed: ahead + 7n }
    const never = { expiration: 2n ** 63n - 1n }
    const counts = await importTephraState(database, { snapshot: snapshot({ ...parts, ...never }) })
    t.match(counts, { running: 1, invalid: 1, committed: 1 })
    const manager = await TransactionManager.open(database, { sweepMilliseconds: 0 })
    t.equal(await manager.cleanUp(), 0)
    const { transactionId } = await manager.startShort()
    t.ok(transactionId > ahead + 9n, String(transactionId))
    await manager.close()
    await database.close()
  },
)

void t.test('what an import left that did not end counts for nothing', async (t) => {
  const first = { running: [[base + 1n], [base + 2n]], invalid: [base + 3n], committed: base + 4n }
  for (const again of [true, false]) {
    for (const writes of [1, 2, 3, 4]) {
      const database = await open()
      const atomic = database.atomic.bind(database)
      let left = writes
      database.atomic = async (batch) => {
        if (left-- === 0) throw new Error('no space')
        return atomic(batch)
      }
      await t.rejects(importTephraState(database, { snapshot: snapshot(first) }), /no space/)
      database.atomic = atomic
      if (again) await importTephraState(database, { snapshot: snapshot({ invalid: [base] }) })
      // The second open reads what the first one has found and written.
      await (await TransactionManager.open(database, { sweepMilliseconds: 0 })).close()
      const manager = await TransactionManager.open(database, { sweepMilliseconds: 0 })
      const { inProgress, invalid, committedSets } = manager.statistics()
      t.strictSame([inProgress, invalid, committedSets], [0, again ? 1 : 0, 0], `${writes} writes`)
      await manager.close()
      await database.close()
    }
  }
})
