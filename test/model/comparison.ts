/** Runs operations on the engine and on the reference model, and compares what they say. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { ManualClock } from '../../src/base/clock.js'
import { CellarError } from '../../src/base/errors.js'
import type { FileSystem } from '../../src/storage/fs/types.js'
import type { FamilyOptions, Result } from '../../src/api/index.js'
import type { Durability } from '../../src/api/durability.js'
import type { OpenOptions } from '../../src/entries/index.js'
import type { Scan, Snapshot } from '../../src/api/index.js'
import {
  plainResult,
  showResult,
  type PlainCell,
  type PlainResult,
} from '../helpers/cells/plain-cells.js'
import { readMutatedRow } from '../../src/checks/operations.js'
import { callsOf, type CallForm, type TableCalls } from '../helpers/table-calls.js'
import { TestDatabase } from '../helpers/test-database.js'
import { filterOf, keepsCell, type FilterTree } from './filter-trees.js'
import {
  familyOptions,
  startTime,
  tableNames,
  type Operation,
  type TableName,
} from './operations.js'
import { MergeFollower } from './merge-follower.js'
import type { ReferenceTable, View } from './reference/reference-table.js'
import { ReferenceModel, type ModelSnapshot } from './reference/reference-model.js'

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
  /** Options of the engine that must not change what it says. Default none. */
  readonly options?: OpenOptions
  /** Options of all families, in place of their own, that must not either. Default none. */
  readonly family?: FamilyOptions
  /** Of the tables. Default that of the engine. */
  readonly durability?: Durability
}

/** The engine and the model side by side. */
class Comparison {
  private readonly clock: ManualClock
  private readonly model: ReferenceModel
  private readonly table: ReferenceTable
  /** Only atomic batches write to it. */
  private readonly other: ReferenceTable
  private readonly test: TestDatabase
  private readonly form: CallForm
  private readonly snapshots: { engine: Snapshot; model: ModelSnapshot }[] = []
  private readonly merges: readonly MergeFollower[]
  private calls: TableCalls
  /** Everything that the engine has said. */
  readonly said = createHash('sha256')

  private constructor(
    test: TestDatabase,
    model: ReferenceModel,
    [table, other]: readonly ReferenceTable[],
    merges: readonly MergeFollower[],
    form: CallForm,
  ) {
    this.merges = merges
    this.clock = test.clock
    this.test = test
    this.model = model
    this.table = table
    this.other = other
    this.form = form
    this.calls = callsOf(test.database.table('table'), form)
  }

  static async open(
    { families, form, blockCacheBytesMax, options: chosen, family, durability }: Setup,
    fileSystem: FileSystem,
    directory: string,
  ): Promise<Comparison> {
    const clock = new ManualClock(startTime)
    const options = Object.fromEntries(families.map((name) => [name, familyOptions[name]]))
    const stored = Object.fromEntries(
      families.map((name) => [name, { ...familyOptions[name], ...family }]),
    )
    const model = new ReferenceModel(clock)
    model.replacesVersions = true
    const tables = tableNames.map((name) => model.createTable(name, options))
    const merges = tables.map((table) => new MergeFollower(model, table))
    const coprocessors = merges.map(({ observer, table }) => {
      return { name: `merges of ${table.name}`, tables: [table.name], observer }
    })
    const test = await TestDatabase.open({
      fileSystem,
      directory,
      clock,
      options: {
        blockCacheBytesMax,
        coprocessors,
        valueFileBytesMax: 100,
        // The model flushes when an operation says so; no memtable gets so large.
        flushBytes: 16 * 1024 * 1024,
        memtableBytesMax: 64 * 1024 * 1024,
        ...chosen,
      },
    })
    for (const name of tableNames) {
      await test.database.createTable(name, { families: stored, durability })
    }
    return new Comparison(test, model, tables, merges, form)
  }

  async close(): Promise<void> {
    await this.test.close()
  }

  /** Carries out one operation on both sides and compares what they say. */
  async step(operation: Operation): Promise<void> {
    const found = await outcome(() => this.onEngine(operation))
    const expected = await outcome(async () => this.onModel(operation))
    if (found !== expected) throw difference(operation, expected, found)
    this.said.update(found)
  }

  async compareFullScans(): Promise<void> {
    for (const scan of fullScans) await this.step({ kind: 'scan', scan, view: undefined })
    await this.compareOther(undefined)
    for (const view of this.snapshots.keys()) {
      await this.compareOther(view)
      await this.step({ kind: 'scan', scan: { versions: 'all', raw: true }, view })
      await this.step({ kind: 'scan', scan: { timeRange: [0, 1_000_001] }, view })
    }
  }

  /** Compares full scans of the table that only atomic batches write to. */
  private async compareOther(view: number | undefined): Promise<void> {
    const snapshot = this.snapshot(view)
    const calls = callsOf(this.test.database.table('other'), this.form)
    for (const scan of fullScans) {
      const found = (await calls.scan({ ...scan, snapshot: snapshot?.engine })).map(plainResult)
      const seen = this.model.viewOf(this.other, snapshot?.model)
      const expected = show(this.other.scan(scan, seen))
      if (show(found) !== expected) {
        throw difference({ kind: 'scan', scan, view }, expected, show(found))
      }
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
      case 'atomic': {
        const { checks, mutations } = operation
        const { failedCheck, sequence } = await this.test.database.atomic({ checks, mutations })
        return `${failedCheck} ${sequence !== undefined}`
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
      case 'atomic': {
        const onTable = <T extends { readonly table: TableName }>(each: T) => {
          return { ...each, table: each.table === 'table' ? table : this.other }
        }
        const { checks, mutations } = operation
        const parts = mutations.map((each) =>
          onTable({ ...readMutatedRow(each), table: each.table }),
        )
        const outcome = model.atomic(checks.map(onTable), parts)
        return `${outcome.failedCheck} ${outcome.sequence !== undefined}`
      }
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
        this.flushModel()
        return 'done'
      case 'compact':
      case 'merge':
        this.flushModel()
        for (const each of this.merges) each.follow()
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

  private flushModel(): void {
    this.model.flush(this.table)
    this.model.flush(this.other)
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
 * scans are compared after each `operationsBetweenScans` operations and at the end. Resolves with a
 * digest of all that the engine has said.
 */
export async function compare(
  chosen: Setup,
  operations: readonly Operation[],
  fileSystem: FileSystem,
  directory: string,
  operationsBetweenScans = 5,
): Promise<string> {
  const comparison = await Comparison.open(chosen, fileSystem, directory)
  try {
    for (const [index, operation] of operations.entries()) {
      await comparison.step(operation)
      if (index % operationsBetweenScans === 0) await comparison.compareFullScans()
    }
    await comparison.compareFullScans()
    return comparison.said.digest('hex')
  } finally {
    await comparison.close()
  }
}
