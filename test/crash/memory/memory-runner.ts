/** Runs the process that the memory test measures; the campaign runs it as well. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const childPath = fileURLToPath(new URL('memory-child.js', import.meta.url))
const mebibyte = 1024 * 1024

/**
 * What a worker thread may take, in MiB: its heap, the blocks of its job and what V8 collects late.
 * docs/durability.md states the same number.
 */
export const threadMib = 64
/** What the thread of the event loop may take beside the budgets, in MiB; stated there as well. */
export const heapMib = 32
/** A flush and two compactions. */
export const threads = 3

/** What the process tells. */
export interface MemoryReport {
  readonly peak: number
  readonly ticks: number
  readonly gapMax: number
  readonly stalls: number
  readonly flushes: number
  readonly failed: number
  readonly count: number
  readonly rows: number
  readonly buffersPeak: number
  readonly pinnedPeak: number
  readonly pinnedMemtableBytes: number
  readonly scansRows: number
  readonly scansExpected: number
}

/** Without what tap adds to measure coverage, which takes memory in every thread. */
function bareEnvironment(): NodeJS.ProcessEnv {
  const env = { ...process.env }
  for (const name of ['NODE_V8_COVERAGE', 'NODE_OPTIONS']) delete env[name]
  return env
}

/** Loads a database in a process of its own. */
export async function loadMemory(
  mode: 'baseline' | 'sync' | 'async' | 'mixed' | 'scans',
  dataMib: number,
  budgetMib: number,
): Promise<MemoryReport> {
  const home = mkdtempSync(join(tmpdir(), 'cellar-memory-'))
  try {
    const parameters = [childPath, mode, join(home, 'database'), String(dataMib), String(budgetMib)]
    const { stdout } = await promisify(execFile)(process.execPath, parameters, {
      env: bareEnvironment(),
    })
    return JSON.parse(stdout) as MemoryReport
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/** What is wrong with a load of values of all sizes; undefined = nothing. */
export function judgeMixed(
  report: MemoryReport,
  baseline: MemoryReport,
  budgetMib: number,
): string | undefined {
  const budgets = 2 * budgetMib * 1.25 * mebibyte
  const grown = report.peak - baseline.peak
  const allowed = budgets + (threads * threadMib + heapMib) * mebibyte
  if (grown > allowed) return `grown by ${grown} bytes, ${allowed} are allowed`
  // Memtables, idle arenas, blocks, the log's buffer and the arguments of 32 puts, as they are
  // and as a held put keeps them.
  const buffersMax = 2 * budgets + 96 * mebibyte
  if (report.buffersPeak > buffersMax) return `${report.buffersPeak} bytes of buffers`
  if (report.pinnedPeak > 0) return `${report.pinnedPeak} bytes of flushed memtables were held`
  if (report.rows !== report.count) return `${report.rows} of ${report.count} rows`
  if (report.scansRows !== report.scansExpected) return `open scans gave ${report.scansRows} rows`
  return undefined
}
