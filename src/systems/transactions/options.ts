/** Options of the transaction manager, with their defaults. */
import {
  choice,
  declareOptions,
  durabilityOption,
  implementation,
  integer,
  invalidArgument,
  number,
  shown,
  systemClock,
  text,
  timerMillisecondsMax,
  type Clock,
  type OptionsOf,
  type SettingsOf,
} from '../../api/index.js'

const clientRetentions = ['OFF', 'ACTIVE', 'COMMITTED'] as const

/** How long the names of clients are remembered, for messages about conflicts. */
export type ClientRetention = (typeof clientRetentions)[number]

const hour = 3_600_000

/** The declared options of `TransactionManager.open`. */
export const managerOptions = declareOptions('a transaction manager', {
  /** Name of the table of state; made if it does not exist. Default 'tx.state'. */
  table: text('tx.state'),
  /** Default: the machine's clock. */
  clock: implementation<Clock>(['now'], systemClock),
  /** Of commits. All other changes of state are in the log before them. Default 'SYNC_WAL'. */
  durability: durabilityOption('SYNC_WAL'),
  /** Timeout of short transactions in milliseconds. Default 30 s. */
  timeoutMilliseconds: integer({ min: 1, default: 30_000 }),
  /** The longest timeout that may be asked for. Default: no limit. */
  timeoutMillisecondsMax: number({ min: 0, default: Infinity }),
  /** Timeout of long transactions. Default one day. */
  longTimeoutMilliseconds: integer({ min: 1, default: 24 * hour }),
  /** How often expired transactions are looked for; 0 = only by `cleanUp`. Default 10 s. */
  sweepMilliseconds: integer({ min: 0, max: timerMillisecondsMax, default: 10_000 }),
  /**
   * Milliseconds after which a transaction writes nothing more, whatever its timeout. Default 25
   * hours.
   */
  lifetimeMilliseconds: integer({ min: 1, default: 25 * hour }),
  /** Most keys in the change set of a transaction. Default: no limit. */
  changesMax: number({ min: 0, default: Infinity }),
  /** Most bytes of keys in the change set of a transaction. Default: no limit. */
  changeBytesMax: number({ min: 0, default: Infinity }),
  /** Default 'COMMITTED'. */
  clientRetention: choice(clientRetentions, 'COMMITTED'),
})

/** Options of `TransactionManager.open`. */
export interface TransactionManagerOptions extends OptionsOf<typeof managerOptions> {}

/** The options with their defaults. */
export type ManagerSettings = SettingsOf<typeof managerOptions>

/** Checks a whole number of milliseconds. `ERR_INVALID_ARGUMENT`. */
export function checkMilliseconds(value: unknown, name: string, least: number): void {
  if (Number.isSafeInteger(value) && (value as number) >= least) return
  throw invalidArgument(
    `${name} must be whole milliseconds, at least ${least}, got ${shown(value)}`,
  )
}
