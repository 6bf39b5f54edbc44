/** Opens stores by URL: `cellar:directory`, `memory:name`, `zk:hosts`. */
import { resolve } from 'node:path'
import {
  callback,
  checked,
  checkText,
  declareOptions,
  implementation,
  integer,
  invalidArgument,
  number,
  shown,
  text,
  type Database,
  type OptionsOf,
  type SettingsOf,
} from '../../../api/index.js'
import type { LeaseClock } from '../kernel/lease-clock.js'
import { warnOfListener, type ListenerErrorHandler } from '../kernel/listener-errors.js'
import { SharedDatabases } from '../kernel/shared-databases.js'
import { checkFunction, readOptions } from '../metadata/arguments.js'
import { CellarMetadataStore } from './store/cellar-store.js'
import { asMetadataError, metadataError } from '../metadata/errors.js'
import { systemClock } from '../kernel/backoff.js'
import { checkPath } from '../metadata/paths.js'
import { SessionRegistry } from './store/sessions.js'
import { ZooKeeperMetadataStore } from './zookeeper/zk-store.js'
import {
  SynchronizedMetadataStore,
  type MetadataEventSynchronizer,
} from './clusters/synchronized-store.js'
import { StoreCore } from './store/store-core.js'
import type { CachingStore } from '../metadata/types.js'

/** The parts of the URL of a store over tables. */
export interface DatabaseUrl {
  readonly scheme: 'cellar' | 'memory'
  /** The directory, or the name of an in-memory database. */
  readonly address: string
}

/** The settings that a file may have. */
const fileOptions = {
  /**
   * Time without a heartbeat after which the session of the handle ends. A resumed session keeps
   * its own. Default 30,000.
   */
  sessionTimeoutMilliseconds: checked(checkPositive, 30_000),
  /** Name of the store in its database. Applies to the handle that opens the store first. */
  storeName: checked(checkStoreName, 'pulsar'),
  /** Retention of the feed. Default 3,600. Applies to the handle that opens the store first. */
  feedRetentionSeconds: checked(checkPositive, 3_600),
}

const configurationOptions = declareOptions('a metadata store', {
  ...fileOptions,
  /** Clock and timers of the handle. Default: the system clock. */
  clock: implementation<LeaseClock>(['now'], systemClock),
  /** Receives the errors of listeners. Default: `process.emitWarning`. */
  onListenerError: callback<ListenerErrorHandler>(warnOfListener),
  /** A session of a dead process to resume, before it expires. */
  sessionId: number({ min: -Infinity, default: undefined }),
  /**
   * A JSON file with settings that override the others: `sessionTimeoutMilliseconds`, `storeName`,
   * `feedRetentionSeconds`. Needs `readFile`.
   */
  configFilePath: text(undefined),
  /** Reads the settings file, such as `(path) => readFile(path, 'utf8')` of `node:fs/promises`. */
  readFile: callback<(path: string) => Promise<string>>(),
  /**
   * For `zk:`, bytes of the longest request, at most the `jute.maxbuffer` of the servers. A longer
   * request fails with `ERR_METADATA_INVALID_ARGUMENT`; a server would close the connection.
   * Default 1,048,575.
   */
  requestBytesMax: integer({ min: 1, max: Number.MAX_SAFE_INTEGER, default: 1_048_575 }),
  /** Replicates the store to and from other clusters. */
  synchronizer: implementation<MetadataEventSynchronizer>(['notify', 'registerSyncListener']),
  /** Clock of the sessions. Default `clock`. Applies to the handle that opens the store first. */
  storeClock: implementation<LeaseClock>(['now']),
  /**
   * Opens the database of a URL, such as `({ address }) => Database.open(address, options)`. The
   * default opens a directory for `cellar` and an in-memory database for `memory`, with default
   * options. The first handle on a URL opens the database, the last one closes it.
   */
  openDatabase: callback<(url: DatabaseUrl) => Promise<Database>>(),
})

/** Settings of a handle. */
export interface MetadataStoreConfiguration extends OptionsOf<typeof configurationOptions> {}

/** The settings with their defaults. */
type StoreSettings = SettingsOf<typeof configurationOptions>

/** The state that the handles on one store share. */
interface SharedStore {
  readonly core: StoreCore
  readonly sessions: SessionRegistry
  close(): Promise<void>
}

const nothing = async (): Promise<void> => undefined
const databases = new SharedDatabases<string, Database>(nothing)
/** The stores of each database by their names. */
const stores = new WeakMap<Database, SharedDatabases<string, SharedStore>>()
let privateMemories = 0

/** Opens a database by its address, for handles without `openDatabase`. */
type DatabaseOpener = (address: string) => Promise<Database>

let defaultOpeners: Partial<Record<DatabaseUrl['scheme'], DatabaseOpener>> = {}

/**
 * Sets the default openers of databases. The entry of the package calls this function, because the
 * store itself knows no backend.
 */
export function provideDatabases(openers: Record<DatabaseUrl['scheme'], DatabaseOpener>): void {
  defaultOpeners = openers
}

/** Opens a store by the part of a URL after its scheme. */
export type MetadataStoreProvider = (
  address: string,
  configuration: MetadataStoreConfiguration,
) => Promise<CachingStore>

const providers = new Map<string, MetadataStoreProvider>()

/** Registers a scheme, such as `etcd`. Returns a function that unregisters it. */
export function registerMetadataStoreProvider(
  scheme: string,
  provider: MetadataStoreProvider,
): () => void {
  if (typeof scheme !== 'string') throw metadataError('invalidArgument', 'a scheme is a string')
  checkFunction(provider, 'the provider')
  providers.set(scheme, provider)
  return () => void (providers.get(scheme) === provider && providers.delete(scheme))
}

/**
 * Opens a handle on a store by URL. `cellar:directory` is durable. `memory:name` exists while
 * handles of the process are open; `memory:local` is private to the handle.
 * `zk:host:port,host:port/path` is a ZooKeeper of version 3.6 or later.
 *
 * Errors: `ERR_METADATA_INVALID_IMPLEMENTATION`, `ERR_METADATA_INVALID_ARGUMENT`,
 * `ERR_METADATA_STORE_FAILURE`.
 */
export async function openMetadataStore(
  url: string,
  configuration: MetadataStoreConfiguration = {},
): Promise<CachingStore> {
  const given = await withFile(configuration)
  const settings = readOptions(configurationOptions, given)
  const store = await openByScheme(url, given, settings)
  const { synchronizer, clock, onListenerError } = settings
  if (synchronizer === undefined) return store
  try {
    return new SynchronizedMetadataStore(store, synchronizer, clock, onListenerError)
  } catch (error) {
    await store.close()
    throw error
  }
}

/** `given` is for the providers, which have defaults of their own. */
async function openByScheme(
  url: string,
  given: MetadataStoreConfiguration,
  settings: StoreSettings,
): Promise<CachingStore> {
  if (typeof url !== 'string') throw metadataError('invalidArgument', 'a URL is a string')
  const colon = url.indexOf(':')
  const scheme = colon < 0 ? '' : url.slice(0, colon)
  const address = url.slice(colon + 1)
  const provider = providers.get(scheme)
  if (provider !== undefined) return provider(address, given)
  if (address !== '' && (scheme === 'cellar' || scheme === 'memory')) {
    try {
      return await openUrl({ scheme, address }, settings)
    } catch (error) {
      throw asMetadataError(error)
    }
  }
  if (scheme === 'zk' && address !== '') return openZooKeeper(address, settings)
  const known = 'cellar:directory, memory:name and zk:hosts do'
  const message = `no store goes by ${JSON.stringify(url)}; ${known}`
  throw metadataError('invalidImplementation', message)
}

const zkPortDefault = 2181
/** A host, an IPv6 address in brackets, and a port. */
const zkAddress = /^(?:\[([^[\]\s]+)\]|([^:[\]\s]+))(?::([0-9]{1,5}))?$/
/** The protocol has timeouts of 32 bits; servers grant much less. */
const zkTimeoutMax = 2 ** 31 - 1

/** `host:port,[address]:port/path`. */
async function openZooKeeper(address: string, settings: StoreSettings): Promise<CachingStore> {
  const slash = address.indexOf('/')
  const hosts = slash < 0 ? address : address.slice(0, slash)
  const root = slash < 0 ? '' : address.slice(slash)
  if (root !== '') checkPath(root)
  const addresses = hosts.split(',').map((each) => {
    const [, ipv6, host = ipv6, port = zkPortDefault] = zkAddress.exec(each) ?? []
    return { host, port: Number(port) }
  })
  const isValid = addresses.every(({ host, port }) => {
    return host !== undefined && port > 0 && port < 65_536
  })
  if (!isValid) throw metadataError('invalidArgument', `zk:${address} names no hosts and ports`)
  return ZooKeeperMetadataStore.open({
    ...settings,
    addresses,
    root: root === '/' ? '' : root,
    timeoutMilliseconds: Math.min(settings.sessionTimeoutMilliseconds, zkTimeoutMax),
  })
}

/**
 * Opens a handle on the store in a database that the caller closes. The setting `synchronizer` is
 * for {@link openMetadataStore}.
 */
export async function metadataStoreOf(
  database: Database,
  configuration: MetadataStoreConfiguration = {},
): Promise<CellarMetadataStore> {
  const settings = readOptions(configurationOptions, await withFile(configuration))
  try {
    return await openHandle(database, settings, nothing)
  } catch (error) {
    throw asMetadataError(error)
  }
}

async function openUrl(url: DatabaseUrl, settings: StoreSettings): Promise<CachingStore> {
  const byDefault = defaultOpeners[url.scheme]
  const openDatabase = settings.openDatabase ?? (byDefault && (() => byDefault(url.address)))
  if (openDatabase === undefined) {
    throw metadataError('invalidArgument', `a store by ${url.scheme}: needs openDatabase`)
  }
  const key = keyOf(url)
  const release = (): Promise<void> => databases.close(key)
  const database = await databases.open(key, () => openDatabase(url))
  try {
    return await openHandle(database, settings, release)
  } catch (error) {
    await release()
    throw error
  }
}

function keyOf({ scheme, address }: DatabaseUrl): string {
  if (scheme === 'cellar') return `cellar:${resolve(address)}`
  return address === 'local' ? `memory:local ${++privateMemories}` : `memory:${address}`
}

async function openHandle(
  database: Database,
  settings: StoreSettings,
  release: () => Promise<void>,
): Promise<CellarMetadataStore> {
  const { storeName } = settings
  const known = stores.get(database)
  const byName = known ?? new SharedDatabases<string, SharedStore>(nothing)
  if (known === undefined) stores.set(database, byName)
  const { core, sessions } = await byName.open(storeName, () => openStore(database, settings))
  const onClose = async (): Promise<void> => {
    await byName.close(storeName)
    await release()
  }
  try {
    return await CellarMetadataStore.open({ ...settings, core, sessions, onClose })
  } catch (error) {
    await byName.close(storeName)
    throw error
  }
}

async function openStore(
  database: Database,
  { storeName, storeClock, clock: handleClock, feedRetentionSeconds }: StoreSettings,
): Promise<SharedStore> {
  const clock = storeClock ?? handleClock
  const coreSettings = { prefix: storeName, now: () => clock.now(), feedRetentionSeconds }
  const core = await StoreCore.open(database, coreSettings)
  const sessions = await SessionRegistry.load(core, clock)
  const close = (): Promise<void> => {
    sessions.stop()
    return core.close()
  }
  return { core, sessions, close }
}

/** Checks and merges the settings of the configuration file. `ERR_METADATA_INVALID_ARGUMENT`. */
async function withFile(
  configuration: MetadataStoreConfiguration,
): Promise<MetadataStoreConfiguration> {
  const { configFilePath, readFile } = readOptions(configurationOptions, configuration)
  if (configFilePath === undefined) return configuration
  if (readFile === undefined)
    throw metadataError('invalidArgument', 'configFilePath needs readFile')
  const options = declareOptions(`the file ${configFilePath}`, fileOptions)
  let found: OptionsOf<typeof options>
  try {
    found = JSON.parse(await readFile(configFilePath)) as typeof found
  } catch (error) {
    throw metadataError(
      'invalidArgument',
      `the settings in ${configFilePath} cannot be read`,
      error,
    )
  }
  readOptions(options, found)
  return { ...configuration, ...found }
}

function checkPositive(value: number, what: string): number {
  if (Number.isFinite(value) && value > 0) return value
  throw invalidArgument(`${what} must be a number above 0, got ${shown(value)}`)
}

function checkStoreName(value: string, what: string): string {
  if (/^[A-Za-z0-9_]+$/.test(checkText(value, what))) return value
  throw invalidArgument(`${what} must have letters, digits and _ only`)
}
