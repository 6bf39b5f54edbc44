/** `cellar serve`: messaging and the content repository over HTTP, from one directory. */
import { resolve } from 'node:path'
import { invalidArgument } from '../api/index.js'
import { Database } from '../entries/index.js'
import { readSecrets, type SecretFiles } from './serve-files.js'
import {
  MessagingService,
  StandbyMessaging,
  type Leadership,
  type Messaging,
} from '../systems/messaging/index.js'
import {
  RepositoryMaintenance,
  RepositoryManager,
  type SearchIndexes,
} from '../systems/repository/index.js'
import { openSearch } from '../entries/repository-search.js'
import {
  CellarServer,
  consolePage,
  databaseRoutes,
  engineMetrics,
  messagingRoutes,
  repositoryRoutes,
  transactionRoutes,
  type DirectoryVerbs,
} from '../server/index.js'
import { readConfiguration, type ConfigurationFile } from '../server/configuration.js'
import { parseCount } from '../server/database/views.js'
import { serverSettings } from '../server/options.js'
import { inspectionToJson } from './database/inspect.js'
import { makeBackup } from './database/backups.js'
import { verificationToJson, type JsonVerification } from './database/verify.js'
import {
  PruneState,
  pruneStatePlugin,
  TransactionManager,
  TransactionPruningService,
} from '../systems/transactions/index.js'

/** The options of the command line. */
export interface ServeOptions extends SecretFiles {
  readonly directory: string
  readonly host: string
  readonly port: string
  readonly allowHost: readonly string[]
  readonly configuration?: string
  readonly durability: 'disk' | 'system'
  readonly standby?: boolean
  readonly slow?: string
  readonly backups?: string
}

/** The open systems, and the function that closes them. */
interface Served extends Leadership {
  readonly transactions: TransactionManager
  readonly repository: RepositoryManager
  readonly indexes: SearchIndexes
  readonly maintenance: RepositoryMaintenance
  readonly database: Database
  readonly close: () => Promise<void>
}

/** Reports an error that does not end the server. */
type Complain = (error: unknown) => void

const pruneTable = 'tx.prune'

/**
 * Opens the database with its transactions, messaging and repository, and starts their maintenance.
 */
async function lead(
  { directory, durability, slow = '100' }: ServeOptions,
  file: ConfigurationFile,
  complain: Complain,
): Promise<Served> {
  const database = await Database.open(directory, {
    slowOperationMilliseconds: parseCount(slow, '--slow'),
  })
  const steps: CloseStep[] = [() => database.close()]
  const close = (): Promise<void> => closeAll(steps)
  try {
    const configuration = await file.for(database)
    const table = await database.admin.ensureTable(pruneTable, { families: { d: {} } })
    const pruneState = await PruneState.open({ table })
    steps.push(() => pruneState.settled())
    const manager = await TransactionManager.open(database, configuration.transactions)
    steps.push(() => manager.close())
    const messaging = await MessagingService.open(database, {
      ...configuration.messaging,
      durability: durability === 'disk' ? 'FSYNC_WAL' : 'SYNC_WAL',
      transactions: manager,
      pruneState,
      register: (coprocessor) => database.registerCoprocessor(coprocessor),
    })
    steps.push(() => messaging.close())
    const repository = await RepositoryManager.open(database, {
      durability: durability === 'disk' ? 'FSYNC_WAL' : 'SYNC_WAL',
      ...configuration.repository,
    })
    steps.push(() => repository.close())
    await repository.followLinks()
    const search = await openSearch(repository, database, configuration)
    steps.push(() => search.close())
    for (const [name, error] of search.indexes.failures) {
      complain(`the index ${name} does not run: ${error.message}`)
    }
    const maintenance = RepositoryMaintenance.start(repository, {
      onFailure: (error) => complain(`the maintenance of the repository failed: ${error.message}`),
      ...configuration.maintenance,
    })
    steps.push(() => maintenance.close())
    const pruning = new TransactionPruningService({
      manager,
      plugins: [pruneStatePlugin(pruneState, () => [database.table('tms.message')])],
    })
    if (configuration.pruneInvalidTransactions === true) pruning.start()
    steps.push(() => pruning.stop())
    const { indexes } = search
    return { messaging, close, transactions: manager, repository, indexes, maintenance, database }
  } catch (error) {
    // A directory that stays open here is locked, also for the next attempt of this process.
    await close().catch(() => undefined)
    throw error
  }
}

type CloseStep = () => Promise<void>

/** Takes all steps, the last first. Throws the first error at the end. */
async function closeAll(steps: readonly CloseStep[]): Promise<void> {
  const failures: unknown[] = []
  for (const step of steps.toReversed()) await step().catch((error) => failures.push(error))
  if (failures.length > 0) throw failures[0]
}

/** Leads, or waits while another process has the database open. */
async function leadOrFollow(
  open: () => Promise<Served>,
  { directory, standby }: ServeOptions,
  say: (text: string) => void,
  complain: Complain,
): Promise<{
  readonly messaging: Messaging
  /** Undefined while another process leads. */
  readonly served: () => Served | undefined
  readonly close: () => Promise<void>
}> {
  let served: Served | undefined
  const opened = async (): Promise<Served> => (served = await open())
  if (standby !== true) {
    const { messaging, close } = await opened()
    return { messaging, served: () => served, close }
  }
  const messaging = await StandbyMessaging.start({
    open: opened,
    changed: (outcome) => (outcome === 'leads' ? say(`leads ${directory}`) : complain(outcome)),
  })
  if (!messaging.isLeader) say(`waits for ${directory}`)
  return { messaging, served: () => served, close: () => messaging.stop() }
}

/** Makes backups in a folder, by their names. `ERR_INVALID_ARGUMENT`. */
function backupsIn(folder: string | undefined): DirectoryVerbs['backup'] {
  if (folder === undefined) return undefined
  if (folder === '') throw invalidArgument('--backups must name a folder')
  return (database, name, { keep, verify }) =>
    makeBackup(resolve(folder, name), keep, {
      run: (directory) => database.backup(directory),
      verify: verify ? verified : undefined,
    })
}

async function verified(
  directory: string,
  options: { bytesPerSecondMax?: number; signal?: AbortSignal } = {},
): Promise<JsonVerification> {
  return verificationToJson(await Database.verify(directory, options))
}

/** The port of the command line; an empty word, as of an unset variable, is none. */
function parsePort(word: string): number {
  if (/^[0-9]{1,5}$/.test(word)) return Number(word)
  throw invalidArgument(`--port must be a number from 0 to 65535, got '${word}'`)
}

/** Serves until SIGINT or SIGTERM; requests in progress are answered before it ends. */
export async function serve(options: ServeOptions): Promise<void> {
  const { directory, host, port, allowHost } = options
  const say = (text: string): void => void process.stdout.write(`cellar ${text}\n`)
  const complain = (error: unknown): void => {
    process.stderr.write(`cellar: ${String(error)}\n`)
    process.exitCode = 1
  }
  const warn = (problem: unknown): void => {
    process.stderr.write(`cellar: warning: ${String(problem)}\n`)
  }
  const file = await readConfiguration(options.configuration)
  const { token, principals, tls } = await readSecrets(options, warn)
  if (token === undefined && principals.length === 0) {
    const who = 'every program of this machine may read and write'
    warn(`without a token ${who}; see --token-file`)
  }
  const { chunkBytes, hosts = [], ...limits } = file.server
  const names = [...hosts, ...allowHost]
  const own = { host, port: parsePort(port), hosts: names, token, principals }
  const serverOptions = { ...limits, ...own, ...(tls !== undefined && { tls }) }
  // Invalid options must fail before the directory is created.
  serverSettings(serverOptions)
  const database = databaseRoutes(() => served()?.database, {
    verify: verified,
    inspect: async (path, how) => inspectionToJson(await Database.inspect(path, how)),
    backup: backupsIn(options.backups),
  })
  const open = (): Promise<Served> => lead(options, file, warn)
  const { messaging, served, close } = await leadOrFollow(open, options, say, warn)
  const systems = [
    engineMetrics(() => served()?.database),
    messagingRoutes(messaging, { chunkBytes }),
    transactionRoutes(() => served()?.transactions),
    repositoryRoutes(() => served()?.repository, {
      indexes: () => served()?.indexes,
      maintenance: () => served()?.maintenance,
    }),
  ]
  const server = await CellarServer.start(
    [
      ...systems,
      database,
      consolePage(() => served()?.database, systems, {
        messaging: () => messaging,
        transactions: () => served()?.transactions,
      }),
    ],
    serverOptions,
  ).catch(async (error: unknown) => {
    await close()
    throw error
  })
  say(`serves ${directory} at ${server.url}`)
  const stop = async (): Promise<void> => {
    await server.close()
    await close()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void stop().catch(complain))
  }
}
