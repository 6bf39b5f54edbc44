/**
 * What cell hooks cost in a compaction when they keep everything: the same files are merged without
 * a hook, with one and with two, in turn, each round from a fresh copy. Compared is the time that
 * all threads computed, the least of the rounds, which a busy machine disturbs less than a clock.
 */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { Database, type Coprocessor } from '../../src/entries/index.js'
import type { ResultRecord } from '../harness/report/record.js'
import { RandomRecords } from './records.js'

const mebibyte = 1024 * 1024

/** Looks at the row, as a hook that has to decide does. */
const keepingModule = `data:text/javascript,${encodeURIComponent(`
  export const createCellHook = () => ({
    decide: (cell) => (cell.buffer[cell.keyStart] === 0 ? 1 : 0),
  })`)}`

const compactionOff = {
  compactionEnabled: false,
  // One worker: two that share the processors with others would be measured less exactly.
  compactionSplitBytesMin: Number.MAX_SAFE_INTEGER,
  memtableBytesMax: 64 * mebibyte,
  flushBytes: 16 * mebibyte,
}

/** One row for each number of hooks; `hookPart` is what they add to the time without. */
export async function measureHooks(
  directory: string,
  records: number,
  seed: number,
  rounds: number,
): Promise<ResultRecord[]> {
  const filled = join(directory, 'hooks')
  await fill(filled, records, seed)
  const hookCounts = [0, 1, 2]
  const seconds = hookCounts.map((): number[] => [])
  for (let round = 0; round < rounds; round++) {
    for (const [i, hooks] of hookCounts.entries()) {
      const copy = join(directory, `hooks-${round}-${hooks}`)
      cpSync(filled, copy, { recursive: true })
      seconds[i].push(await compactedSeconds(copy, hooks, records))
    }
  }
  const least = seconds.map((list) => Math.min(...list))
  return hookCounts.map((hooks, i) => ({
    suite: 'compaction',
    workload: `merge with ${hooks} hooks`,
    engine: 'cellar',
    durability: 'buffered',
    records,
    operations: records,
    seconds: least[i],
    cpuSeconds: least[i],
    opsPerSecond: records / least[i],
    repeats: rounds,
    spread: { low: records / Math.max(...seconds[i]), high: records / least[i] },
    extra: { hookPart: least[i] / least[0] - 1 },
  }))
}

async function fill(path: string, records: number, seed: number): Promise<void> {
  const database = await Database.open(path, compactionOff)
  const table = await database.createTable('t', { families: { f: {} } })
  const random = new RandomRecords(seed, records)
  for (let i = 0; i < records; i++) {
    table.putSync({ row: random.key(), cells: { 'f:': random.value() }, durability: 'ASYNC_WAL' })
  }
  await database.flush()
  await database.close()
}

/** Seconds that all threads computed while the files were merged. */
async function compactedSeconds(path: string, hooks: number, records: number): Promise<number> {
  const coprocessors = Array.from({ length: hooks }, (_, i): Coprocessor => {
    return { name: `hook ${i}`, cellHook: { module: keepingModule } }
  })
  const database = await Database.open(path, { ...compactionOff, coprocessors })
  const cpu = process.cpuUsage()
  await database.compact('t')
  const { user, system } = process.cpuUsage(cpu)
  const { compactionEntriesRead, droppedBy } = database.statistics()
  await database.close()
  if (compactionEntriesRead === 0 || compactionEntriesRead > records || droppedBy.hooks > 0) {
    throw new Error('the compaction did not do what is measured')
  }
  return (user + system) / 1e6
}
