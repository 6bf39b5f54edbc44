/**
 * Prunes the list of invalid transactions (Tephra: TransactionPruningService). Each store reports
 * up to which pointer it has no invalid data; the list is truncated at the smallest of these
 * bounds.
 *
 * REQUIRES that no older cells come back: a restored snapshot, a bulk load or an import may have
 * cells of transactions that are no longer in the list, and these cells are visible.
 */
import {
  callback,
  checkMethods,
  declareOptions,
  implementation,
  integer,
  invalidArgument,
  list,
  required,
  systemClock,
  timerMillisecondsMax,
  type Clock,
  type OptionsOf,
  type SettingsOf,
  type Table,
} from '../../../api/index.js'
import { tell } from '../../../comfort/told.js'
import { checkPointer, requireFunction } from '../checks.js'
import type { TransactionManager } from './manager.js'
import { checkMilliseconds } from '../options.js'
import { storesOf, type PruneState } from './prune-state.js'
import { inactiveBound } from '../transaction-snapshot.js'

/** A store with data of transactions. */
export interface PruningPlugin {
  /**
   * The pointer up to which the store has no invalid data; -1 if unknown. `inactive` is the largest
   * pointer whose transaction can no longer write.
   */
  fetchPruneUpperBound(time: number, inactive: bigint): bigint | Promise<bigint>
  /** Called after the list was pruned up to this pointer. */
  pruneComplete?(time: number, largestPruned: bigint): void | Promise<void>
}

/** The part of a transaction manager that the service needs. */
type Pruned = Pick<TransactionManager, 'pruneInvalid' | 'lifetimeMilliseconds'>

const serviceOptions = declareOptions('a pruning service', {
  /** The manager of the invalid list. */
  manager: required(implementation<Pruned>(['pruneInvalid'])),
  /** Each reports up to which pointer its tables have no invalid data; the lowest bound counts. */
  plugins: required(list(required(implementation<PruningPlugin>(['fetchPruneUpperBound'])))),
  /** Default: the system clock. */
  clock: implementation<Clock>(['now'], systemClock),
  /** Added to the lifetime of transactions. Default 0, because plugins have their own grace. */
  bufferMilliseconds: integer({ min: 0, default: 0 }),
  /** Receives the error of a failed run. What it throws is ignored. */
  onError: callback<(error: unknown) => void>(),
})

/** Options of {@link TransactionPruningService}. */
export interface PruningServiceOptions extends OptionsOf<typeof serviceOptions> {}

/**
 * The plugin of tables that record their pruning in a `PruneState`; `tables` must be all tables
 * with data of transactions. Each of their families is a store.
 */
export function pruneStatePlugin(
  state: Pick<PruneState, 'bound'>,
  tables: () => Iterable<Table>,
): PruningPlugin {
  checkMethods(state, 'the state of prunings', ['bound'])
  requireFunction(tables, 'the source of tables')
  return {
    fetchPruneUpperBound: (_time, inactive) => {
      checkPointer(inactive, 'the inactive bound')
      const bound = state.bound([...tables()].flatMap(storesOf))
      return bound < inactive ? bound : inactive
    },
  }
}

/** See the file header. */
export class TransactionPruningService {
  readonly #settings: SettingsOf<typeof serviceOptions>
  #timer: ReturnType<typeof setInterval> | undefined
  #running: Promise<unknown> = Promise.resolve()

  /** Starts no run. `ERR_INVALID_ARGUMENT` for the options. */
  constructor(options: PruningServiceOptions) {
    this.#settings = serviceOptions.read(options)
  }

  /** Runs every `milliseconds` (Tephra: 6 hours) until `stop`. `ERR_INVALID_ARGUMENT`. */
  start(milliseconds = 6 * 3_600_000): void {
    checkMilliseconds(milliseconds, 'the interval', 1)
    if (milliseconds > timerMillisecondsMax) {
      throw invalidArgument(`the interval is at most ${timerMillisecondsMax}`)
    }
    clearInterval(this.#timer)
    this.#timer = setInterval(() => {
      this.#running = this.run().catch((error: unknown) => tell(this.#settings.onError, error))
    }, milliseconds)
    this.#timer.unref()
  }

  /** Ends the runs and waits for the current one. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  /**
   * Prunes once; returns the number of pruned pointers. A failing plugin rejects, and nothing is
   * pruned; nor is anything pruned if a plugin reports -1.
   */
  async run(): Promise<number> {
    const { manager, plugins, clock, bufferMilliseconds } = this.#settings
    const time = clock.now()
    const inactive = inactiveBound(time, manager.lifetimeMilliseconds + bufferMilliseconds)
    if (plugins.length === 0) return 0
    const bounds = await Promise.all(
      plugins.map(async (plugin) => plugin.fetchPruneUpperBound(time, inactive)),
    )
    const bound = bounds.reduce((least, each) => (each < least ? each : least))
    if (bound <= 0n) return 0
    const { pruned, largest } = await manager.pruneInvalid(bound)
    if (largest === undefined) return 0
    for (const plugin of plugins) await plugin.pruneComplete?.(time, largest)
    return pruned
  }
}
