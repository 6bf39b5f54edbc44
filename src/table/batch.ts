/** Mixed batches: each operation on its own, in order, with an outcome per position (spec 2.7). */
import { CellarError, ErrorCode, invalidArgument } from '../base/errors.js'
import type { Engine } from '../engine/engine.js'
import type { ReadMode } from '../store/store-reader.js'
import type { Durability } from '../wal/log.js'
import { isBlockMissing } from './block-loading.js'
import { Result } from './result.js'
import { blocking, checkObject, nonBlocking, type TableCore } from './table-core.js'
import type { BatchOperation, BatchResult, SyncTable, Table } from './types.js'

const nothing = new Result({ page: Buffer.alloc(0), cells: [], partial: false }, [])

/**
 * Runs a batch of a table without observers: what it needs is usually in memory, and then there is
 * one commit for all and no promise for an operation. The others run as if they were called alone.
 * Rejects only if an argument is not a batch at all.
 */
export async function runBatch(
  table: Table,
  engine: Engine,
  core: TableCore,
  operations: readonly BatchOperation[],
): Promise<BatchResult[]> {
  const outcomes = new Outcomes(operations.length)
  const alone: Promise<void>[] = []
  for (let i = 0; i < operations.length; i++) {
    if (!engine.turn.spend()) await engine.turn.waitForTurn()
    try {
      if (!engine.isHeld && apply(core, operations[i], i, outcomes, nonBlocking)) continue
    } catch (error) {
      if (!isBlockMissing(error)) {
        outcomes.results[i] = failed(error)
        continue
      }
    }
    alone.push(runAlone(table, operations[i]).then((result) => void (outcomes.results[i] = result)))
  }
  await outcomes.commit(engine)
  for (const each of alone) await each
  return outcomes.results
}

/** The same for a table that is observed. */
export function runBatchAlone(
  table: Table,
  operations: readonly BatchOperation[],
): Promise<BatchResult[]> {
  // Starting all at once lets them share one group commit; the engine applies them in this order.
  return Promise.all(operations.map((operation) => runAlone(table, operation)))
}

async function runAlone(table: Table, operation: BatchOperation): Promise<BatchResult> {
  try {
    return await runOne(table, operation)
  } catch (error) {
    return failed(error)
  }
}

/** What became of the operations of a batch that were applied at once. */
class Outcomes {
  readonly results: BatchResult[]
  /** Positions of mutations by the durability that they wait for. */
  private readonly applied = new Map<Durability, number[]>()

  constructor(count: number) {
    this.results = new Array<BatchResult>(count)
  }

  mutated(position: number, durability: Durability, result: BatchResult): void {
    this.results[position] = result
    const positions = this.applied.get(durability)
    if (positions === undefined) this.applied.set(durability, [position])
    else positions.push(position)
  }

  /** A mutation whose commit failed is in doubt, so its outcome is the failure. */
  async commit(engine: Engine): Promise<void> {
    for (const [durability, positions] of this.applied) {
      try {
        await engine.commit(durability)
      } catch (error) {
        this.fail(positions, error)
      }
    }
  }

  /** As {@link commit}, before returning. */
  commitSync(engine: Engine): void {
    for (const [durability, positions] of this.applied) {
      try {
        engine.commitSync(durability)
      } catch (error) {
        this.fail(positions, error)
      }
    }
  }

  private fail(positions: readonly number[], error: unknown): void {
    const failure = failed(error)
    for (const position of positions) this.results[position] = failure
  }
}

/** Applies an operation at once; false if it has to run alone. */
function apply(
  core: TableCore,
  operation: BatchOperation,
  position: number,
  outcomes: Outcomes,
  mode: ReadMode,
): boolean {
  checkOperation(operation)
  if ('checkAndMutate' in operation) {
    const { check, action } = checkObject(operation.checkAndMutate, 'checkAndMutate')
    const { value, durability } = core.checkAndMutate(check, action, mode)
    const { success, result = nothing } = value
    outcomes.mutated(position, durability, { ok: true, success, result })
  } else if ('put' in operation) {
    outcomes.mutated(position, core.put(operation.put), done)
  } else if ('delete' in operation) {
    outcomes.mutated(position, core.delete(operation.delete, mode), done)
  } else if ('get' in operation) {
    outcomes.results[position] = { ok: true, result: core.get(operation.get, mode) }
  } else {
    return false
  }
  return true
}

const done: BatchResult = { ok: true, result: nothing }

function failed(error: unknown): BatchResult {
  return { ok: false, error: asCellarError(error) }
}

/** As {@link runBatch}, synchronously: one commit for what needs no result of its own. */
export function runBatchSync(
  table: SyncTable,
  engine: Engine,
  core: TableCore,
  operations: readonly BatchOperation[],
): BatchResult[] {
  const outcomes = new Outcomes(operations.length)
  for (let i = 0; i < operations.length; i++) {
    try {
      engine.admitSync()
      if (!apply(core, operations[i], i, outcomes, blocking)) {
        outcomes.results[i] = runOneSync(table, operations[i])
      }
    } catch (error) {
      outcomes.results[i] = failed(error)
    }
  }
  outcomes.commitSync(engine)
  return outcomes.results
}

/** The same for a table that is observed. */
export function runBatchAloneSync(
  table: SyncTable,
  operations: readonly BatchOperation[],
): BatchResult[] {
  return operations.map((operation): BatchResult => {
    try {
      return runOneSync(table, operation)
    } catch (error) {
      return failed(error)
    }
  })
}

async function runOne(table: Table, operation: BatchOperation): Promise<BatchResult> {
  checkOperation(operation)
  if ('get' in operation) return { ok: true, result: await table.get(operation.get) }
  if ('increment' in operation) {
    return { ok: true, result: await table.increment(operation.increment) }
  }
  if ('append' in operation) return { ok: true, result: await table.append(operation.append) }
  if ('mutateRow' in operation) {
    return { ok: true, result: await table.mutateRow(operation.mutateRow) }
  }
  if ('checkAndMutate' in operation) {
    const { check, action } = checkObject(operation.checkAndMutate, 'checkAndMutate')
    const { success, result } = await table.checkAndMutate(check, action)
    return { ok: true, success, result: result ?? nothing }
  }
  if ('put' in operation) await table.put(operation.put)
  else await table.delete(operation.delete)
  return { ok: true, result: nothing }
}

function runOneSync(table: SyncTable, operation: BatchOperation): BatchResult {
  checkOperation(operation)
  if ('get' in operation) return { ok: true, result: table.getSync(operation.get) }
  if ('increment' in operation) {
    return { ok: true, result: table.incrementSync(operation.increment) }
  }
  if ('append' in operation) return { ok: true, result: table.appendSync(operation.append) }
  if ('mutateRow' in operation) {
    return { ok: true, result: table.mutateRowSync(operation.mutateRow) }
  }
  if ('checkAndMutate' in operation) {
    const { check, action } = checkObject(operation.checkAndMutate, 'checkAndMutate')
    const { success, result } = table.checkAndMutateSync(check, action)
    return { ok: true, success, result: result ?? nothing }
  }
  if ('put' in operation) table.putSync(operation.put)
  else table.deleteSync(operation.delete)
  return { ok: true, result: nothing }
}

const kinds: ReadonlySet<string> = new Set([
  'get',
  'put',
  'delete',
  'increment',
  'append',
  'mutateRow',
  'checkAndMutate',
])

function checkOperation(operation: BatchOperation): void {
  let names = 0
  let known = false
  if (typeof operation === 'object' && operation !== null) {
    for (const name in operation) {
      names++
      known = kinds.has(name)
    }
  }
  if (names === 1 && known) return
  throw invalidArgument(`an operation of a batch is one of ${[...kinds].join(', ')}`)
}

/** Anything but a CellarError is a bug here; it is passed on with its cause. */
function asCellarError(error: unknown): CellarError {
  if (error instanceof CellarError) return error
  const message = error instanceof Error ? error.message : String(error)
  return new CellarError(ErrorCode.jobFailed, message, { cause: error })
}
