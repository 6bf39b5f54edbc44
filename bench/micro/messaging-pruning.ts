/**
 * Micro-benchmarks of the messaging prunings: what the cell hook costs per cell, by its decision,
 * and what it costs to pack topics and invalid transactions for a job.
 *
 * "no hook" walks the same cells and only sets the view, which every job does: subtract it. Each
 * message is two cells, pointer and payload.
 */
import type Benchmark from 'benchmark'
import {
  keyBytesBound,
  writeEscaped,
  writeKeySuffix,
  writeTerminator,
} from '../../src/storage/cell/cell-key.js'
import { CellType } from '../../src/storage/cell/cell-type.js'
import { CellView } from '../../src/storage/cell/cell-view.js'
import type { CellHook } from '../../src/storage/coprocessor/cell-hook.js'
import { packTopics } from '../../src/systems/messaging/prune-observer.js'
import { packPointers } from '../../src/systems/transactions/prune-job/job-data.js'
import type { PruneContext } from '../../src/systems/messaging/prune-job/prune-context.js'
import { createCellHook } from '../../src/systems/messaging/prune-job/prune-hook.js'
import { TopicRows, encodePointer } from '../../src/systems/messaging/store/rows.js'
import { type TopicRecord, topicPrefix } from '../../src/systems/messaging/topics/topic.js'

/** Cells that one call shows to the hook. */
export const cellsPerCall = 10_000
const now = 1_489_707_864_000
const tables = { message: 'message', payload: 'payload' }
const dayMilliseconds = 86_400_000
const firstPointer = BigInt(now) * 1_000_000n

/** Cells as a block holds them: one buffer, and four offsets for each. */
interface Cells {
  readonly buffer: Buffer
  readonly offsets: Int32Array
}

function topicName(index: number): string {
  return `events-${String(index).padStart(6, '0')}`
}

function makeCells(topics: number): Cells {
  const rows = Array.from({ length: cellsPerCall / 2 }, (_, i) => {
    const topic = topicName(Math.floor((i * topics * 2) / cellsPerCall))
    const keys = new TopicRows(tables, topicPrefix({ namespace: 'default', topic }), 1)
    const row = keys.messageRow({ publishTimestamp: now - 5000 + i, sequenceId: 0 })
    return [
      { row, qualifier: 'p', value: Buffer.alloc(100) },
      { row, qualifier: 't', value: encodePointer(firstPointer + BigInt(i >> 4)) },
    ]
  }).flat()
  const offsets = new Int32Array(4 * rows.length)
  let at = 0
  const buffer = Buffer.alloc(rows.length * 256)
  rows.forEach(({ row, qualifier, value }, i) => {
    const key = Buffer.alloc(keyBytesBound(row.length, 1))
    const rowEnd = writeEscaped(key, 0, row)
    const qualifierEnd = writeEscaped(key, writeTerminator(key, rowEnd), Buffer.from(qualifier))
    const suffix = writeTerminator(key, qualifierEnd)
    const keyBytes = writeKeySuffix(key, suffix, 0, 1, CellType.put, 1, rowEnd)
    key.copy(buffer, at, 0, keyBytes)
    value.copy(buffer, at + keyBytes + 1)
    const valueEnd = at + keyBytes + 1 + value.length
    offsets.set([at, at + keyBytes, at + keyBytes, valueEnd], 4 * i)
    at = valueEnd
  })
  return { buffer, offsets }
}

function makeTopics(count: number, change: Partial<TopicRecord> = {}): TopicRecord[] {
  return Array.from({ length: count }, (_, i) => {
    const id = { namespace: 'default', topic: topicName(i) }
    return { id, generation: 1, ttlMilliseconds: dayMilliseconds, ...change }
  })
}

/** Invalid transactions whose ids are `step` apart. */
function makePointers(count: number, step: bigint): bigint[] {
  return Array.from({ length: count }, (_, i) => firstPointer + BigInt(i) * step + step - 1n)
}

function makeHook(topics: readonly TopicRecord[], pointers: readonly bigint[]): CellHook {
  const context: PruneContext = {
    topics: packTopics(topics),
    invalid: packPointers(pointers),
    pruneBound: undefined,
    epoch: 0,
  }
  const job = {
    kind: 'major',
    wholeStore: true,
    table: 'messages',
    family: 'd',
    now,
    readPointOldest: 0,
  } as const
  return createCellHook({ job, options: { rows: 'message' }, context })
}

/** Shows the cells to a hook; `wanted` is what it has to answer on average. */
function addWalk(
  suite: Benchmark.Suite,
  name: string,
  cells: Cells,
  hook: CellHook | undefined,
  wanted: number,
): void {
  const view = new CellView()
  const replacement = { setValue: (): void => undefined }
  suite.add(`${name} (x ${cellsPerCall})`, () => {
    const { buffer, offsets } = cells
    let sum = 0
    for (let at = 0; at < offsets.length; at += 4) {
      view.set({
        buffer,
        keyStart: offsets[at],
        keyEnd: offsets[at + 1],
        valueStart: offsets[at + 2],
        valueEnd: offsets[at + 3],
      })
      if (hook === undefined) continue
      // Two cells a row, as a job finds out before it asks.
      if (at % 8 === 0) hook.startRow!(view)
      sum += hook.decide(view, replacement)
    }
    if (sum !== wanted * cellsPerCall) throw new Error(`${name}: the hook answers ${sum}`)
  })
}

/** Adds the benchmarks to a suite. */
export function addTo(suite: Benchmark.Suite): void {
  const one = makeCells(1)
  const many = makeCells(1000)
  const all = makeTopics(1000)
  addWalk(suite, 'no hook', one, undefined, 0)
  addWalk(suite, 'keep, 1 topic', one, makeHook(all, []), 0)
  addWalk(suite, 'keep, 1000 topics', many, makeHook(all, []), 0)
  addWalk(suite, 'keep, 100000 invalid', one, makeHook(all, makePointers(100_000, 1000n)), 0)
  addWalk(suite, 'unknown topics', many, makeHook([], []), 0)
  addWalk(suite, 'drop expired', one, makeHook(makeTopics(1, { ttlMilliseconds: 0 }), []), 1)
  addWalk(suite, 'drop generation', one, makeHook(makeTopics(1, { generation: 2 }), []), 1)
  addWalk(suite, 'negate every pointer', one, makeHook(all, makePointers(5000, 1n)), 1)
  suite.add('pack topics (x 1000)', () => void packTopics(all))
  const pointers = makePointers(100_000, 1000n)
  suite.add('pack pointers (x 100000)', () => void packPointers(pointers))
}
