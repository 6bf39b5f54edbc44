/**
 * HBase's conformance cases for tables, for any backend. The public entry
 * `cellardb/conformance/table`.
 *
 *     import t from 'tap'
 *     import { runTableSuite } from 'cellardb/conformance/table'
 *
 *     await runTableSuite(t, { name: 'mine', open: async ({ clock }) => openMySpace(clock) })
 *
 * Each case runs once for each state in which it must hold: in memory, flushed, reopened or
 * compacted. Cases with odd numbers run the promise forms of the operations, those with even
 * numbers the synchronous forms if the backend has them. A case or a state that needs something
 * that the backend lacks is reported as not applicable, by its number.
 */
import type { Capabilities, Capability } from '../../../src/api/index.js'
import type { SuiteTest } from '../kit.js'
import { versionCases } from './a-versions.js'
import { nameCases } from './b-names.js'
import { deleteCases } from './c-deletes.js'
import type { State, Step, TableCase, TableSettings, TableSpace } from './case.js'
import { keptDeleteCases } from './d-kept-deletes.js'
import { minVersionCases } from './d-min-versions.js'
import { writeOrderCases } from './e-write-order.js'
import { scanCases } from './f-scans.js'
import { filterCases } from './g-filters.js'
import { filterFixtureCases } from './g-fixture.js'
import { checkCases } from './h-checks.js'
import { updateCases } from './i-updates.js'
import { answeredCases, namedCases } from './l-answers.js'
import { runCase } from './run-case.js'

export type {
  AnyTable,
  CaseContext,
  State,
  Step,
  TableCase,
  TableSettings,
  TableSpace,
  Write,
} from './case.js'
export type { SuiteTest } from '../kit.js'
export type { TableCalls } from './calls.js'

/** A backend under test. */
export interface TableBackend {
  /** For the names of the tests. */
  readonly name: string
  /** Opens an empty database that goes by a clock. */
  open(settings: TableSettings): Promise<TableSpace>
  /**
   * Cases that look into the backend, such as {@link innerCases}. They run with those of the suite.
   */
  readonly cases?: readonly TableCase[] | undefined
  /**
   * How many states of each case are run at most: the last that apply. Default: all. For a quick
   * run.
   */
  readonly statesMax?: number | undefined
}

/** What a run of the suite did, in numbers of cases. */
export interface TableSuiteCounts {
  /** Numbered cases of HBase that hold in every state that applies. */
  readonly passed: readonly number[]
  /** Numbered cases that do not hold in some state that applies. */
  readonly failed: readonly number[]
  /** By number: why a case could not be run in any state. */
  readonly notApplicable: ReadonlyMap<number, string>
  /** States of cases that were run. */
  readonly statesRun: number
  /** States of cases that do not apply. */
  readonly statesNotApplicable: number
}

const cases: readonly TableCase[] = [
  ...versionCases,
  ...nameCases,
  ...deleteCases,
  ...keptDeleteCases,
  ...minVersionCases,
  ...writeOrderCases,
  ...scanCases,
  ...filterCases,
  ...filterFixtureCases,
  ...checkCases,
  ...updateCases,
  ...answeredCases,
  ...namedCases,
]

/** Numbered cases of HBase that look into a backend, and what at. */
export const innerCases: ReadonlyMap<number, string> = new Map([
  [104, 'files that can be damaged'],
  [151, 'files that can be counted'],
  [152, 'coprocessors'],
  [154, 'coprocessors'],
  [155, 'coprocessors'],
  [157, 'coprocessors'],
  [158, 'coprocessors'],
  [160, 'a log that is replayed'],
  [163, 'a log that is replayed'],
  [164, 'bulk loads of files'],
  [166, 'bulk loads of files'],
])

/** Numbered cases of HBase without a counterpart, and why. */
export const absentCases: ReadonlyMap<number, string> = new Map([
  [161, 'a file that the manifest names and that is gone is reported, never made from the log'],
  [167, 'there is no region lock: an operation waits for no other one'],
])

/** Cases that HBase's own tests assert; those above are answers of HBase, or named differences. */
const hbaseCaseMax = 200

/** Why a case does not apply in a state; undefined if it does. */
function obstacle(each: TableCase, state: State, space: TableSpace): string | undefined {
  const { capabilities } = space.database
  const needs: Capability[] = [...(each.needs ?? [])]
  if (each.steps.some(hasFilter)) needs.push('filters')
  if (each.steps.some(isRaw)) needs.push('rawScans')
  const isKept = state === 'memtable' || state === 'reopened'
  if (!isKept || each.steps.some((step) => 'flush' in step || 'compact' in step)) {
    needs.push('upkeep')
  }
  const missing = needs.find((capability) => !hasCapability(capabilities, capability))
  if (missing !== undefined) return `the backend lacks the capability '${missing}'`
  const own = space.obstacle?.(each)
  if (own !== undefined) return own
  const reopens = state === 'reopened' || each.steps.some((step) => 'reopen' in step)
  return reopens && space.reopen === undefined ? 'the data do not outlive the database' : undefined
}

function hasCapability(capabilities: Capabilities, capability: Capability): boolean {
  return capabilities[capability]
}

function hasFilter(step: Step): boolean {
  const operation = operationOf(step)
  return operation !== undefined && 'filter' in operation && operation.filter !== undefined
}

function isRaw(step: Step): boolean {
  return 'scan' in step && step.scan.raw === true
}

function operationOf(step: Step): object | undefined {
  if ('get' in step) return step.get
  if ('scan' in step) return step.scan
  if ('exists' in step) return step.exists
  return 'check' in step ? step.check : undefined
}

/** Runs all cases against a backend, as tests below `t`, one after the other. */
export async function runTableSuite(
  t: SuiteTest,
  backend: TableBackend,
): Promise<TableSuiteCounts> {
  const clock = { now: () => 0 }
  const probe = await backend.open({ clock, timestampSlopMilliseconds: undefined })
  await probe.close()
  const passed = new Set<number>()
  const failed = new Set<number>()
  const notApplicable = new Map<number, string>()
  let statesRun = 0
  let statesNotApplicable = 0
  for (const each of [...cases, ...(backend.cases ?? [])]) {
    const applicable = each.states.filter((state) => obstacle(each, state, probe) === undefined)
    const chosen = applicable.slice(-(backend.statesMax ?? applicable.length))
    for (const state of each.states) {
      const { number } = each
      const skip = obstacle(each, state, probe)
      if (skip === undefined && !chosen.includes(state)) continue
      if (skip === undefined) statesRun++
      else {
        statesNotApplicable++
        notApplicable.set(number, skip)
      }
      const which = `HBase case ${number} [${backend.name}, ${state}]`
      const title = `${which}: ${each.title} (${each.source})`
      await t.test(title, skip === undefined ? {} : { skip }, async (t) => {
        const isSync = number % 2 === 0 && probe.database.capabilities.sync
        const form = isSync ? 'sync' : 'async'
        const wrong = await runCase((settings) => backend.open(settings), each, state, form)
        t.equal(wrong.join('\n'), '', 'every step shows what HBase shows')
        ;(wrong.length === 0 ? passed : failed).add(number)
      })
    }
  }
  for (const number of failed) passed.delete(number)
  for (const [number, what] of innerCases) {
    if (!passed.has(number) && !failed.has(number)) notApplicable.set(number, `it needs ${what}`)
  }
  for (const number of [...passed, ...failed]) notApplicable.delete(number)
  for (const [number, reason] of absentCases) {
    passed.delete(number)
    notApplicable.set(number, reason)
  }
  const counts: TableSuiteCounts = {
    passed: sorted(passed),
    failed: sorted(failed),
    notApplicable: new Map([...notApplicable].sort(([a], [b]) => a - b)),
    statesRun,
    statesNotApplicable,
  }
  report(t, backend.name, counts)
  return counts
}

function report(t: SuiteTest, name: string, counts: TableSuiteCounts): void {
  const own = (numbers: readonly number[]): number[] => numbers.filter((n) => n <= hbaseCaseMax)
  const { passed, failed, notApplicable, statesRun, statesNotApplicable } = counts
  const ofHBase = own(passed).length
  const total = ofHBase + own(failed).length + own([...notApplicable.keys()]).length
  t.comment(`HBase [${name}]: ${ofHBase} of ${total} numbered cases pass`)
  t.comment(`HBase [${name}]: ${passed.length - ofHBase} answers and named differences hold`)
  t.comment(`HBase [${name}]: ${statesRun} states run, ${statesNotApplicable} not applicable`)
  for (const [number, reason] of notApplicable) {
    t.comment(`HBase case ${number} [${name}] is not applicable: ${reason}`)
  }
}

function sorted(numbers: ReadonlySet<number>): number[] {
  return [...numbers].sort((a, b) => a - b)
}
