/** Options of the transaction manager, with their defaults. */
import {
  checkChoice,
  checkMethods,
  checkText,
  OptionNames,
  shown,
  systemClock,
  type Clock,
  type DurabilityOption,
} from '../../api/index.js'
import { invalidArgument } from './errors.js'

/** How long the names of clients are remembered, for messages about conflicts. */
export type ClientRetention = 'OFF' | 'ACTIVE' | 'COMMITTED'

/** Options of `TransactionManager.open`. */
export interface TransactionManagerOptions {
  /** Name of the table of state; made if it does not exist. Default 'tx.state'. */
  readonly table?: string | undefined
  /** Default: the machine's clock. */
  readonly clock?: Clock | undefined
  /** Of commits. All other changes of state are in the log before them. Default 'SYNC_WAL'. */
  readonly durability?: DurabilityOption | undefined
  /** Timeout of short transactions in milliseconds. Default 30 s. */
  readonly timeoutMilliseconds?: number | undefined
  /** The longest timeout that may be asked for. Default: no limit. */
  readonly timeoutMillisecondsMax?: number | undefined
  /** Timeout of long transactions. Default one day. */
  readonly longTimeoutMilliseconds?: number | undefined
  /** How often expired transactions are looked for; 0 = only by `cleanUp`. Default 10 s. */
  readonly sweepMilliseconds?: number | undefined
  /**
   * Milliseconds after which a transaction writes nothing more, whatever its timeout. Default 25
   * hours.
   */
  readonly lifetimeMilliseconds?: number | undefined
  /** Most keys in the change set of a transaction. Default: no limit. */
  readonly changesMax?: number | undefined
  /** Most bytes of keys in the change set of a transaction. Default: no limit. */
  readonly changeBytesMax?: number | undefined
  /** Default 'COMMITTED'. */
  readonly clientRetention?: ClientRetention | undefined
}

/** The options with their defaults. */
export type ManagerSettings = Required<TransactionManagerOptions>

const names = new OptionNames<TransactionManagerOptions>('a transaction manager', {
  table: true,
  clock: true,
  durability: true,
  timeoutMilliseconds: true,
  timeoutMillisecondsMax: true,
  longTimeoutMilliseconds: true,
  sweepMilliseconds: true,
  lifetimeMilliseconds: true,
  changesMax: true,
  changeBytesMax: true,
  clientRetention: true,
})

const hour = 3_600_000

/** Checks options and fills in defaults. `ERR_INVALID_ARGUMENT`. */
export function managerSettings(options: TransactionManagerOptions): ManagerSettings {
  names.check(options)
  const settings: ManagerSettings = {
    table: options.table ?? 'tx.state',
    clock: options.clock ?? systemClock,
    durability: options.durability ?? 'SYNC_WAL',
    timeoutMilliseconds: options.timeoutMilliseconds ?? 30_000,
    timeoutMillisecondsMax: options.timeoutMillisecondsMax ?? Infinity,
    longTimeoutMilliseconds: options.longTimeoutMilliseconds ?? 24 * hour,
    sweepMilliseconds: options.sweepMilliseconds ?? 10_000,
    lifetimeMilliseconds: options.lifetimeMilliseconds ?? 25 * hour,
    changesMax: options.changesMax ?? Infinity,
    changeBytesMax: options.changeBytesMax ?? Infinity,
    clientRetention: options.clientRetention ?? 'COMMITTED',
  }
  checkText(settings.table, 'table')
  checkMethods(settings.clock, 'clock', ['now'])
  checkChoice(settings.clientRetention, 'clientRetention', ['OFF', 'ACTIVE', 'COMMITTED'])
  for (const name of ['timeoutMillisecondsMax', 'changesMax', 'changeBytesMax'] as const) {
    const limit: unknown = settings[name]
    if (typeof limit === 'number' && limit >= 0) continue
    throw invalidArgument(`${name} must be a number, 0 or more, got ${shown(limit)}`)
  }
  checkMilliseconds(settings.timeoutMilliseconds, 'timeoutMilliseconds', 1)
  checkMilliseconds(settings.longTimeoutMilliseconds, 'longTimeoutMilliseconds', 1)
  checkMilliseconds(settings.sweepMilliseconds, 'sweepMilliseconds', 0)
  checkMilliseconds(settings.lifetimeMilliseconds, 'lifetimeMilliseconds', 1)
  return settings
}

/** Checks a whole number of milliseconds. `ERR_INVALID_ARGUMENT`. */
export function checkMilliseconds(value: unknown, name: string, least: number): void {
  if (Number.isSafeInteger(value) && (value as number) >= least) return
  throw invalidArgument(
    `${name} must be whole milliseconds, at least ${least}, got ${shown(value)}`,
  )
}
