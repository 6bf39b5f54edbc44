/**
 * Runs histories on a file system whose n-th call fails, and checks that every failure is told
 * plainly, that reads go on, and that nothing acknowledged is lost.
 */
import { FaultyFileSystem, type Fault } from '../../doubles/faulty-fs.js'
import {
  CellarError,
  ErrorCode,
  type Database,
  type DatabaseOptions,
} from '../../../src/entries/index.js'
import { Workload, type Operation } from '../history.js'
import { observe, unloggedTable } from '../model.js'
import { newFileSystem } from '../power-cut/power-cut-runner.js'
import { placeInHistory, recoverAndWrite, RecoveryError, type Expectation } from '../recovery.js'

/** A history, of which the second part meets the fault. */
export interface FaultScenario {
  readonly name: string
  readonly options?: DatabaseOptions
  /** Run and closed before the fault is armed. */
  readonly before: readonly Operation[]
  /** Whether opening meets the fault too. Default true. */
  readonly openFails?: boolean
  readonly operations: readonly Operation[]
  /** Whether rows are read one by one and by scans while the fault is armed. Default false. */
  readonly reads?: boolean
}

/** Without the number of the call. */
export type FaultKind = Omit<Fault, 'failAt'> & { readonly name: string }

/** What one run showed. */
export interface FaultOutcome {
  /** Calls that failed; 0: the scenario has fewer calls than that. */
  readonly failures: number
  /** Calls that the fault is for. */
  readonly calls: number
  /** What broke a promise. */
  readonly complaints: readonly string[]
}

const hangMilliseconds = 10_000

const directory = '/db'

/** Runs a scenario with the fault at one call. */
export async function runWithFault(
  scenario: FaultScenario,
  kind: FaultKind,
  failAt: number,
): Promise<FaultOutcome> {
  const run = new FaultRun(scenario, { ...kind, failAt })
  try {
    await run.run()
  } catch (error) {
    run.complaints.push(describe(error))
  }
  const { failures, callCount } = run.fileSystem
  return { failures, calls: callCount, complaints: run.complaints }
}

class FaultRun {
  readonly complaints: string[] = []
  readonly fileSystem: FaultyFileSystem
  private readonly inner = newFileSystem()
  private readonly scenario: FaultScenario
  private readonly fault: Fault
  private readonly workload: Workload

  constructor(scenario: FaultScenario, fault: Fault) {
    this.scenario = scenario
    this.fault = fault
    this.fileSystem = new FaultyFileSystem(this.inner)
    this.workload = new Workload(this.fileSystem, directory, scenario.options ?? {})
  }

  async run(): Promise<void> {
    const { workload, scenario, fileSystem } = this
    await workload.open()
    await workload.run(scenario.before)
    await workload.database!.close()
    workload.database = undefined
    if (scenario.openFails === false) await workload.open()
    fileSystem.arm(this.fault)
    const database = await this.openArmed()
    if (database !== undefined) {
      for (const operation of scenario.operations) await this.perform(operation)
      if (scenario.reads === true) await this.readAll(database)
      await this.afterwards()
    }
    const { failures } = fileSystem
    fileSystem.disarm()
    if (failures > 0) await this.reopen()
  }

  private async openArmed(): Promise<Database | undefined> {
    if (this.workload.database !== undefined) return this.workload.database
    try {
      return await bounded('open', this.workload.open())
    } catch (error) {
      this.judgeError('open', error, false)
      return undefined
    }
  }

  private async perform(operation: Operation): Promise<void> {
    const { workload } = this
    const database = workload.database!
    const poisoned = database.failure !== undefined
    // The operation that was to create the table has failed.
    if ('durability' in operation && !database.hasTable(operation.table)) return
    const error = await bounded(operation.kind, workload.attempt(operation))
    const harmless = ['takeSnapshot', 'closeSnapshot', 'close', 'reopen'].includes(operation.kind)
    if (error !== undefined) this.judgeError(operation.kind, error, poisoned)
    else if (poisoned && !harmless) {
      this.complaints.push(`${operation.kind} succeeded although the database is poisoned`)
    }
    if (operation.kind === 'reopen' && error !== undefined) throw new StopScenario()
  }

  /** The error must be ours and say what happened. */
  private judgeError(what: string, error: unknown, poisoned: boolean): void {
    const expected = this.fault.errno === 'ENOSPC' ? ErrorCode.noSpace : ErrorCode.io
    const allowed: string[] = poisoned ? [ErrorCode.poisoned] : [expected, ErrorCode.poisoned]
    if (error instanceof CellarError && allowed.includes(error.code)) return
    const wanted = allowed.join(' or ')
    this.complaints.push(`${what} failed with something else than ${wanted}: ${describe(error)}`)
  }

  /** Every row by every kind of read: the right answer or an error, never less than there is. */
  private async readAll(database: Database): Promise<void> {
    for (const [name, families] of this.workload.model.tables) {
      const table = database.table(name)
      const rows = new Set<string>()
      for (const cells of families.values()) {
        for (const key of cells.keys()) rows.add(key.slice(0, key.indexOf(':')))
      }
      for (const row of rows) {
        await this.read(`get of ${row}`, async () => !(await table.get({ row })).isEmpty)
        await this.read(`getSync of ${row}`, async () => !table.getSync({ row }).isEmpty)
      }
      await this.read(`scan of ${name}`, async () => {
        let count = 0
        for await (const result of table.scan()) count += result.isEmpty ? 0 : 1
        return count === rows.size
      })
      await this.read(`scanSync of ${name}`, async () => [...table.scanSync()].length === rows.size)
    }
  }

  private async read(what: string, isRight: () => Promise<boolean>): Promise<void> {
    try {
      const right = await bounded(what, isRight())
      if (!right) this.complaints.push(`${what} gave less than there is instead of an error`)
    } catch (error) {
      this.judgeError(what, error, false)
    }
  }

  /** Reads go on, writes are refused if the database is poisoned, and it can be closed. */
  private async afterwards(): Promise<void> {
    const { workload, fileSystem } = this
    const database = workload.database!
    const last = this.scenario.operations.at(-1)
    if (fileSystem.fault?.persistent === true && last?.kind !== 'close') fileSystem.disarm()
    if (last?.kind === 'close') return
    const fired = fileSystem.failures > 0
    if (fired) placeInHistory(workload, observe(database), this.expectation(true))
    const poisoned = database.failure !== undefined
    const name = [...workload.model.tables.keys()].find((table) => database.hasTable(table))
    if (fired && name !== undefined) {
      const operation = { kind: 'put', table: name, row: 'after', durability: 'FSYNC_WAL' } as const
      await this.perform(operation)
      if (!poisoned && database.failure === undefined) {
        await this.perform({ kind: 'flush' })
        const error = await workload.attempt({ kind: 'flush' })
        if (error !== undefined) this.complaints.push(`a later flush fails too: ${describe(error)}`)
      }
    }
    fileSystem.disarm()
    try {
      await bounded('close', database.close())
    } catch (error) {
      this.judgeError('close', error, false)
    }
  }

  private expectation(live: boolean): Expectation {
    const lost = this.fault.syncFailure === 'revert'
    const interruption = lost && !live ? 'power cut' : 'process end'
    return { ...this.workload.progress, interruption }
  }

  private async reopen(): Promise<void> {
    const { workload } = this
    const cut = this.inner.crash('dropUnsynced', () => 0)
    await recoverAndWrite(workload, this.inner, this.expectation(false))
    await recoverAndWrite(workload, cut, { ...this.expectation(false), interruption: 'power cut' })
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** Ends a scenario early; what it did so far is judged. */
class StopScenario extends RecoveryError {}

/** Rejects if the promise does not settle in time. */
async function bounded<T>(what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const hang = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new RecoveryError(`${what} hangs`)), hangMilliseconds)
  })
  try {
    return await Promise.race([promise, hang])
  } finally {
    clearTimeout(timer)
  }
}

const create: readonly Operation[] = [
  { kind: 'create', table: 'a', families: ['f', 'g'] },
  { kind: 'create', table: 'b', families: ['f', 'g'] },
]

function put(
  table: string,
  row: string,
  durability: 'ASYNC_WAL' | 'SYNC_WAL' | 'FSYNC_WAL',
  more: { readonly sync?: boolean; readonly bytes?: number } = {},
): Operation {
  return { kind: 'put', table, row, durability, ...more }
}

const somePuts: readonly Operation[] = [
  put('a', 'r1', 'SYNC_WAL'),
  put('b', 'r1', 'SYNC_WAL', { sync: true }),
  put('a', 'r2', 'FSYNC_WAL'),
]

/** Everything that may fail. */
export const faultScenarios: readonly FaultScenario[] = [
  { name: 'open a new database', before: [], operations: [...create, ...somePuts] },
  {
    name: 'open with tables and a log',
    before: [...create, ...somePuts, { kind: 'flush' }, put('b', 'r2', 'SYNC_WAL')],
    operations: [put('a', 'r3', 'SYNC_WAL')],
  },
  {
    name: 'puts of all durabilities',
    before: create,
    openFails: false,
    operations: [
      put('a', 'r1', 'ASYNC_WAL'),
      ...somePuts,
      { kind: 'increment', table: 'a', row: 'c', family: 'f', amount: 1, durability: 'FSYNC_WAL' },
      put('b', 'r2', 'FSYNC_WAL', { sync: true }),
      { kind: 'together', operations: [put('a', 'x', 'SYNC_WAL'), put('b', 'y', 'FSYNC_WAL')] },
      { kind: 'delete', table: 'a', row: 'r1', durability: 'SYNC_WAL' },
      put('a', 'r1', 'SYNC_WAL'),
    ],
  },
  {
    name: 'flushes',
    before: create,
    openFails: false,
    operations: [
      ...somePuts,
      { kind: 'flush' },
      put('a', 'r4', 'SYNC_WAL'),
      put('b', 'r4', 'SYNC_WAL'),
      { kind: 'flush' },
      put('a', 'r5', 'SYNC_WAL'),
    ],
  },
  {
    name: 'memtables and segments fill up',
    options: { logBytesMax: 64 * 1024 },
    before: create,
    openFails: false,
    operations: Array.from({ length: 20 }, (_, i) =>
      put(i % 3 === 0 ? 'a' : 'b', `r${i}`, i % 5 === 0 ? 'FSYNC_WAL' : 'SYNC_WAL', {
        bytes: 9000,
        sync: i % 2 === 0,
      }),
    ),
  },
  {
    name: 'memory fills up behind synchronous writers',
    before: create,
    openFails: false,
    operations: Array.from({ length: 20 }, (_, i) =>
      put(i % 3 === 0 ? 'a' : 'b', `r${i}`, 'SYNC_WAL', { bytes: 9000, sync: true }),
    ),
  },
  {
    name: 'changes of the catalog',
    before: [...create, ...somePuts, { kind: 'flush' }, put('a', 'r3', 'SYNC_WAL')],
    openFails: false,
    operations: [
      { kind: 'create', table: 'c', families: ['f'] },
      put('a', 'r4', 'SYNC_WAL'),
      { kind: 'addFamily', table: 'a', family: 'n' },
      { kind: 'dropFamily', table: 'b', family: 'g' },
      { kind: 'truncate', table: 'b' },
      { kind: 'drop', table: 'b' },
      put('a', 'r5', 'FSYNC_WAL'),
    ],
  },
  {
    name: 'close',
    before: create,
    openFails: false,
    operations: [...somePuts, put('b', 'r2', 'SYNC_WAL'), { kind: 'close' }],
  },
  {
    name: 'close with writes that are not in the log',
    before: [...create, { kind: 'create', table: unloggedTable, families: ['f'] }],
    openFails: false,
    operations: [put('b', 'r2', 'SYNC_WAL'), { kind: 'unlogged', row: 'u' }, { kind: 'close' }],
  },
  {
    name: 'reads of blocks that are not in memory',
    options: { blockCacheBytesMax: 0 },
    before: [
      ...create,
      ...somePuts,
      ...Array.from({ length: 8 }, (_, i) => put('b', `s${i}`, 'SYNC_WAL', { bytes: 5000 })),
      { kind: 'flush' },
    ],
    openFails: false,
    reads: true,
    operations: [],
  },
  {
    name: 'mutations that read blocks that are not in memory',
    options: { blockCacheBytesMax: 0 },
    before: [
      ...create,
      ...somePuts,
      { kind: 'increment', table: 'a', row: 'c', family: 'f', amount: 1, durability: 'FSYNC_WAL' },
      { kind: 'flush' },
    ],
    openFails: false,
    operations: [
      { kind: 'increment', table: 'a', row: 'c', family: 'f', amount: 2, durability: 'FSYNC_WAL' },
      { kind: 'checkAndPut', table: 'a', row: 'r1', durability: 'SYNC_WAL' },
      { kind: 'checkAndPut', table: 'b', row: 'r1', durability: 'SYNC_WAL', wrong: true },
    ],
  },
]

/** Every way to fail. */
export const faultKinds: readonly FaultKind[] = [
  { name: 'EIO once', errno: 'EIO' },
  { name: 'EIO from then on', errno: 'EIO', persistent: true },
  { name: 'ENOSPC once', errno: 'ENOSPC' },
  { name: 'ENOSPC from then on', errno: 'ENOSPC', persistent: true },
  { name: 'EMFILE once', errno: 'EMFILE', only: ({ kind }) => kind === 'open' },
  {
    name: 'ENOSPC in the middle of a write',
    errno: 'ENOSPC',
    partialWrite: true,
    persistent: true,
    only: ({ kind }) => kind === 'write',
  },
  {
    name: 'a failed sync that loses what it was for',
    errno: 'EIO',
    syncFailure: 'revert',
    only: ({ kind }) => kind === 'sync',
  },
  {
    name: 'a failed sync that loses it behind the back of readers',
    errno: 'EIO',
    syncFailure: 'clean',
    only: ({ kind }) => kind === 'sync',
  },
]
