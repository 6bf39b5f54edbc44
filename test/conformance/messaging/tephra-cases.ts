/** Files of Tephra, in all their formats. */
import assert from 'node:assert/strict'
import { importTephraState } from '../../../src/systems/transactions/index.js'
import { failsWith } from '../../suites/kit.js'
import { type MessagingCase } from './case.js'

const day = 86_400_000n
const start = 1_489_707_864_000n
const id = (n: bigint): bigint => start * 1_000_000n + n

/** Zigzag varints. */
function varints(...values: (bigint | number)[]): Buffer {
  const bytes: number[] = []
  for (const value of values.map(BigInt)) {
    let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
    for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
    bytes.push(Number(rest))
  }
  return Buffer.from(bytes)
}

const key = (text: string): Buffer => Buffer.concat([varints(text.length), Buffer.from(text)])

/** One record of a log: fields in the order of their versions. */
function edit(
  version: number,
  fields: {
    readonly id: bigint
    readonly state: number
    readonly expiration?: bigint
    readonly commit?: bigint
    readonly changes?: readonly string[]
    readonly bound?: bigint
    readonly type?: number
    readonly truncated?: readonly bigint[]
    readonly parent?: bigint
  },
): Buffer {
  const { expiration = 0n, commit = 0n, changes = [], bound = 0n, type = -1 } = fields
  const long = (value: bigint): Buffer => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64BE(value)
    return bytes
  }
  const int = (value: number): Buffer => long(BigInt(value)).subarray(4)
  const { truncated = [], parent = 0n } = fields
  const parts = [long(7n), Buffer.from([-version & 0xff]), long(fields.id), int(fields.state)]
  parts.push(long(expiration), long(commit), Buffer.from([1]), int(changes.length))
  for (const change of changes) parts.push(int(change.length), Buffer.from(change))
  if (version >= 2) parts.push(long(bound))
  if (version >= 3) parts.push(int(type), int(truncated.length), ...truncated.map(long), long(0n))
  if (version >= 4) parts.push(long(parent), int(-1))
  return Buffer.concat(parts)
}

/** The case about old formats. */
export const tephraCases: readonly MessagingCase[] = [
  {
    name: "Tephra's snapshots and edits of all versions are taken over",
    run: async (fixture) => {
      const snapshot = Buffer.concat([
        varints(1, start, id(5n), id(9n)),
        varints(1, id(1n), 0),
        // Without types: by a negative or a long expiration LONG, else SHORT.
        varints(3, id(6n), -1, id(5n), id(7n), start + day, id(5n), id(8n), start + 30_000n),
        varints(id(5n), 0),
        varints(1, id(8n), 1),
        key('committing'),
        varints(0, 0),
        varints(1, id(9n), 2),
        key('a'),
        key('b'),
        varints(0, 0),
      ])
      const log = Buffer.concat([
        edit(1, { id: id(11n), state: 0, expiration: -1n }),
        edit(1, { id: id(12n), state: 0, expiration: start + 30_000n }),
        edit(1, { id: id(12n), state: 2, commit: id(13n), changes: ['c'] }),
        edit(2, { id: id(14n), state: 0, expiration: start + 40_000n, bound: id(10n) }),
        edit(3, { id: id(15n), state: 0, expiration: start + day, type: 1, bound: id(10n) }),
        edit(3, { id: id(8n), state: 3 }),
        edit(3, { id: 0n, state: 6, truncated: [id(1n)] }),
        edit(4, { id: id(16n), state: 7, parent: id(14n) }),
        edit(4, { id: id(7n), state: 4, type: 1 }),
      ])
      const { database } = fixture
      await failsWith('ERR_INVALID_ARGUMENT', () => {
        return importTephraState(database, { snapshot: varints(5, 0, 0, 0, 0, 0, 0, 0) })
      })
      await failsWith('ERR_INVALID_ARGUMENT', () => {
        return importTephraState(database, { snapshot: snapshot.subarray(0, 40) })
      })
      const torn = log.subarray(0, log.length - 1)
      const report = await importTephraState(database, { snapshot, logs: [torn, log.subarray(-1)] })
      // The torn record, the last, is left out; the rest of it begins no record.
      assert.deepEqual(report, { running: 5, invalid: 1, committed: 2, edits: 8 })
      const sets: string[] = []
      for await (const row of database.table('tx.state').scan({ prefix: 'c' })) {
        sets.push(row.value('s:g')!.toString('latin1').replaceAll('\0\0\0\x01', ''))
      }
      assert.deepEqual(sets, ['ab', 'c'])
      const manager = await fixture.manager()
      const { running, invalid, readPointer, committed, writePointer } = manager.snapshot()
      const types = Object.fromEntries(running.map((each) => [String(each.id - id(0n)), each.type]))
      const wanted = { 6: 'LONG', 7: 'LONG', 11: 'LONG', 14: 'SHORT', 15: 'LONG' }
      assert.deepEqual(types, wanted)
      assert.deepEqual([...invalid], [id(8n)])
      assert.equal(readPointer, id(12n))
      assert.equal(writePointer, id(16n))
      assert.deepEqual(running.find((each) => each.id === id(14n))?.checkpoints, [id(16n)])
      assert.equal(committed.size, 0, 'all that still run started behind them')
      const next = await manager.startShort()
      assert.ok(next.transactionId > id(16n))
      assert.deepEqual([next.isVisible(id(12n)), next.isVisible(id(14n))], [true, false])
      await manager.close()
      await failsWith('ERR_INVALID_ARGUMENT', () => importTephraState(database, { snapshot }))
      await (await fixture.manager()).close()
    },
  },
]
