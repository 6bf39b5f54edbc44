/** Helpers of the pruning tests: hooks run over cells made by hand, and a naive model. */
import type { CellView } from '../../../../src/storage/cell/cell-view.js'
import { CellDecision, type StoreJob } from '../../../../src/storage/coprocessor/cell-hook.js'
import type { PruneContext } from '../../../../src/systems/messaging/prune-job/prune-context.js'
import {
  createCellHook,
  type PrunedRows,
  type PruneReport,
} from '../../../../src/systems/messaging/prune-job/prune-hook.js'
import type { StoreJobOutcome } from '../../../../src/storage/coprocessor/job-observer.js'
import { messagingPruning } from '../../../../src/systems/messaging/prune-observer.js'
import {
  decodeMessageRow,
  decodePayloadRow,
  decodePointer,
  encodePointer,
} from '../../../../src/systems/messaging/store/rows.js'
import type { TopicRecord } from '../../../../src/systems/messaging/topics/topic.js'
import { makeCell } from '../../storage/filter/made-cells.js'

/** A cell of a messaging table. */
export interface MadeCell {
  readonly row: Buffer
  readonly qualifier: string
  readonly value: Buffer
}

/** 'keep', 'drop', or the new value in hexadecimal. */
export type Outcome = string

export interface HookRun {
  readonly outcomes: readonly Outcome[]
  readonly report: PruneReport
}

export interface HookSettings {
  readonly rows?: PrunedRows
  readonly kind?: StoreJob['kind']
  readonly now: number
  /** Undefined: the job has no context at all. */
  readonly context: PruneContext | undefined
}

/** The context of topics `namespace:topic` and invalid pointers. */
export function contextOf(
  topics: Readonly<Record<string, { generation: number; ttl?: number }>>,
  invalid?: readonly bigint[],
): PruneContext {
  const records = Object.entries(topics).map(([name, { generation, ttl }]): TopicRecord => {
    const [namespace, topic] = name.split(':')
    return { id: { namespace, topic }, generation, ttlMilliseconds: ttl ?? Infinity }
  })
  const snapshot = invalid && { readPointer: 1_000_000n, invalid, inProgress: [] }
  const { observer } = messagingPruning({
    rows: 'message',
    tables: ['messages'],
    topics: () => records,
    transactions: () => snapshot,
  })
  return observer!.jobContext!(jobOf('flush', 0)) as PruneContext
}

/** A job of the table `messages`. */
export function jobOf(kind: StoreJob['kind'], now: number): StoreJob {
  const wholeStore = kind === 'major'
  return { kind, wholeStore, table: 'messages', family: 'd', now, readPointOldest: 0 }
}

/** Shows cells to a new hook, as a job does. */
export function runHook(cells: readonly MadeCell[], settings: HookSettings): HookRun {
  const hook = createCellHook({
    job: jobOf(settings.kind ?? 'flush', settings.now),
    options: { rows: settings.rows ?? 'message' },
    // As it arrives in a worker thread.
    context: structuredClone(settings.context),
  })
  const outcomes = cells.map((cell, index): Outcome => {
    const view = viewOf(cell)
    if (index === 0 || !cell.row.equals(cells[index - 1].row)) hook.startRow!(view)
    const before = Buffer.from(view.buffer)
    let value: string | undefined = undefined
    const decision = hook.decide(view, {
      setValue: (bytes) => (value = Buffer.from(bytes).toString('hex')),
    })
    if (!before.equals(view.buffer)) throw new Error('the hook wrote into the memory of a cell')
    if ((decision === CellDecision.replace) !== (value !== undefined)) {
      throw new Error('a replacement has a value, and nothing else has')
    }
    if (decision === CellDecision.replace) return value!
    return decision === CellDecision.drop ? 'drop' : 'keep'
  })
  return { outcomes, report: structuredClone(hook.finish!()) as PruneReport }
}

function viewOf(cell: MadeCell): CellView {
  return makeCell(cell.row.toString('latin1'), 'd', cell.qualifier, 1, cell.value)
}

/** The outcome of a job in which nothing but the given things happened. */
export function outcomeOf(
  reports: readonly unknown[],
  changes: Partial<StoreJobOutcome>,
): StoreJobOutcome {
  return {
    files: 1,
    entriesRead: 0,
    entriesWritten: 0,
    entriesDropped: 0,
    hookDropped: 0,
    hookReplaced: 0,
    hookNotAsked: 0,
    storeIsEmpty: false,
    ...changes,
    reports,
  }
}

/** What the matrix says of one cell, in the plainest words. */
export function expectedOutcome(
  cell: MadeCell,
  table: 'message' | 'payload',
  major: boolean,
  now: number,
  topics: Readonly<Record<string, { generation: number; ttl?: number }>>,
  invalid: readonly bigint[] | undefined,
): string {
  const message = table === 'message' ? decodeMessageRow(cell.row) : undefined
  const stored = table === 'payload' ? decodePayloadRow(cell.row) : undefined
  const row = message ?? stored
  if (row === undefined) return 'keep'
  const name = `${row.id.namespace}:${row.id.topic}`
  if (!Object.hasOwn(topics, name)) return 'keep'
  const { generation, ttl = Infinity } = topics[name]
  const pointer = table === 'message' && cell.qualifier === 't' ? decodePointer(cell.value) : 0n
  const current = Math.abs(generation)
  if (row.generation < current) return 'drop'
  if (row.generation === current && generation < 0) return 'drop'
  const time = message?.publishTimestamp ?? stored!.writeTimestamp
  if (row.generation === current && now - time > ttl) {
    if (major || pointer === undefined || pointer >= 0n) return 'drop'
  }
  if (pointer === undefined || pointer <= 0n || invalid?.includes(pointer) !== true) return 'keep'
  return encodePointer(-pointer).toString('hex')
}
