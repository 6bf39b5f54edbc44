/**
 * Prunes the list of invalid transactions (Tephra: TransactionPruningService): asks each store up
 * to which pointer it holds nothing of them, takes the smallest answer, and truncates the list.
 */
import {
  checkArray,
  checkFunction,
  checkMethods,
  OptionNames,
  systemClock,
  type Clock,
  type Table,
} from '../../../api/index.js'
import { checkPointer, requireFunction } from '../checks.js'
import type { TransactionManager } from './manager.js'
import { invalidArgument } from '../errors.js'
import { checkMilliseconds } from '../options.js'
import { storesOf, type PruneState } from './prune-state.js'
import { inactiveBound } from '../transaction-snapshot.js'

/** A store that holds data of transactions. */
export interface PruningPlugin {
  /**
   * Up to which pointer the store holds nothing of invalid transactions; -1 if it does not know.
   * `inactive` is the largest pointer whose transaction can write nothing any more.
   */
  fetchPruneUpperBound(time: number, inactive: bigint): bigint | Promise<bigint>
  /** The list was pruned up to this pointer. */
  pruneComplete?(time: number, largestPruned: bigint): void | Promise<void>
}

/** Options of {@link TransactionPruningService}. */
export interface PruningServiceOptions {
  /** The manager whose invalid list gets shorter. */
  readonly manager: Pick<TransactionManager, 'pruneInvalid' | 'lifetimeMilliseconds'>
  /** Each says up to which pointer its tables are free of invalid writes; the lowest counts. */
  readonly plugins: readonly PruningPlugin[]
  /** Default: the machine's clock. */
  readonly clock?: Clock | undefined
  /** Added to the lifetime of transactions. Default 0: plugins have a grace of their own. */
  readonly bufferMilliseconds?: number | undefined
  /** Told when a run fails. */
  readonly onError?: (error: unknown) => void
}

const names = new OptionNames<PruningServiceOptions>('a pruning service', {
  manager: true,
  plugins: true,
  clock: true,
  bufferMilliseconds: true,
  onError: true,
})

/** Milliseconds; a timer of Node takes no more. */
const intervalMax = 2 ** 31 - 1

/**
 * The plugin of tables whose prunings keep their books in a `PruneState`; `tables` are all that
 * hold data of transactions. Each of their families is asked.
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
  readonly #options: PruningServiceOptions
  readonly #clock: Clock
  #timer: ReturnType<typeof setInterval> | undefined
  #running: Promise<unknown> = Promise.resolve()

  /** Does nothing before a run is asked for. `ERR_INVALID_ARGUMENT` for the options. */
  constructor(options: PruningServiceOptions) {
    const { plugins, clock = systemClock, ...rest } = names.copy(options)
    checkMethods(rest.manager, 'manager', ['pruneInvalid'])
    checkMilliseconds(rest.bufferMilliseconds ?? 0, 'bufferMilliseconds', 0)
    checkFunction(rest.onError, 'onError')
    this.#clock = checkMethods(clock, 'clock', ['now'])
    const copies = checkArray(plugins, 'plugins')
    for (const plugin of copies) checkMethods(plugin, 'a plugin', ['fetchPruneUpperBound'])
    this.#options = { ...rest, plugins: copies }
  }

  /** Runs every so many milliseconds (Tephra: 6 hours) until `stop`. `ERR_INVALID_ARGUMENT`. */
  start(milliseconds = 6 * 3_600_000): void {
    checkMilliseconds(milliseconds, 'the interval', 1)
    if (milliseconds > intervalMax) throw invalidArgument(`the interval is at most ${intervalMax}`)
    clearInterval(this.#timer)
    this.#timer = setInterval(() => {
      this.#running = this.run().catch((error: unknown) => this.#options.onError?.(error))
    }, milliseconds)
    this.#timer.unref()
  }

  /** Ends the runs and waits for the one under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  /**
   * Prunes once; the number of pointers that left the list. Nothing is pruned if a plugin fails,
   * which rejects, or does not know.
   */
  async run(): Promise<number> {
    const { manager, plugins, bufferMilliseconds = 0 } = this.#options
    const time = this.#clock.now()
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
