/** Runs operations on the engine and on the reference model, and compares what they say. */
import fc from 'fast-check'
import { ManualClock } from '../../src/base/clock.js'
import { CellarError } from '../../src/base/errors.js'
import type { FileSystem } from '../../src/fs/types.js'
import type { Result } from '../../src/api/index.js'
import type { Scan, Snapshot } from '../../src/api/index.js'
import {
  plainResult,
  showResult,
  type PlainCell,
  type PlainResult,
} from '../helpers/plain-cells.js'
import { callsOf, type CallForm, type TableCalls } from '../helpers/table-calls.js'
import { TestDatabase } from '../helpers/test-database.js'
import { filterOf, keepsCell, type FilterTree } from './filter-trees.js'
import { familyOptions, startTime, type Operation } from './operations.js'
import { MergeFollower } from './merge-follower.js'
import type { ReferenceTable, View } from '../../src/memory/reference-table.js'
import { ReferenceModel, type ModelSnapshot } from '../../src/memory/reference-model.js'

const fullScans: readonly Scan[] = [
  { versions: 'all' },
  { versions: 'all', reversed: true },
  { versions: 'all', raw: true },
]

/** How a run is set up. */
export interface Setup {
  readonly families: readonly string[]
  readonly form: CallForm
  readonly blockCacheBytesMax: number
}

/** The engine and the model side by side. */
class Comparison {
  private readonly clock: ManualClock
  private readonly model: ReferenceModel
  private readonly table: ReferenceTable
  private readonly test: TestDatabase
  private readonly form: CallForm
  private readonly snapshots: { engine: Snapshot; model: ModelSnapshot }[] = []
  private readonly merges: MergeFollower
  private calls: TableCalls

  private constructor(
    test: TestDatabase,
    model: ReferenceModel,
    table: ReferenceTable,
    merges: MergeFollower,
    form: CallForm,
  ) {
    this.merges = merges
    this.clock = test.clock
    this.test = test
    this.model = model
    this.table = table
    this.form = form
    this.calls = callsOf(test.database.table('table'), form)
  }

  static async open(
    { families, form, blockCacheBytesMax }: Setup,
    fileSystem: FileSystem,
    directory: string,
  ): Promise<Comparison> {
    const clock = new ManualClock(startTime)
    const options = Object.fromEntries(families.map((name) => [name, familyOptions[name]]))
    const model = new ReferenceModel(clock)
    const table = model.createTable('table', options)
    const merges = new MergeFollower(model, table)
    const coprocessors = [{ name: 'merges', observer: merges.observer }]
    const test = await TestDatabase.open({
      fileSystem,
      directory,
      clock,
      options: { blockCacheBytesMax, coprocessors, valueFileBytesMax: 100 },
    })
    await test.database.createTable('table', { families: options })
    return new Comparison(test, model, table, merges, form)
  }

  async close(): Promise<void> {
    await this.test.close()
  }

  /** Carries out one operation on both sides and compares what they say. */
  async step(operation: Operation): Promise<void> {
    const found = await outcome(() => this.onEngine(operation))
    const expected = await outcome(async () => this.onModel(operation))
    if (found !== expected) throw difference(operation, expected, found)
  }

  async compareFullScans(): Promise<void> {
    for (const scan of fullScans) await this.step({ kind: 'scan', scan, view: undefined })
    for (const view of this.snapshots.keys()) {
      await this.step({ kind: 'scan', scan: { versions: 'all', raw: true }, view })
      await this.step({ kind: 'scan', scan: { timeRange: [0, 1_000_001] }, view })
    }
  }

  private async onEngine(operation: Operation): Promise<string> {
    const calls = this.calls
    switch (operation.kind) {
      case 'put':
        await calls.put(operation.put)
        return 'done'
      case 'delete':
        await calls.delete(operation.delete)
        return 'done'
      case 'increment':
        return showOne(await calls.increment(operation.increment))
      case 'append':
        return showOne(await calls.append(operation.append))
      case 'mutateRow':
        return showOne(await calls.mutateRow(operation.mutateRow))
      case 'mutateRows': {
        const table = this.test.database.table('table')
        const { mutateRows } = operation
        const applied =
          this.form === 'sync'
            ? table.mutateRowsSync(mutateRows)
            : await table.mutateRows(mutateRows)
        return `${applied}`
      }
      case 'check': {
        const { success, result } = await calls.checkAndMutate(operation.check, operation.action)
        return `${success} ${result === undefined ? 'no result' : showOne(result)}`
      }
      case 'get': {
        const snapshot = this.snapshot(operation.view)?.engine
        const filter = operation.tree && filterOf(operation.tree)
        return showOne(await calls.get({ ...operation.get, snapshot, filter }))
      }
      case 'scan': {
        const snapshot = this.snapshot(operation.view)?.engine
        const filter = operation.tree && filterOf(operation.tree)
        const scan = { ...operation.scan, snapshot, filter }
        const found = (await calls.scan(scan)).map(plainResult)
        return show(isCutByBytes(operation.scan) ? joined(found) : found)
      }
      case 'openSnapshot':
        this.snapshots.push({
          engine: this.test.database.snapshot(),
          model: this.model.openSnapshot(),
        })
        return 'done'
      case 'closeSnapshot':
        this.snapshot(operation.view)?.engine.close()
        return 'done'
      case 'flush':
        await this.test.flush()
        return 'done'
      case 'compact':
        await this.test.compact(true)
        return 'done'
      case 'merge':
        await this.test.compact(false)
        return 'done'
      case 'reopen':
        await this.test.reopen()
        this.calls = callsOf(this.test.database.table('table'), this.form)
        return 'done'
      case 'clock':
        return 'done'
    }
  }

  private onModel(operation: Operation): string {
    const { model, table } = this
    switch (operation.kind) {
      case 'put':
        model.put(table, operation.put)
        return 'done'
      case 'delete':
        model.delete(table, operation.delete)
        return 'done'
      case 'increment':
        return showCells(model.increment(table, operation.increment))
      case 'append':
        return showCells(model.append(table, operation.append))
      case 'mutateRow':
        return showCells(model.mutateRow(table, operation.mutateRow))
      case 'mutateRows':
        model.mutateRows(table, operation.mutateRows)
        return 'true'
      case 'check': {
        const { success, result } = model.checkAndMutate(table, operation.check, operation.action)
        return `${success} ${result === undefined ? 'no result' : showCells(result)}`
      }
      case 'get':
        return showResult(
          table.get(operation.get, this.viewOf(operation.view), keepsOf(operation.tree)),
        )
      case 'scan':
        return this.scanModel(operation.scan, this.viewOf(operation.view), keepsOf(operation.tree))
      case 'openSnapshot':
        // The engine's side has opened both.
        return 'done'
      case 'closeSnapshot': {
        const snapshot = this.snapshot(operation.view)
        if (snapshot !== undefined) {
          model.closeSnapshot(snapshot.model)
          this.snapshots.splice(this.snapshots.indexOf(snapshot), 1)
        }
        return 'done'
      }
      case 'flush':
        model.flush(table)
        return 'done'
      case 'compact':
      case 'merge':
        model.flush(table)
        this.merges.follow()
        return 'done'
      case 'reopen':
        model.reopen()
        this.snapshots.length = 0
        return 'done'
      case 'clock':
        this.clock.milliseconds += operation.milliseconds
        return 'done'
    }
  }

  private scanModel(scan: Scan, view: View, keeps: ReturnType<typeof keepsOf>): string {
    const found = this.table.scan(scan, view, keeps)
    return show(isCutByBytes(scan) ? joined(found) : found)
  }

  private viewOf(view: number | undefined): View {
    return this.model.viewOf(this.table, this.snapshot(view)?.model)
  }

  private snapshot(view: number | undefined) {
    if (view === undefined || this.snapshots.length === 0) return undefined
    return this.snapshots[view % this.snapshots.length]
  }
}

function keepsOf(tree: FilterTree | undefined): ((cell: PlainCell) => boolean) | undefined {
  return tree && ((cell) => keepsCell(tree, cell))
}

/** Where a row is cut depends on bytes that the model does not know. */
function isCutByBytes({ maxResultBytes, allowPartialResults = false }: Scan): boolean {
  return maxResultBytes !== undefined && allowPartialResults
}

/** The rows that pieces are of, whole. Throws unless all but the last piece of a row say so. */
function joined(pieces: readonly PlainResult[]): PlainResult[] {
  const rows: PlainResult[] = []
  let goesOn = false
  for (const { cells, partial } of pieces) {
    const last = rows.at(-1)
    if (last === undefined || last.cells[0].row !== cells[0].row) {
      if (goesOn) throw new Error('a row ends with a piece that says that more follow')
      rows.push({ cells, partial: false })
    } else {
      if (!goesOn) throw new Error('a piece follows one that says that it is the last')
      rows[rows.length - 1] = { cells: [...last.cells, ...cells], partial: false }
    }
    goesOn = partial
  }
  if (goesOn) throw new Error('the last piece says that more follow')
  return rows
}

function showCells(cells: readonly PlainCell[]): string {
  return showResult({ cells, partial: false })
}

function showOne(result: Result): string {
  return showResult(plainResult(result))
}

function show(results: readonly PlainResult[]): string {
  return results.map((result) => `\n    ${showResult(result)}`).join('')
}

/** What an operation says, or the code that it fails with. */
async function outcome(run: () => Promise<string>): Promise<string> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof CellarError) return error.code
    throw error
  }
}

function difference(operation: Operation, expected: string, found: string): Error {
  return new Error(
    `after ${fc.stringify(operation)}\n  the model says ${expected}\n  the engine says ${found}`,
  )
}

/**
 * Fails at the first difference between engine and model. Besides what the operations return, full
 * scans are compared after each `operationsBetweenScans` operations and at the end.
 */
export async function compare(
  chosen: Setup,
  operations: readonly Operation[],
  fileSystem: FileSystem,
  directory: string,
  operationsBetweenScans = 5,
): Promise<void> {
  const comparison = await Comparison.open(chosen, fileSystem, directory)
  try {
    for (const [index, operation] of operations.entries()) {
      await comparison.step(operation)
      if (index % operationsBetweenScans === 0) await comparison.compareFullScans()
    }
    await comparison.compareFullScans()
  } finally {
    await comparison.close()
  }
}
