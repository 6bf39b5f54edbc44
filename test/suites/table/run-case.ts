/** Runs one case in one state. */
import { CellarError, type Cell, type Get, type Result, type Scan } from '../../../src/api/index.js'
import { SuiteClock } from '../kit.js'
import { callsOf, type CallForm, type TableCalls } from './calls.js'
import type {
  CaseContext,
  State,
  Step,
  TableCase,
  TableSettings,
  TableSpace,
  Write,
} from './case.js'

/** Opens an empty database for a case. */
export type OpenSpace = (settings: TableSettings) => Promise<TableSpace>

/**
 * Carries out the steps of a case, preparing the state before each read. Returns what was found to
 * be wrong, one text for each mismatch.
 */
export async function runCase(
  open: OpenSpace,
  each: TableCase,
  state: State,
  form: CallForm,
): Promise<string[]> {
  const clock = new SuiteClock(each.startTime ?? 1_000_000)
  const { timestampSlopMilliseconds } = each
  const space = await open({ clock, timestampSlopMilliseconds })
  try {
    await space.database.createTable('table', { families: each.families ?? { f: {} } })
    const runner = new CaseRunner(space, clock, state, form)
    for (const [index, step] of each.steps.entries()) {
      await runner.run(step, `step ${index + 1} ${describe(step)}`)
    }
    return runner.mismatches
  } finally {
    await space.close()
  }
}

class CaseRunner {
  readonly mismatches: string[] = []
  readonly #space: TableSpace
  readonly #clock: SuiteClock
  readonly #state: State
  readonly #form: CallForm

  constructor(space: TableSpace, clock: SuiteClock, state: State, form: CallForm) {
    this.#space = space
    this.#clock = clock
    this.#state = state
    this.#form = form
  }

  get #calls(): TableCalls {
    return callsOf(this.#space.database.table('table'), this.#form)
  }

  get #context(): CaseContext {
    const space = this.#space
    const calls = this.#calls
    return {
      space,
      table: space.database.table('table'),
      calls,
      flush: () => this.#flush(),
      compact: (major) => this.#compact(major),
      same: (found, expected, what) => this.#same(found, expected, what),
    }
  }

  #flush(): Promise<void> {
    return this.#space.database.admin.flush()
  }

  #compact(major: boolean): Promise<void> {
    const { admin } = this.#space.database
    return major ? admin.majorCompact() : admin.compact()
  }

  async #reopen(): Promise<void> {
    if (this.#space.reopen === undefined) throw new Error('the data do not outlive the database')
    await this.#space.reopen()
  }

  #same(found: unknown, expected: unknown, what: string): void {
    const [a, b] = [textOf(found), textOf(expected)]
    if (a !== b) this.mismatches.push(`${what}: found ${a}, expected ${b}`)
  }

  async run(step: Step, what: string): Promise<void> {
    const clock = this.#clock
    if ('clock' in step) clock.milliseconds = step.clock
    else if ('advance' in step) clock.milliseconds += step.advance
    else if ('flush' in step) await this.#flush()
    else if ('reopen' in step) await this.#reopen()
    else if ('compact' in step) await this.#compact(step.compact === 'major')
    else if ('run' in step) await step.run(this.#context)
    else if ('fails' in step) await this.#expectFailure(step, what)
    else if ('failsPartly' in step) await this.#expectPartialFailure(step, what)
    else if ('exists' in step) {
      await this.#prepare()
      this.#same(await this.#calls.exists(step.exists), step.is, what)
    } else if ('scan' in step) await this.#runScan(step, what)
    else if ('get' in step) {
      await this.#prepare()
      this.#expectCells(await this.#calls.get(step.get), step.cells, what)
    } else if ('batch' in step) await this.#runBatch(step, what)
    else await this.#write(step, what)
  }

  /** Brings the stored cells into the state under test. */
  async #prepare(): Promise<void> {
    const state = this.#state
    if (state === 'reopened') await this.#reopen()
    else if (state !== 'memtable') await this.#flush()
    if (state === 'minor' || state === 'major') await this.#compact(state === 'major')
  }

  async #write(step: Write, what: string): Promise<void> {
    const calls = this.#calls
    if ('put' in step) await calls.put(step.put)
    else if ('delete' in step) await calls.delete(step.delete)
    else if ('putList' in step) await calls.putList(step.putList)
    else if ('deleteList' in step) await calls.deleteList(step.deleteList)
    else if ('increment' in step) {
      this.#expectCells(await calls.increment(step.increment), step.cells, what)
    } else if ('append' in step) {
      this.#expectCells(await calls.append(step.append), step.cells, what)
    } else if ('mutateRow' in step) {
      this.#expectCells(await calls.mutateRow(step.mutateRow), step.cells, what)
    } else {
      const { success, result } = await calls.checkAndMutate(step.check, step.action)
      this.#same(success, step.success, what)
      if (step.cells === undefined || step.cells.length === 0) {
        this.#same(result, undefined, `${what}: no result`)
      } else if (result === undefined) this.mismatches.push(`${what}: no result`)
      else this.#expectCells(result, step.cells, what)
    }
  }

  async #runScan(step: Extract<Step, { scan: Scan }>, what: string): Promise<void> {
    await this.#prepare()
    const results = (await this.#calls.scan(step.scan)).map(plainCells)
    if ('results' in step) {
      const found = results.map((cells, index) => {
        return cells.map((cell, at) => project(cell, step.results[index]?.[at]))
      })
      this.#same(
        found,
        step.results.map((cells) => cells.map(normal)),
        what,
      )
    } else if ('rows' in step) {
      const rows = results.map((cells) => cells[0].row)
      this.#same(rows, step.rows, what)
    } else {
      const cells = results.flat()
      const markers = cells.filter((cell) => cell.type !== 'Put')
      if (step.cellCount !== undefined) this.#same(cells.length, step.cellCount, what)
      if (step.markerCount !== undefined) this.#same(markers.length, step.markerCount, what)
    }
  }

  async #runBatch(step: Extract<Step, { batch: unknown }>, what: string): Promise<void> {
    const results = await this.#calls.batch(step.batch)
    this.#same(results.length, step.outcomes.length, `${what}: one outcome for each operation`)
    for (const [index, outcome] of results.entries()) {
      const expected = step.outcomes[index]
      const which = `${what}: operation ${index}`
      if (!outcome.ok) this.#same(outcome.error.code, expected, which)
      else if (typeof expected === 'string')
        this.mismatches.push(`${which} must fail with ${expected}`)
      else this.#expectCells(outcome.result, expected, which)
    }
  }

  async #expectFailure(step: Extract<Step, { fails: unknown }>, what: string): Promise<void> {
    const operation: { get: Get } | { scan: Scan } | Write = step.fails
    const error = await failureOf(async () => {
      if ('get' in operation) await this.#calls.get(operation.get)
      else if ('scan' in operation) await this.#calls.scan(operation.scan)
      else await this.#write(operation, what)
    })
    this.#same(error?.code, step.code, what)
    if (step.message !== undefined && error !== undefined) {
      this.#same(step.message.test(error.message), true, `${what}: ${error.message}`)
    }
  }

  async #expectPartialFailure(
    step: Extract<Step, { failsPartly: unknown }>,
    what: string,
  ): Promise<void> {
    const list = step.failsPartly
    const error = await failureOf(() => {
      return 'putList' in list
        ? this.#calls.putList(list.putList)
        : this.#calls.deleteList(list.deleteList)
    })
    this.#same(error?.code, 'ERR_BATCH_FAILED', what)
    const found = [...(error?.failures ?? [])].map(([index, failure]) => [index, failure.code])
    const expected = Object.entries(step.failures).map(([index, code]) => [Number(index), code])
    this.#same(found, expected, `${what}: failures`)
  }

  #expectCells(result: Result, expected: readonly string[] | undefined, what: string): void {
    if (expected === undefined) return
    const cells = plainCells(result)
    const found = cells.map((cell, index) => project(cell, expected[index]))
    this.#same(found, expected.map(normal), what)
  }
}

/** A cell as texts, one UTF-16 unit for each byte. */
interface PlainCell {
  readonly row: string
  readonly family: string
  readonly qualifier: string
  readonly timestamp: bigint
  readonly type: string
  readonly value: string
}

function plainCells(result: Result): PlainCell[] {
  return result.cells().map(({ row, family, qualifier, timestampExact, type, value }: Cell) => ({
    row: row.toString('latin1'),
    family,
    qualifier: qualifier.toString('latin1'),
    timestamp: timestampExact,
    type,
    value: value.toString('latin1'),
  }))
}

/** Equal texts mean equal values. */
function textOf(value: unknown): string {
  const text = JSON.stringify(value, (_name, each: unknown) => {
    return typeof each === 'bigint' ? `${each}n` : each
  })
  return text ?? 'undefined'
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
  if (expected === undefined) {
    const { row, family, qualifier, timestamp, type, value } = cell
    return `${row}|${family}:${qualifier}@${timestamp}!${type}=${value}`
  }
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
