/**
 * What an engine looks like to the benchmarks: a store of rows with a fixed list of columns.
 *
 * To add an engine, implement {@link EngineAdapter}. A key-value engine implements `KeyValueStore`
 * (key-value.ts) and gets two layouts of wide rows from layouts.ts; an engine with rows or columns
 * of its own implements {@link Store} directly.
 *
 * Every call may answer at once or with a promise ({@link Awaitable}), so that a synchronous engine
 * pays for no promise. Buffers that are given to a store are valid until the call has answered;
 * what a store hands out must be a Buffer of its own or stay valid until the next call.
 */

/** A value now, or a promise of it. */
export type Awaitable<T> = T | Promise<T>

/**
 * What an acknowledged write survives: `none` nothing (no log), `buffered` the end of the process,
 * `sync` the loss of power.
 */
export type Durability = 'none' | 'buffered' | 'sync'

/** All durabilities, weakest first. */
export const durabilities: readonly Durability[] = ['none', 'buffered', 'sync']

/**
 * How a row with several columns is stored: `native` as the engine's own rows, `cells` one key per
 * cell, `row` one encoded value per row.
 */
export type Layout = 'native' | 'cells' | 'row'

/** Which calls are used: those that answer fastest, or those that return promises. */
export type CallForm = 'fastest' | 'awaited'

/** What an engine is opened with. */
export interface OpenSettings {
  /** Exists and is empty, or was closed by the same engine with the same settings. */
  readonly directory: string
  readonly durability: Durability
  readonly layout: Layout
  /** Names of the columns; operations name them by position. */
  readonly columns: readonly string[]
  /** Memory for cached blocks or pages. An engine that maps its file ignores it. */
  readonly cacheBytes: number
  /** Whether the operating system reads ahead in a mapped file. Default true. */
  readonly readsAhead?: boolean
}

/** Values of one row by position of the column; reused by the caller for the next read. */
export type RowValues = (Buffer | undefined)[]

/** One row of a batch. */
export interface RowPut {
  readonly row: Buffer
  /** Positions of the columns that are written, ascending. */
  readonly columns: readonly number[]
  /** Values in the order of `columns`. */
  readonly values: readonly Buffer[]
}

/** Which rows a scan visits. */
export interface ScanRange {
  /** First row, inclusive; empty = the first of the store (the last if reversed). */
  readonly start: Buffer
  /** Exclusive; undefined = to the end. Not used with `reversed`. */
  readonly stop: Buffer | undefined
  /** Most rows visited; 0 = no limit. */
  readonly limit: number
  readonly reversed: boolean
  /** Visit only rows whose column 0 has this value (limit counts visited rows). */
  readonly valueEquals?: Buffer
}

/** Called for each row of a scan; `values` is reused. */
export type RowVisitor = (row: Buffer, values: RowValues) => void

/** Rows in byte order. Each mutation of a row is atomic. */
export interface Store {
  /** Fills `values`; false if the row is absent. */
  get(row: Buffer, values: RowValues): Awaitable<boolean>
  /** Writes some or all columns of a row, one acknowledged operation. */
  put(row: Buffer, columns: readonly number[], values: readonly Buffer[]): Awaitable<void>
  /** Writes rows in the cheapest way that acknowledges all of them together. */
  putMany(rows: readonly RowPut[]): Awaitable<void>
  /** Removes a row with all its columns. */
  delete(row: Buffer): Awaitable<void>
  /** Resolves to the number of visited rows. */
  scan(range: ScanRange, visit: RowVisitor): Awaitable<number>
  /**
   * Writes `value` to a column (undefined: removes the column) if it holds exactly `expected`.
   * Atomic under concurrent calls; resolves to whether it wrote.
   */
  checkAndPut(
    row: Buffer,
    column: number,
    expected: Buffer,
    value: Buffer | undefined,
  ): Awaitable<boolean>
  /** Adds to an 8-byte big-endian counter, absent = 0; resolves to the new value. */
  increment(row: Buffer, column: number, amount: number): Awaitable<number>
  /** Adds bytes at the end of a value, absent = empty. */
  append(row: Buffer, column: number, value: Buffer): Awaitable<void>
}

/** An open engine. */
export interface OpenedEngine {
  /** The calls that answer fastest when they come one after the other. */
  readonly fastest: Store
  /** The calls that return promises where the engine has them; else the same as `fastest`. */
  readonly awaited: Store
  /** Writes what is in memory to its final files, if the engine has such a step. */
  flush?(): Awaitable<void>
  /** Resolves when no work is under way in the background, if the engine can tell. */
  settle?(): Awaitable<void>
  /** Merges all files, if the engine has such a step. Resolves when it is done. */
  compact?(): Awaitable<void>
  /** Ends the work in the background and closes. */
  close(): Awaitable<void>
}

/** An engine that is driven through {@link Store}. */
export interface EngineAdapter {
  readonly kind: 'store'
  /** Unique, as given to `--engines`. */
  readonly name: string
  /** Layouts that make sense for wide rows; the first is used where rows have one column. */
  readonly layouts: readonly Layout[]
  readonly durabilities: readonly Durability[]
  /** Keeps nothing when it is closed. Default false. */
  readonly isVolatile?: boolean
  /** Version, if the engine can be used here; else throws an error that says why not. */
  version(): Awaitable<string>
  open(settings: OpenSettings): Promise<OpenedEngine>
}

/** What a program of its own measured; times are seconds. */
export interface ProgramMeasurement {
  readonly workload: string
  readonly operations: number
  readonly seconds: number
  readonly p50us?: number
  readonly p99us?: number
  readonly p999us?: number
  readonly bytesOnDisk?: number
}

/** What a program is asked to measure. */
export interface ProgramSettings {
  readonly directory: string
  readonly durability: Durability
  readonly suite: string
  /** Workloads of one sequence, in order; those it does not know are left out. */
  readonly workloads: readonly { readonly name: string; readonly calls: number }[]
  readonly records: number
  readonly keyBytes: number
  readonly valueBytes: number
  readonly cacheBytes: number
  readonly seed: number
}

/** An engine that brings its own benchmark program, such as RocksDB's `db_bench`. */
export interface ProgramAdapter {
  readonly kind: 'program'
  readonly name: string
  readonly durabilities: readonly Durability[]
  /** Suites it can run. */
  readonly suites: readonly string[]
  version(): Awaitable<string>
  run(settings: ProgramSettings): Promise<readonly ProgramMeasurement[]>
}

/** Anything that can be named by `--engines`. */
export type Engine = EngineAdapter | ProgramAdapter
