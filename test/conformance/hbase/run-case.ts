/** Runs one case in one state. */
import type { Test } from 'tap'
import { ManualClock } from '../../../src/base/clock.js'
import { CellarError } from '../../../src/base/errors.js'
import type { Result } from '../../../src/api/index.js'
import type { Get, Scan } from '../../../src/api/index.js'
import { plainResult, showCell, type PlainCell } from '../../helpers/plain-cells.js'
import { callsOf, type CallForm, type TableCalls } from '../../helpers/table-calls.js'
import { TestDatabase } from '../../helpers/test-database.js'
import type { HBaseCase, State, Step, Write } from './case.js'

/** Carries out the steps of a case, preparing the state before each read. */
export async function runCase(
  t: Test,
  each: HBaseCase,
  state: State,
  form: CallForm,
): Promise<void> {
  const clock = new ManualClock(each.startTime ?? 1_000_000)
  const options = { memtableBytesMax: 64 * 1024 * 1024, flushBytes: 32 * 1024 * 1024 }
  const test = await TestDatabase.open({ clock, options: { ...options, ...each.databaseOptions } })
  try {
    await test.database.createTable('table', { families: each.families ?? { f: {} } })
    const runner = new CaseRunner(t, test, state, form)
    for (const [index, step] of each.steps.entries()) {
      await runner.run(step, `step ${index + 1} ${describe(step)}`)
    }
  } finally {
    await test.close()
  }
}

class CaseRunner {
  private readonly t: Test
  private readonly test: TestDatabase
  private readonly state: State
  private readonly form: CallForm

  constructor(t: Test, test: TestDatabase, state: State, form: CallForm) {
    this.t = t
    this.test = test
    this.state = state
    this.form = form
  }

  private get calls(): TableCalls {
    return callsOf(this.test.database.table('table'), this.form)
  }

  async run(step: Step, what: string): Promise<void> {
    const { t, test } = this
    if ('clock' in step) test.clock.milliseconds = step.clock
    else if ('advance' in step) test.clock.milliseconds += step.advance
    else if ('flush' in step) await test.flush()
    else if ('reopen' in step) await test.reopen()
    else if ('compact' in step) await test.compact(step.compact === 'major')
    else if ('run' in step) await this.runFunction(step.run)
    else if ('fails' in step) await this.expectFailure(step, what)
    else if ('failsPartly' in step) await this.expectPartialFailure(step, what)
    else if ('exists' in step) {
      await this.prepare()
      t.equal(await this.calls.exists(step.exists), step.is, what)
    } else if ('scan' in step) await this.runScan(step, what)
    else if ('get' in step) {
      await this.prepare()
      this.expectCells(await this.calls.get(step.get), step.cells, what)
    } else if ('batch' in step) await this.runBatch(step, what)
    else await this.write(step, what)
  }

  private async runFunction(run: Extract<Step, { run: unknown }>['run']): Promise<void> {
    const { t, test, calls } = this
    await run({ test, calls, same: (found, expected, what) => void t.same(found, expected, what) })
  }

  /** Brings the stored cells into the state under test. */
  private async prepare(): Promise<void> {
    const { test, state } = this
    if (state === 'reopened') await test.reopen()
    else if (state !== 'memtable') await test.flush()
    if (state === 'minor' || state === 'major') await test.compact(state === 'major')
  }

  private async write(step: Write, what: string): Promise<void> {
    const calls = this.calls
    if ('put' in step) await calls.put(step.put)
    else if ('delete' in step) await calls.delete(step.delete)
    else if ('putList' in step) await calls.putList(step.putList)
    else if ('deleteList' in step) await calls.deleteList(step.deleteList)
    else if ('increment' in step) {
      this.expectCells(await calls.increment(step.increment), step.cells, what)
    } else if ('append' in step) {
      this.expectCells(await calls.append(step.append), step.cells, what)
    } else if ('mutateRow' in step) {
      this.expectCells(await calls.mutateRow(step.mutateRow), step.cells, what)
    } else {
      const { success, result } = await calls.checkAndMutate(step.check, step.action)
      this.t.equal(success, step.success, what)
      if (step.cells === undefined || step.cells.length === 0) {
        this.t.equal(result, undefined, `${what}: no result`)
      } else if (result === undefined) this.t.fail(`${what}: no result`)
      else this.expectCells(result, step.cells, what)
    }
  }

  private async runScan(step: Extract<Step, { scan: Scan }>, what: string): Promise<void> {
    const { t } = this
    await this.prepare()
    const results = (await this.calls.scan(step.scan)).map(plainResult)
    if ('results' in step) {
      const found = results.map(({ cells }, index) => {
        return cells.map((cell, at) => project(cell, step.results[index]?.[at]))
      })
      t.same(
        found,
        step.results.map((cells) => cells.map(normal)),
        what,
      )
    } else if ('rows' in step) {
      const rows = results.map(({ cells }) => cells[0].row)
      t.same(rows, step.rows, what)
    } else {
      const cells = results.flatMap((result) => result.cells)
      const markers = cells.filter((cell) => cell.type !== 'Put')
      if (step.cellCount !== undefined) t.equal(cells.length, step.cellCount, what)
      if (step.markerCount !== undefined) t.equal(markers.length, step.markerCount, what)
    }
  }

  private async runBatch(step: Extract<Step, { batch: unknown }>, what: string): Promise<void> {
    const results = await this.calls.batch(step.batch)
    this.t.equal(results.length, step.outcomes.length, `${what}: one outcome for each operation`)
    for (const [index, outcome] of results.entries()) {
      const expected = step.outcomes[index]
      const which = `${what}: operation ${index}`
      if (!outcome.ok) this.t.equal(outcome.error.code, expected, which)
      else if (typeof expected === 'string') this.t.fail(`${which} must fail with ${expected}`)
      else this.expectCells(outcome.result, expected, which)
    }
  }

  private async expectFailure(
    step: Extract<Step, { fails: unknown }>,
    what: string,
  ): Promise<void> {
    const operation: { get: Get } | { scan: Scan } | Write = step.fails
    const error = await failureOf(async () => {
      if ('get' in operation) await this.calls.get(operation.get)
      else if ('scan' in operation) await this.calls.scan(operation.scan)
      else await this.write(operation, what)
    })
    this.t.equal(error?.code, step.code, what)
    if (step.message !== undefined) this.t.match(error?.message, step.message, what)
  }

  private async expectPartialFailure(
    step: Extract<Step, { failsPartly: unknown }>,
    what: string,
  ): Promise<void> {
    const list = step.failsPartly
    const error = await failureOf(() => {
      return 'putList' in list
        ? this.calls.putList(list.putList)
        : this.calls.deleteList(list.deleteList)
    })
    this.t.equal(error?.code, 'ERR_BATCH_FAILED', what)
    const found = [...(error?.failures ?? [])].map(([index, failure]) => [index, failure.code])
    const expected = Object.entries(step.failures).map(([index, code]) => [Number(index), code])
    this.t.same(found, expected, `${what}: failures`)
  }

  private expectCells(result: Result, expected: readonly string[] | undefined, what: string): void {
    if (expected === undefined) return
    const { cells } = plainResult(result)
    const found = cells.map((cell, index) => project(cell, expected[index]))
    this.t.same(found, expected.map(normal), what)
  }
}

const cellText = /^(?:([^|]*)\|)?(?:([^:@!=]*):)?([^:@!=]*)(?:@(\d+))?(?:!(\w+))?(?:=(.*))?$/s

interface CellPattern {
  row?: string
  family: string
  qualifier: string
  timestamp?: string
  type: string
  value?: string
}

function parse(text: string): CellPattern {
  const match = cellText.exec(text)
  if (match === null) throw new Error(`not a cell: ${text}`)
  const [, row, family = 'f', qualifier, timestamp, type = 'Put', value] = match
  return { row, family, qualifier, timestamp, type, value }
}

function write({ row, family, qualifier, timestamp, type, value }: CellPattern): string {
  const rowText = row === undefined ? '' : `${row}|`
  const timeText = timestamp === undefined ? '' : `@${timestamp}`
  const valueText = value === undefined ? '' : `=${value}`
  return `${rowText}${family}:${qualifier}${timeText}!${type}${valueText}`
}

/** The expected text with everything that has a default. */
function normal(text: string): string {
  return write(parse(text))
}

/** A cell as text, with the parts that the expectation names. */
function project(cell: PlainCell, expected: string | undefined): string {
  if (expected === undefined) return showCell(cell)
  const pattern = parse(expected)
  return write({
    row: pattern.row === undefined ? undefined : cell.row,
    family: cell.family,
    qualifier: cell.qualifier,
    timestamp: pattern.timestamp === undefined ? undefined : String(cell.timestamp),
    type: cell.type,
    value: pattern.value === undefined ? undefined : cell.value,
  })
}

async function failureOf(run: () => Promise<unknown>): Promise<CellarError | undefined> {
  try {
    await run()
  } catch (error) {
    if (error instanceof CellarError) return error
    throw error
  }
  return undefined
}

function describe(step: Step): string {
  return Object.keys(step)[0]
}
