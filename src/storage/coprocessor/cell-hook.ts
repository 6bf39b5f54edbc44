/**
 * The half of a coprocessor that runs inside flush and compaction jobs and decides about each cell.
 * In HBase it is the scanner that `preFlush` and `preCompact` wrap around the store's scanner.
 *
 * A cell hook is named by a module and plain options, because it is loaded where the job runs. That
 * is a worker thread, or the thread of the event loop with the inline executor. The module exports
 * `createCellHook(setup)`. Each job, and each part of a job that is split by key range, makes one
 * hook and shows it cells in key order. State belongs into the hook, not into the module.
 *
 * A hook sees the cells that remain after HBase's retention rules, except
 * - delete markers, unless the hook sets `decidesMarkers`: a flush or minor compaction that loses a
 *   marker would make older cells in other files visible again;
 * - cells that are visible to a snapshot that is open when the job starts: they are kept without
 *   asking. If a snapshot is opened while the job runs, and is still open at its end, a job that
 *   dropped or replaced any cell runs again with that snapshot protected.
 *
 * A minor compaction and a flush see only some files of the store. If a hook drops the newest
 * version of a column there, an older one in another file becomes visible. So a hook should judge
 * all versions alike, or act only if `job.kind` is 'major'.
 *
 * A hook that cannot be loaded, throws, returns a meaningless answer or makes no progress fails the
 * job with `ERR_COPROCESSOR`. Then nothing was changed, and the job is tried again later.
 */
import type { CellView } from '../cell/cell-view.js'

/** The decision of a hook about a cell. */
export const CellDecision = {
  /** The cell stays as it is. */
  keep: 0,
  /** The cell is dropped. */
  drop: 1,
  /** The cell stays, with the value passed to {@link CellReplacement.setValue}. */
  replace: 2,
} as const

/** One of the codes of {@link CellDecision}. */
export type CellDecision = (typeof CellDecision)[keyof typeof CellDecision]

/** The job about which a hook or an observer is asked. Plain data. */
export interface StoreJob {
  /**
   * 'major': the job reads all files of the store with its rows, so no other file holds older cells
   * of them.
   */
  readonly kind: 'flush' | 'minor' | 'major'
  /** Whether a 'major' job reads all files of the store, not only those of some rows. */
  readonly wholeStore: boolean
  /** Name of the table. */
  readonly table: string
  /** Name of the family. */
  readonly family: string
  /** Time of the job in milliseconds since the Unix epoch. */
  readonly now: number
  /**
   * Oldest read point of an open snapshot; without one, the newest sequence at the start of the
   * job.
   */
  readonly readPointOldest: number
}

/** The facts from which a cell hook is made. */
export interface CellHookSetup {
  /** What the job works on. */
  readonly job: StoreJob
  /** The options with which the coprocessor was registered; an empty object if there are none. */
  readonly options: Readonly<Record<string, unknown>>
  /**
   * A structured clone of the value that the observer's `jobContext` returned for this job;
   * undefined if there is no observer or no such method.
   */
  readonly context: unknown
}

/** Receives the new value of a cell. The key and the TTL of the cell stay. */
export interface CellReplacement {
  /**
   * Copies `value`, which may lie in the cell's own buffer. The hook must then return `replace`.
   */
  setValue(value: Uint8Array): void
}

/** Decides about the cells of one job. */
export interface CellHook {
  /**
   * Whether the hook is asked about delete markers too. Default false: they are kept; see the file
   * header.
   */
  readonly decidesMarkers?: boolean
  /** Called before the first cell of each row about which the hook is asked. */
  startRow?(cell: CellView): void
  /**
   * Called for each cell in key order. The view is borrowed until the method returns, and its
   * memory must not be written to. Cells that a hook of higher priority dropped are not shown.
   * Cells that it replaced are shown with their new value.
   */
  decide(cell: CellView, replacement: CellReplacement): CellDecision
  /** Called after the last cell. The result (structured-cloneable) is passed to the observer. */
  finish?(): unknown
}

/** The export `createCellHook` of a coprocessor module. Must not be asynchronous. */
export type CreateCellHook = (setup: CellHookSetup) => CellHook

/** The module and options of a cell hook. */
export interface CellHookReference {
  /**
   * A URL (`file:`, `data:`), an absolute path, or the name of a package as `import` resolves it
   * from where this package is installed.
   */
  readonly module: string
  /** JSON; passed to `createCellHook`. */
  readonly options?: Readonly<Record<string, unknown>>
}
