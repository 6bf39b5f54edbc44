/**
 * The process of one engine: fills a store without a limit of memory, or reads one that was filled
 * within the limit.
 */
import { readFileSync } from 'node:fs'
import { Checksum } from '../harness/draws/checksum.js'
import type { EngineAdapter, OpenedEngine, RowValues } from '../harness/engine.js'
import { ycsbKeys } from '../harness/draws/keys.js'
import { newLatencies, percentilesOf, recordLatency } from '../harness/report/latencies.js'
import { observeProcess } from '../harness/processes/process-counters.js'
import { seededRandom } from '../harness/draws/random.js'
import { engineEntry, loadEngine } from '../harness/registry.js'
import { strideOf } from '../harness/draws/stride.js'
import { serveTask, type Tell } from '../harness/processes/subject-process.js'
import { printablePool, ValuePool } from '../harness/draws/values.js'
import { ScrambledZipfian } from '../harness/draws/zipfian.js'

/** What a process is asked to do. */
export interface MemoryTask {
  readonly kind: 'fill' | 'read'
  readonly engine: string
  readonly readsAhead: boolean
  readonly directory: string
  readonly records: number
  readonly cacheBytes: number
  readonly seed: number
  /** Length of a workload. */
  readonly seconds: number
  /** Follows the names of the workloads. */
  readonly label: string
  /** For the results. */
  readonly extra: Readonly<Record<string, number>>
}

const columns = Array.from({ length: 10 }, (_, at) => `field${at}`)
const positions = columns.map((_, at) => at)
const valueBytes = 100
const batchRows = 500

/** The answers to so many gets are compared. */
const comparedGets = 200

async function open(task: MemoryTask): Promise<OpenedEngine> {
  const engine = (await loadEngine(engineEntry(task.engine))) as EngineAdapter
  const layout = engine.layouts[0]
  const { directory, cacheBytes, readsAhead } = task
  return engine.open({ directory, durability: 'buffered', layout, columns, cacheBytes, readsAhead })
}

async function fill(task: MemoryTask): Promise<void> {
  const { records, seed } = task
  const opened = await open(task)
  const pool = new ValuePool(printablePool(seed), valueBytes)
  const step = strideOf(records)
  let position = 0
  for (let next = 0; next < records; next += batchRows) {
    const size = Math.min(batchRows, records - next)
    const rows = Array.from({ length: size }, () => {
      const row = ycsbKeys.make(position)
      position = (position + step) % records
      return { row, columns: positions, values: positions.map(() => pool.next()) }
    })
    await opened.fastest.putMany(rows)
  }
  await opened.flush?.()
  await opened.settle?.()
  await opened.close()
}

/** Bytes that this process has read from the device. */
function bytesRead(): number {
  const match = /^read_bytes: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))
  return Number(match?.[1] ?? NaN)
}

async function readRows(
  task: MemoryTask,
  opened: OpenedEngine,
  workload: string,
  next: () => number,
  tell: Tell,
): Promise<void> {
  const { directory, seconds, extra } = task
  const values: RowValues = []
  const latencies = newLatencies()
  const checksum = new Checksum()
  const observed = observeProcess(directory)
  const readBefore = bytesRead()
  const begin = performance.now()
  const end = begin + seconds * 1000
  let operations = 0
  let now = begin
  while (now < end || operations < comparedGets) {
    const row = ycsbKeys.make(next())
    const isThere = await opened.fastest.get(row, values)
    if (operations < comparedGets) {
      checksum.addNumber(isThere ? 1 : 0)
      checksum.addRow(values)
    }
    const after = performance.now()
    recordLatency(latencies, after - now)
    now = after
    operations++
  }
  const { p50us, p99us } = percentilesOf(latencies)
  const kibibytesRead = (bytesRead() - readBefore) / 1024
  tell({
    workload: `${workload}, ${task.label}`,
    operations,
    seconds: (now - begin) / 1000,
    p50us,
    p99us,
    checksum: checksum.hex,
    extra: {
      ...extra,
      diskKibibytesPerGet: kibibytesRead / operations,
      residentMebibytes: process.memoryUsage.rss() / 1024 / 1024,
    },
    counters: observed.end(),
  })
}

async function read(task: MemoryTask, tell: Tell): Promise<void> {
  const opened = await open(task)
  const { records, seed } = task
  const zipfian = new ScrambledZipfian(records, seededRandom(seed))
  const random = seededRandom(seed + 1)
  await readRows(task, opened, 'get-zipfian', () => zipfian.next(), tell)
  await readRows(task, opened, 'get-uniform', () => random.below(records), tell)
  await opened.close()
}

serveTask<MemoryTask>((task, tell) => (task.kind === 'fill' ? fill(task) : read(task, tell)))
