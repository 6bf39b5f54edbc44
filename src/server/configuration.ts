/**
 * The configuration file of the command line: a module, because blob stores, search servers, hooks
 * and formatters are objects and functions. Its default export is a {@link CellarConfiguration}, or
 * a function that makes one for the opened database.
 */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  boolean,
  checkArray,
  checked,
  checkObject,
  declareOptions,
  invalidArgument,
  type Database,
  type OptionsOf,
} from '../api/index.js'
import type { MessagingOptions } from '../systems/messaging/index.js'
import { messagingOptions } from '../systems/messaging/options.js'
import type {
  MaintenanceOptions,
  RepositoryOptions,
  SearchIndexesOptions,
  TextExtractionOptions,
} from '../systems/repository/index.js'
import { maintenanceOptions } from '../systems/repository/manager/maintenance.js'
import { repositoryOptions } from '../systems/repository/manager/options.js'
import type { TransactionManagerOptions } from '../systems/transactions/index.js'
import { managerOptions } from '../systems/transactions/options.js'
import { routesOptions, type MessagingRoutesOptions } from '../systems/messaging/http/routes.js'
import type { ServerOptions } from './options.js'

/** The options of messaging and of the server that `cellar serve` sets itself. */
const ownMessagingOptions = [
  'tablePrefix',
  'clock',
  'durability',
  'transactions',
  'pruneState',
  'register',
] as const
const ownTransactionOptions = ['clock', 'table'] as const
const ownServerOptions = ['host', 'port', 'token', 'principals'] as const

/**
 * Limits of the server, the export `server` of the file; they are known before the database opens.
 */
export type ServerConfiguration = Omit<ServerOptions, (typeof ownServerOptions)[number]> &
  MessagingRoutesOptions

/** Options as `declareOptions` declares them. */
interface Declared {
  read(given: never): unknown
}

/**
 * Checks options, and that those are absent that the command sets itself. `declared` has their
 * rules: what a configuration has wrong is found before a directory is created.
 */
function without<Own extends string, Options>(
  own: readonly Own[],
  declared?: Declared,
): (given: Omit<Options, Own>, what: string) => Omit<Options, Own> {
  return (given, what) => {
    const wrong = own.find((name) => name in checkObject(given, what))
    if (wrong !== undefined) {
      throw invalidArgument(`${what} of the configuration has no ${wrong}: the command sets it`)
    }
    declared?.read(given as never)
    return given
  }
}

const checkServer = without<
  (typeof ownServerOptions)[number],
  ServerOptions & MessagingRoutesOptions
>(ownServerOptions)

const configurationOptions = declareOptions('the configuration', {
  /** Limits and times of messaging, such as `ttlSecondsDefault` and `lifetimeMilliseconds`. */
  messaging: checked(
    without<(typeof ownMessagingOptions)[number], MessagingOptions>(
      ownMessagingOptions,
      messagingOptions,
    ),
  ),
  /** Limits and times of transactions. */
  transactions: checked(
    without<(typeof ownTransactionOptions)[number], TransactionManagerOptions>(
      ownTransactionOptions,
      managerOptions,
    ),
  ),
  /**
   * Whether `cellar serve` removes transactions from the invalid list once no message of theirs is
   * left. Only right if transactions of this server write to no tables: neither in this database
   * nor in those of other processes, where their writes would become visible. Default false.
   */
  pruneInvalidTransactions: boolean(false),
  /**
   * Options of the repository, such as blob stores, hooks and retention times. Deleted records can
   * be restored for a day unless `undeleteMilliseconds` is given.
   */
  repository: checked(without<never, RepositoryOptions>([], repositoryOptions)),
  /** Options of the indexes; without `backend` the indexes are in tables of the database. */
  indexes: checked<Partial<SearchIndexesOptions>>(checkObject),
  /** Limits of text extraction, and modules for other formats. */
  extraction: checked<TextExtractionOptions>(checkObject),
  /** Schedule of the maintenance in `cellar serve`, which removes unreferenced data. */
  maintenance: checked(without<never, MaintenanceOptions>([], maintenanceOptions)),
})

/** The options of `cellar serve` and `cellar repository` from the file of `--configuration`. */
export interface CellarConfiguration extends OptionsOf<typeof configurationOptions> {}

/** Default time in which deleted records can be restored. */
const dayMilliseconds = 86_400_000

type MakeConfiguration = (database: Database) => CellarConfiguration | Promise<CellarConfiguration>

/** A configuration, or a function that makes one. */
export type ConfigurationExport = CellarConfiguration | MakeConfiguration

/** A configuration that may depend on the database. */
export interface ConfigurationFile {
  /** The export `server`; the server checks the values. */
  readonly server: ServerConfiguration
  /**
   * The configuration for a database, with the defaults of the command line.
   * `ERR_INVALID_ARGUMENT`.
   */
  readonly for: (database: Database) => Promise<CellarConfiguration>
}

/**
 * Reads the file; without a file the configuration is empty. `ERR_INVALID_ARGUMENT`, also for an
 * export with another name than `default` and `server`.
 */
export async function readConfiguration(file: string | undefined): Promise<ConfigurationFile> {
  const { default: made, server = {} } = file === undefined ? { default: {} } : await load(file)
  const { hosts = [], chunkBytes } = checkServer(server, "the export 'server'")
  checkArray(hosts, 'option hosts')
  routesOptions.read({ chunkBytes })
  const checkedOptions = (given: unknown): CellarConfiguration => {
    if (typeof given === 'object' && given !== null) return configurationOptions.read(given)
    throw invalidArgument(`${file} needs a default export: a configuration, or what makes one`)
  }
  const own = typeof made === 'function' ? undefined : checkedOptions(made)
  return {
    server,
    for: async (database) => {
      const given = own ?? checkedOptions(await (made as MakeConfiguration)(database))
      const repository = { undeleteMilliseconds: dayMilliseconds, ...given.repository }
      return { ...given, repository }
    },
  }
}

interface ConfigurationModule {
  readonly default?: unknown
  readonly server?: ServerConfiguration
}

async function load(file: string): Promise<ConfigurationModule> {
  let module: ConfigurationModule
  try {
    module = (await import(pathToFileURL(resolve(file)).href)) as ConfigurationModule
  } catch (cause) {
    throw invalidArgument(`${file} cannot be loaded: ${(cause as Error).message}`)
  }
  // Node also exports the members of the default export of a CommonJS module, and the whole.
  const members = Object.keys(module.default ?? {})
  const known = ['default', 'server', 'module.exports', ...members]
  const wrong = Object.keys(module).find((name) => !known.includes(name))
  if (wrong === undefined) return module
  throw invalidArgument(
    `${file} has the unknown export '${wrong}': a configuration exports 'default' and 'server'`,
  )
}
