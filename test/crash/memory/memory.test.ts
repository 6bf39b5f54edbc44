/**
 * Overload slows writers down and does not grow memory: ten times the memtable budget is loaded.
 *
 * CELLAR_MEMORY_MIB: the budget of the memtables, default 8, 4 in the short form.
 * Ten times as much is loaded.
 *
 * @runs alone, campaign
 */
import t from 'tap'
import { heapMib, judgeMixed, loadMemory, threadMib, threads } from './memory-runner.js'
import { lengthOf } from '../../helpers/length.js'

const budgetMib = lengthOf('CELLAR_MEMORY_MIB', 4, 8)
const dataMib = budgetMib * 10

/**
 * What a process may need beyond baseline and budgets, in MiB: its worker threads, and the young
 * and the old generation of the heap with the promises of the puts under way.
 */
const constantMib = threads * threadMib + heapMib

void t.test(`memory stays within the budgets while ${dataMib} MiB are loaded`, async (t) => {
  const mebibyte = 1024 * 1024
  const baseline = await loadMemory('baseline', dataMib, budgetMib)
  // Memtables and block cache, and a quarter.
  const budgets = 2 * budgetMib * 1.25
  for (const mode of ['sync', 'async'] as const) {
    const report = await loadMemory(mode, dataMib, budgetMib)
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

void t.test('values of 10 bytes to 1 MiB, and 30 scans open meanwhile', async (t) => {
  const baseline = await loadMemory('baseline', 1, budgetMib)
  for (const mode of ['mixed', 'scans'] as const) {
    const report = await loadMemory(mode, 20 * budgetMib, budgetMib)
    const mib = (bytes: number): number => Math.round(bytes / 1024 / 1024)
    t.comment(
      `${mode}: ${mib(report.peak - baseline.peak)} MiB more than the baseline, buffers of ` +
        `${mib(report.buffersPeak)} MiB, longest gap ${Math.round(report.gapMax)} ms`,
    )
    t.equal(judgeMixed(report, baseline, budgetMib), undefined, `${mode}: within its bounds`)
    t.ok(report.flushes > 2, `${mode}: memtables were flushed`)
  }
})
