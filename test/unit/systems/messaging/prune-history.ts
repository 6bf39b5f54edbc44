/**
 * Random histories of a message table, in a database and in a naive model of its memtable and its
 * files, compared after each flush and each major compaction.
 */
import { seededRandom } from '../../../../src/base/random.js'
import { encodePointer } from '../../../../src/systems/messaging/store/rows.js'
import { encodeMessageRow } from '../../../conformance/messaging/rows.js'
import { type MessagingTables, V } from './messaging-tables.js'
import { expectedOutcome, type MadeCell } from './prune-support.js'

type Layer = Map<string, MadeCell>

const names = ['n:a', 'n:ab', 'n:unknown', 'm:a'] as const

/** Runs steps; returns what differed first. */
export async function runHistory(
  tables: MessagingTables,
  seed: number,
  steps: number,
): Promise<string | undefined> {
  const random = seededRandom(seed)
  const whole = (bound: number): number => Math.floor(random() * bound)
  const one = <T>(list: readonly T[]): T => list[whole(list.length)]
  const topics: Record<string, { generation: number; ttl?: number }> = {}
  let invalid: bigint[] | undefined = undefined
  let memtable: Layer = new Map()
  let files: Layer[] = []
  const rows: Buffer[] = []

  const write = async (row: Buffer, qualifier: string, value: Buffer): Promise<void> => {
    await tables.messages.put({ row, cells: { [`d:${qualifier}`]: value } })
    memtable.set(`${row.toString('hex')}:${qualifier}`, { row, qualifier, value })
  }
  const pruneLayers = (layers: readonly Layer[], major: boolean): Layer => {
    const merged: Layer = new Map(layers.toReversed().flatMap((layer) => [...layer]))
    const now = tables.clock.now()
    for (const [key, cell] of [...merged]) {
      const outcome = expectedOutcome(cell, 'message', major, now, topics, invalid)
      if (outcome === 'drop') merged.delete(key)
      else if (outcome !== 'keep') merged.set(key, { ...cell, value: Buffer.from(outcome, 'hex') })
    }
    return merged
  }
  const flushModel = (): void => {
    if (memtable.size > 0) files = [pruneLayers([memtable], false), ...files]
    memtable = new Map()
  }
  const actions: Record<string, () => Promise<void>> = {
    publish: async () => {
      const [namespace, topic] = one(names).split(':')
      const row = encodeMessageRow({
        id: { namespace, topic },
        generation: 1 + whole(3),
        publishTimestamp: tables.clock.now() - whole(3000),
        sequenceId: whole(0x1_0000),
      })
      rows.push(row)
      if (random() < 0.7) await write(row, 't', encodePointer(V(1 + whole(20))))
      if (random() < 0.7) await write(row, 'p', Buffer.from(`payload ${rows.length}`))
    },
    rollback: async () => {
      if (rows.length > 0) await write(one(rows), 't', encodePointer(-V(1 + whole(20))))
    },
    topic: async () => {
      const name = one(names)
      if (name === 'n:unknown') return
      const generation = one([1, -1, 2, -2, 3])
      const ttlSeconds = one([undefined, 1, 2, 4])
      topics[name] = { generation, ttl: ttlSeconds && ttlSeconds * 1000 }
      await tables.setTopic(name, generation, ttlSeconds)
    },
    transactions: async () => {
      invalid = random() < 0.2 ? undefined : [1, 2, 3, 4, 5].map(() => V(1 + whole(20)))
      tables.snapshot = invalid && { readPointer: V(30), invalid, inProgress: [] }
    },
    time: async () => {
      tables.clock.milliseconds += whole(500)
    },
    flush: async () => {
      await tables.database.flush('tms.message')
      flushModel()
    },
    compact: async () => {
      await tables.database.compact('tms.message')
      // A compaction that was asked for flushes first.
      flushModel()
      files = [pruneLayers(files, true)]
    },
  }
  const dice = ['publish', 'publish', 'publish', 'publish', 'rollback', 'topic', 'time']
  for (let step = 0; step < steps; step++) {
    const name = random() < 0.8 ? one(dice) : one(['flush', 'flush', 'compact', 'transactions'])
    await actions[name]()
    if (name !== 'flush' && name !== 'compact') continue
    const wanted = new Map([memtable, ...files].toReversed().flatMap((layer) => [...layer]))
    const complaint = compare(tables, wanted)
    if (complaint !== undefined) return `step ${step}, ${name}: ${complaint}`
  }
  return undefined
}

function compare(tables: MessagingTables, wanted: Layer): string | undefined {
  let found = 0
  for (const result of tables.messages.scanSync()) {
    for (const { row, qualifier, value } of result.cells()) {
      const key = `${row.toString('hex')}:${qualifier.toString()}`
      found++
      if (wanted.get(key)?.value.equals(value) !== true) return `${key} is ${value.toString('hex')}`
    }
  }
  return found === wanted.size ? undefined : `${found} cells instead of ${wanted.size}`
}
