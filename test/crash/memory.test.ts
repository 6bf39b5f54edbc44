/**
 * Overload slows writers down and does not grow memory: ten times the memtable budget is loaded.
 *
 * CELLAR_MEMORY_MIB: the budget of the memtables, default 8; ten times as much is loaded.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

const childPath = fileURLToPath(new URL('memory-child.js', import.meta.url))
const budgetMib = Number(process.env.CELLAR_MEMORY_MIB ?? 8)
const dataMib = budgetMib * 10

/**
 * What a process may need beyond baseline and budgets, in MiB: the young and the old generation of
 * the heap under load, the arguments of the puts under way (1.5 budgets and their promises, in the
 * asynchronous case), and three worker threads with heaps of their own: a flush and two
 * compactions, whose decoded blocks V8 frees late. Peaks of the asynchronous case: 155 MiB with
 * `compactionEnabled: false` in the child, 230 with `compactionVerify: false`, 300 as it is.
 */
const constantMib = 224

interface Report {
  readonly peak: number
  readonly ticks: number
  readonly gapMax: number
  readonly stalls: number
  readonly flushes: number
  readonly failed: number
  readonly count: number
  readonly rows: number
}

async function load(mode: 'baseline' | 'sync' | 'async'): Promise<Report> {
  const home = mkdtempSync(join(tmpdir(), 'cellar-memory-'))
  try {
    const parameters = [childPath, mode, join(home, 'database'), String(dataMib), String(budgetMib)]
    const { stdout } = await promisify(execFile)(process.execPath, parameters)
    return JSON.parse(stdout) as Report
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

void t.test(`memory stays within the budgets while ${dataMib} MiB are loaded`, async (t) => {
  const mebibyte = 1024 * 1024
  const baseline = await load('baseline')
  // Memtables and block cache, and a quarter.
  const budgets = 2 * budgetMib * 1.25
  for (const mode of ['sync', 'async'] as const) {
    const report = await load(mode)
    const grown = (report.peak - baseline.peak) / mebibyte
    // Puts that wait hold promises and arguments, which are the caller's: about three bytes for
    // each byte of these values.
    const callers = mode === 'async' ? budgetMib * 1.5 * 3 : 0
    const limit = budgets + callers + constantMib
    const { stalls, flushes, ticks, gapMax } = report
    t.comment(
      `${mode}: ${Math.round(report.peak / mebibyte)} MiB at most, ${Math.round(grown)} MiB more ` +
        `than the baseline, ${Math.round(limit)} allowed; ${stalls} stalls, ${flushes} flushes, ` +
        `${ticks} ticks, longest gap ${Math.round(gapMax)} ms`,
    )
    t.ok(grown <= limit, `${mode}: grown by ${Math.round(grown)} of ${Math.round(limit)} MiB`)
    t.equal(report.failed, 0, `${mode}: no put fails`)
    t.ok(report.flushes > 2, `${mode}: memtables were flushed`)
    t.ok(report.rows > 0.99 * report.count, `${mode}: ${report.rows} rows are there`)
    if (mode === 'async') {
      t.ok(report.stalls > 0, 'writers had to wait')
      t.ok(report.ticks > 5, 'the event loop went on')
    }
  }
})
