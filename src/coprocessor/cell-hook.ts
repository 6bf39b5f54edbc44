/**
 * The half of a coprocessor that runs inside flush and compaction jobs and decides per cell (design
 * D9; HBase: the scanner that `preFlush` and `preCompact` wrap around the store's scanner).
 *
 * A cell hook is named by a module and plain options, because it is loaded where the job runs: in a
 * worker thread, or on the event loop with the inline executor. The module exports
 * `createCellHook(setup)`; each job (and each part of a job that is split by key range) makes one
 * hook, shows it cells in key order, and drops it. State belongs into the hook, not the module.
 *
 * What a hook sees: the cells that survive HBase's retention rules, except
 * - delete markers, unless it says `decidesMarkers`: a flush or minor compaction that loses a
 *   marker brings older cells in other files back;
 * - cells that a snapshot sees that is open when the job starts: they are kept without asking. If a
 *   snapshot is opened while the job runs, and is still open at its end, a job that dropped or
 *   replaced anything is run again with that snapshot protected.
 *
 * A minor compaction and a flush see some files of the store only: dropping the newest version of a
 * column there shows an older one of another file. Judge all versions alike, or act when
 * `job.kind` is 'major'.
 *
 * Failure behaviour: a hook that cannot be loaded, throws, answers nonsense or makes no progress
 * fails the job with `ERR_COPROCESSOR`; nothing was changed, and the job is tried again later.
 */
import type { CellView } from '../cell/cell-view.js'

/** What becomes of a cell. */
export const CellDecision = {
  /** The cell stays as it is. */
  keep: 0,
  /** The cell goes. */
  drop: 1,
  /** The cell stays with the value that was given to {@link CellReplacement.setValue}. */
  replace: 2,
} as const

/** One of the codes of {@link CellDecision}. */
export type CellDecision = (typeof CellDecision)[keyof typeof CellDecision]

/** The job that a hook or an observer is asked about. Plain data. */
export interface StoreJob {
  /**
   * 'major': all files of the store that hold the rows of the job take part, so that nothing older
   * of them lies elsewhere on disk.
   */
  readonly kind: 'flush' | 'minor' | 'major'
  /** A 'major' job of all files of the store, not only of those of some rows. */
  readonly wholeStore: boolean
  readonly table: string
  readonly family: string
  /** Milliseconds since the epoch; the same for the whole job. */
  readonly now: number
  /** Oldest read point of an open snapshot, or the newest sequence at the start of the job. */
  readonly readPointOldest: number
}

/** What a cell hook is made from. */
export interface CellHookSetup {
  readonly job: StoreJob
  /** The options that the coprocessor was registered with; an empty object if there are none. */
  readonly options: Readonly<Record<string, unknown>>
  /**
   * A structured clone of what the observer's `jobContext` returned when this job was made;
   * undefined if there is no observer, or it has no such method.
   */
  readonly context: unknown
}

/** Takes the new value of a cell that is replaced. Its key and its TTL stay. */
export interface CellReplacement {
  /** Copies `value`, which may lie in the cell's own buffer. Then answer `replace`. */
  setValue(value: Uint8Array): void
}

/** Decides about the cells of one job. */
export interface CellHook {
  /** Also be asked about delete markers. Default false: they are kept; see the file header. */
  readonly decidesMarkers?: boolean
  /** Called before the first cell of each row that the hook is asked about. */
  startRow?(cell: CellView): void
  /**
   * Called for each cell in key order. The view is borrowed: it is valid until the method returns,
   * and its memory must not be written to. Cells that a hook of higher priority dropped do not
   * come; those that it replaced come with their new value.
   */
  decide(cell: CellView, replacement: CellReplacement): CellDecision
  /** Called behind the last cell; what it returns (structured-cloneable) goes to the observer. */
  finish?(): unknown
}

/** The export `createCellHook` of a coprocessor module. Must not be asynchronous. */
export type CreateCellHook = (setup: CellHookSetup) => CellHook

/** Where a cell hook comes from. */
export interface CellHookReference {
  /**
   * A URL (`file:`, `data:`), an absolute path, or a package's name as `import` would resolve it
   * from where this package is installed.
   */
  readonly module: string
  /** JSON; handed to `createCellHook`. */
  readonly options?: Readonly<Record<string, unknown>>
}
