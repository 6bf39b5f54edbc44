/** Opens stores by URL: `cellar:directory`, `memory:name`, `zk:hosts`. */
import { resolve } from 'node:path'
import type { Database } from '../../../api/index.js'
import type { LeaseClock } from '../kernel/lease-clock.js'
import { warnOfListener, type ListenerErrorHandler } from '../kernel/listener-errors.js'
import { SharedDatabases } from '../kernel/shared-databases.js'
import { checkFunction, copyOfOptions } from './arguments.js'
import { CellarMetadataStore } from './store/cellar-store.js'
import type { CachingStore } from './store/cache-sink.js'
import {
  asMetadataError,
  InvalidArgumentError,
  MetadataErrorCode,
  MetadataStoreError,
} from './errors.js'
import { systemClock } from '../kernel/backoff.js'
import { checkPath } from './paths.js'
import { SessionRegistry } from './store/sessions.js'
import { ZooKeeperMetadataStore } from './zookeeper/zk-store.js'
import { SynchronizedMetadataStore, type MetadataEventSynchronizer } from './clusters/synchronized-store.js'
import { coreOf, forgetCore, type StoreCore } from './store/store-core.js'

/** The parts of the URL of a store over tables. */
export interface DatabaseUrl {
  readonly scheme: 'cellar' | 'memory'
  /** The directory, or the name of an in-memory database. */
  readonly address: string
}

/** Settings of a handle. */
export interface MetadataStoreConfiguration {
  /** Time without a heartbeat after which the session of the handle ends. Default 30,000. */
  readonly sessionTimeoutMilliseconds?: number | undefined
  /** Clock and timers of the handle. Default: the system clock. */
  readonly clock?: LeaseClock | undefined
  /** Receives the errors of listeners. Default: `process.emitWarning`. */
  readonly onListenerError?: ListenerErrorHandler | undefined
  /** A session of a dead process to resume, before it expires. */
  readonly sessionId?: number | undefined
  /**
   * A JSON file with settings that override the others: `sessionTimeoutMilliseconds`, `storeName`,
   * `feedRetentionSeconds`. Needs `readFile`.
   */
  readonly configFilePath?: string | undefined
  /** Reads the settings file, such as `(path) => readFile(path, 'utf8')` of `node:fs/promises`. */
  readonly readFile?: ((path: string) => Promise<string>) | undefined
  /**
   * For `zk:`, bytes of the longest request, at most the `jute.maxbuffer` of the servers. A longer
   * request fails with `ERR_METADATA_INVALID_ARGUMENT`; a server would close the connection.
   * Default 1,048,575.
   */
  readonly requestBytesMax?: number | undefined
  /** Replicates the store to and from other clusters. */
  readonly synchronizer?: MetadataEventSynchronizer | undefined
  /** Name of the store in its database. Applies to the handle that opens the store first. */
  readonly storeName?: string | undefined
  /** Retention of the feed. Default 3,600. Applies to the handle that opens the store first. */
  readonly feedRetentionSeconds?: number | undefined
  /** Clock of the sessions. Default `clock`. Applies to the handle that opens the store first. */
  readonly storeClock?: LeaseClock | undefined
  /**
   * Opens the database of a URL, such as `({ address }) => Database.open(address, options)`. The
   * default opens a directory for `cellar` and an in-memory database for `memory`, with default
   * options. The first handle on a URL opens the database, the last one closes it.
   */
  readonly openDatabase?: ((url: DatabaseUrl) => Promise<Database>) | undefined
}

const configurationNames: Readonly<Record<keyof MetadataStoreConfiguration, true>> = {
  sessionTimeoutMilliseconds: true,
  clock: true,
  onListenerError: true,
  sessionId: true,
  storeName: true,
  feedRetentionSeconds: true,
  storeClock: true,
  configFilePath: true,
  readFile: true,
  requestBytesMax: true,
  synchronizer: true,
  openDatabase: true,
}

type FileSettings = Pick<
  MetadataStoreConfiguration,
  'sessionTimeoutMilliseconds' | 'storeName' | 'feedRetentionSeconds'
>

const fileNames: Readonly<Record<keyof FileSettings, true>> = {
  sessionTimeoutMilliseconds: true,
  storeName: true,
  feedRetentionSeconds: true,
}

const sessionTimeoutDefault = 30_000
const feedRetentionDefault = 3_600
const storeNameDefault = 'pulsar'

/** The state that the handles on one store share. */
interface SharedStore {
  readonly core: StoreCore
  readonly sessions: SessionRegistry
  users: number
}

const shared = new Map<Database, Map<string, Promise<SharedStore>>>()
const databases = new SharedDatabases<string, Database>(async () => undefined)
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
  if (typeof scheme !== 'string') throw new InvalidArgumentError('a scheme is a string')
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
  const settings = await withFile(configuration)
  const store = await openByScheme(url, settings)
  const { synchronizer, clock = systemClock, onListenerError = warnOfListener } = settings
  if (synchronizer === undefined) return store
  return new SynchronizedMetadataStore(store, synchronizer, clock, onListenerError)
}

async function openByScheme(
  url: string,
  configuration: MetadataStoreConfiguration,
): Promise<CachingStore> {
  if (typeof url !== 'string') throw new InvalidArgumentError('a URL is a string')
  const colon = url.indexOf(':')
  const scheme = colon < 0 ? '' : url.slice(0, colon)
  const address = url.slice(colon + 1)
  const provider = providers.get(scheme)
  if (provider !== undefined) return provider(address, configuration)
  if (address !== '' && (scheme === 'cellar' || scheme === 'memory')) {
    try {
      return await openUrl({ scheme, address }, configuration)
    } catch (error) {
      throw asMetadataError(error)
    }
  }
  if (scheme === 'zk' && address !== '') return openZooKeeper(address, configuration)
  throw invalidUrl(url)
}

const zkPortDefault = 2181
/** The default of the servers' `jute.maxbuffer`. */
const requestBytesDefault = 1_048_575

/** `host:port,host:port/path`. */
async function openZooKeeper(
  address: string,
  configuration: MetadataStoreConfiguration,
): Promise<CachingStore> {
  const slash = address.indexOf('/')
  const hosts = slash < 0 ? address : address.slice(0, slash)
  const root = slash < 0 ? '' : address.slice(slash)
  if (root !== '') checkPath(root)
  const addresses = hosts.split(',').map((each) => {
    const [host, port] = each.split(':')
    return { host, port: port === undefined ? zkPortDefault : Number(port) }
  })
  const isValid = addresses.every(({ host, port }) => host !== '' && port > 0 && port < 65_536)
  if (!isValid) throw new InvalidArgumentError(`zk:${address} names no hosts and ports`)
  return ZooKeeperMetadataStore.open({
    addresses,
    root: root === '/' ? '' : root,
    sessionTimeoutMilliseconds: configuration.sessionTimeoutMilliseconds ?? sessionTimeoutDefault,
    requestBytesMax: configuration.requestBytesMax ?? requestBytesDefault,
    clock: configuration.clock ?? systemClock,
    onListenerError: configuration.onListenerError ?? warnOfListener,
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
  const settings = await withFile(configuration)
  try {
    return await openHandle(database, settings, async () => undefined)
  } catch (error) {
    throw asMetadataError(error)
  }
}

async function openUrl(
  url: DatabaseUrl,
  configuration: MetadataStoreConfiguration,
): Promise<CachingStore> {
  const byDefault = defaultOpeners[url.scheme]
  const openDatabase = configuration.openDatabase ?? (byDefault && (() => byDefault(url.address)))
  if (openDatabase === undefined) {
    throw new InvalidArgumentError(`a store by ${url.scheme}: needs openDatabase`)
  }
  const key = keyOf(url)
  const release = (): Promise<void> => databases.close(key)
  const database = await databases.open(key, () => openDatabase(url))
  try {
    return await openHandle(database, configuration, release)
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
  configuration: MetadataStoreConfiguration,
  release: () => Promise<void>,
): Promise<CellarMetadataStore> {
  const name = configuration.storeName ?? storeNameDefault
  const clock = configuration.clock ?? systemClock
  const store = await takePart(database, name, configuration)
  const onClose = async (): Promise<void> => {
    await leave(database, name)
    await release()
  }
  try {
    return await CellarMetadataStore.open({
      core: store.core,
      sessions: store.sessions,
      clock,
      sessionTimeoutMilliseconds: configuration.sessionTimeoutMilliseconds ?? sessionTimeoutDefault,
      sessionId: configuration.sessionId,
      onListenerError: configuration.onListenerError ?? warnOfListener,
      onClose,
    })
  } catch (error) {
    await leave(database, name)
    throw error
  }
}

async function takePart(
  database: Database,
  name: string,
  configuration: MetadataStoreConfiguration,
): Promise<SharedStore> {
  let byName = shared.get(database)
  if (byName === undefined) shared.set(database, (byName = new Map<string, Promise<SharedStore>>()))
  let opened = byName.get(name)
  if (opened === undefined) {
    opened = openShared(database, name, configuration)
    byName.set(name, opened)
    opened.catch(() => byName.delete(name))
  }
  const store = await opened
  store.users++
  return store
}

async function openShared(
  database: Database,
  prefix: string,
  configuration: MetadataStoreConfiguration,
): Promise<SharedStore> {
  const clock = configuration.storeClock ?? configuration.clock ?? systemClock
  const feedRetentionSeconds = configuration.feedRetentionSeconds ?? feedRetentionDefault
  const core = await coreOf(database, { prefix, now: () => clock.now(), feedRetentionSeconds })
  return { core, sessions: await SessionRegistry.load(core, clock), users: 0 }
}

async function leave(database: Database, name: string): Promise<void> {
  const store = await shared.get(database)!.get(name)!
  if (--store.users > 0) return
  shared.get(database)?.delete(name)
  store.sessions.stop()
  forgetCore(database, name)
  await store.core.close()
}

/** Merges the settings of the configuration file. `ERR_METADATA_INVALID_ARGUMENT`. */
async function withFile(
  configuration: MetadataStoreConfiguration,
): Promise<MetadataStoreConfiguration> {
  checkConfiguration(configuration)
  const { configFilePath, readFile } = configuration
  if (configFilePath === undefined) return configuration
  if (readFile === undefined) throw new InvalidArgumentError('configFilePath needs readFile')
  let found: unknown
  try {
    found = JSON.parse(await readFile(configFilePath))
  } catch (error) {
    throw new InvalidArgumentError(`the settings in ${configFilePath} cannot be read`, error)
  }
  const what = `the file ${configFilePath}`
  const settings = { ...configuration, ...copyOfOptions(found as FileSettings, fileNames, what) }
  checkConfiguration(settings)
  return settings
}

function checkConfiguration(configuration: MetadataStoreConfiguration): void {
  copyOfOptions(configuration, configurationNames, 'a metadata store')
  const { sessionTimeoutMilliseconds: timeout, storeName } = configuration
  const { feedRetentionSeconds: retention, requestBytesMax: bytes } = configuration
  if (timeout !== undefined && !(Number.isFinite(timeout) && timeout > 0)) {
    throw new InvalidArgumentError('sessionTimeoutMilliseconds is a positive number')
  }
  if (retention !== undefined && !(Number.isFinite(retention) && retention > 0)) {
    throw new InvalidArgumentError('feedRetentionSeconds is a positive number')
  }
  if (bytes !== undefined && !(Number.isSafeInteger(bytes) && bytes > 0)) {
    throw new InvalidArgumentError('requestBytesMax is a positive integer')
  }
  if (storeName !== undefined && !/^[A-Za-z0-9_]+$/.test(storeName)) {
    throw new InvalidArgumentError('storeName has letters, digits and _')
  }
}

function invalidUrl(url: string): MetadataStoreError {
  const known = 'cellar:directory, memory:name and zk:hosts do'
  const message = `no store goes by ${JSON.stringify(url)}; ${known}`
  return new MetadataStoreError(MetadataErrorCode.invalidImplementation, message)
}
