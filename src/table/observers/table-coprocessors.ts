/** The coprocessors of one table in order, with their observers, hooks, endpoints and counters. */
import { invalidArgument } from '../../base/errors.js'
import type { StoreJob } from '../../storage/coprocessor/cell-hook.js'
import { badAnswer, coprocessorError } from '../../storage/coprocessor/coprocessor-error.js'
import {
  makeHookWatch,
  type HookPlan,
  type HookTask,
} from '../../storage/coprocessor/hook-chain.js'
import type {
  HookCounters,
  JobSummary,
  TableJobs,
} from '../../storage/coprocessor/job-coprocessors.js'
import type {
  CompactionSelection,
  JobRetention,
  StoreFileInfo,
  StoreJobOutcome,
} from '../../storage/coprocessor/job-observer.js'
import type { Endpoint } from '../../api/coprocessor.js'
import type { LoadedCoprocessor } from './coprocessor-options.js'
import { ObserverChain, type FindOperations } from './observer-chain.js'
import type { SyncTable, Table } from '../../api/index.js'

/** A coprocessor that belongs to a table. */
export interface Attached {
  readonly loaded: LoadedCoprocessor
  /** Rank among coprocessors of equal priority. */
  readonly order: number
  /** Whether the table's schema names it. */
  readonly declared: boolean
}

interface Entry extends Attached {
  dropped: number
  replaced: number
}

type Warn = (error: unknown) => void

export class TableCoprocessors implements TableJobs {
  readonly chain: ObserverChain
  private readonly table: string
  private readonly warn: Warn
  private entries: readonly Entry[] = []

  /** `warn` receives errors of methods that can fail nothing. */
  constructor(
    table: string,
    openHandle: () => Table & SyncTable,
    operationsOf: FindOperations,
    warn: Warn,
  ) {
    this.table = table
    this.warn = warn
    let handle: (Table & SyncTable) | undefined
    this.chain = new ObserverChain(() => (handle ??= openHandle()), operationsOf, warn)
  }

  get isEmpty(): boolean {
    return this.entries.length === 0
  }

  /** Throws `ERR_INVALID_ARGUMENT` if there is a coprocessor of that name. */
  checkName(name: string): void {
    if (!this.entries.some(({ loaded }) => loaded.name === name)) return
    throw invalidArgument(`table '${this.table}' has a coprocessor '${name}' already`)
  }

  /** Calls `preOpen` of new observers; an error is thrown. */
  preOpen(added: readonly Attached[]): void {
    this.chainOf(added).tellWithoutContext('preOpen', [])
  }

  /** Adds coprocessors. REQUIRES `preOpen`. */
  attach(added: readonly Attached[]): void {
    if (added.length === 0) return
    this.set([...this.entries, ...added.map((one) => ({ ...one, dropped: 0, replaced: 0 }))])
    this.chainOf(added).tellSafely('postOpen', [])
  }

  /** Removes coprocessors. */
  detach(which: (entry: Attached) => boolean): void {
    const removed = this.entries.filter(which)
    if (removed.length === 0) return
    const observers = this.chainOf(removed)
    observers.tellSafely('preClose', [])
    this.set(this.entries.filter((entry) => !removed.includes(entry)))
    observers.tellSafely('postClose')
  }

  /** The endpoint of that name of the first coprocessor that has one; undefined if none has. */
  endpoint(name: string): { readonly owner: string; readonly run: Endpoint } | undefined {
    for (const { loaded } of this.entries) {
      if (Object.hasOwn(loaded.endpoints, name)) {
        return { owner: loaded.name, run: loaded.endpoints[name] }
      }
    }
    return undefined
  }

  startJob(job: StoreJob, protectedSequence: number): HookPlan | undefined {
    if (this.entries.length === 0) return undefined
    this.chain.tellWithoutContext(job.kind === 'flush' ? 'preFlush' : 'preCompact', [job])
    const tasks = this.entries.flatMap(({ loaded }) => hookTask(loaded, job))
    return tasks.length === 0
      ? undefined
      : { job, tasks, protectedSequence, watch: makeHookWatch() }
  }

  changeRetention(job: StoreJob, retention: JobRetention): void {
    const method = job.kind === 'flush' ? 'preFlushScannerOpen' : 'preCompactScannerOpen'
    this.chain.tellWithoutContext(method, [job, retention], (name) => {
      if (isRetention(retention)) return false
      const ranges =
        'versions from 1, minVersions and timeToPurgeDeletesMilliseconds from 0, ' +
        'ttlSeconds above 0, keepDeletedCells'
      throw badAnswer(name, method, `leave ${ranges}, not ${JSON.stringify(retention)}`)
    })
  }

  finishJob(job: StoreJob, summary: JobSummary): void {
    if (this.entries.length === 0) return
    const { hooks, ...facts } = summary
    const method = job.kind === 'flush' ? 'postFlush' : 'postCompact'
    for (const entry of this.entries) {
      const { name, observer } = entry.loaded
      const own = hooks.find((hook) => hook.name === name)
      entry.dropped += own?.dropped ?? 0
      entry.replaced += own?.replaced ?? 0
      const outcome: StoreJobOutcome = {
        ...facts,
        hookDropped: own?.dropped ?? 0,
        hookReplaced: own?.replaced ?? 0,
        hookNotAsked: own?.notAsked ?? 0,
        reports: own?.reports ?? [],
      }
      try {
        observer?.[method]?.(job, outcome)
      } catch (error) {
        this.warn(coprocessorError(name, method, error))
      }
    }
  }

  maySelect(family: string, files: readonly StoreFileInfo[]): boolean {
    let bypassed = false
    const selection = this.selection(family, files, () => (bypassed = true))
    this.chain.tellWithoutContext('preCompactSelection', [selection], () => bypassed)
    return !bypassed
  }

  selected(
    family: string,
    files: readonly StoreFileInfo[],
    chosen: readonly StoreFileInfo[],
  ): void {
    if (!this.chain.has('postCompactSelection')) return
    const selection = this.selection(family, files, () => undefined)
    this.chain.tellWithoutContext('postCompactSelection', [selection, chosen])
  }

  private selection(
    family: string,
    files: readonly StoreFileInfo[],
    bypass: () => void,
  ): CompactionSelection {
    return { table: this.table, family, files, bypass }
  }

  counters(): Record<string, HookCounters> {
    const withHook = this.entries.filter(({ loaded }) => loaded.cellHook !== undefined)
    return Object.fromEntries(
      withHook.map(({ loaded, dropped, replaced }) => [loaded.name, { dropped, replaced }]),
    )
  }

  private chainOf(entries: readonly Attached[]): ObserverChain {
    return this.chain.of(inOrder(entries).map(({ loaded }) => loaded))
  }

  private set(entries: readonly Entry[]): void {
    this.entries = inOrder(entries)
    this.chain.set(this.entries.map(({ loaded }) => loaded))
  }
}

function inOrder<T extends Attached>(entries: readonly T[]): T[] {
  return [...entries].sort((a, b) => a.loaded.priority - b.loaded.priority || a.order - b.order)
}

function isRetention({
  versions,
  minVersions,
  ttlSeconds,
  keepDeletedCells,
  timeToPurgeDeletesMilliseconds,
}: JobRetention): boolean {
  return (
    Number.isSafeInteger(versions) &&
    versions >= 1 &&
    Number.isSafeInteger(minVersions) &&
    minVersions >= 0 &&
    ttlSeconds > 0 &&
    timeToPurgeDeletesMilliseconds >= 0 &&
    ['FALSE', 'TRUE', 'TTL'].includes(keepDeletedCells)
  )
}

/** The hook of a coprocessor for a job, with a copy of the context that its observer returns. */
function hookTask(coprocessor: LoadedCoprocessor, job: StoreJob): HookTask[] {
  const { name, cellHook, observer } = coprocessor
  if (cellHook === undefined) return []
  const { module, options } = cellHook
  try {
    return [{ name, module, options, context: structuredClone(observer?.jobContext?.(job)) }]
  } catch (error) {
    throw coprocessorError(name, 'jobContext', error)
  }
}
