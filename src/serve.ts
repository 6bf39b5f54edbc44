/** `cellar serve`: messaging and the content repository over HTTP, from one directory. */
import { readFile } from 'node:fs/promises'
import { Database } from './index.js'
import { MessagingService, StandbyMessaging, type Leadership } from './messaging/index.js'
import { RepositoryManager, type SearchIndexes } from './repository/index.js'
import { openSearch } from './repository-search.js'
import { CellarServer, messagingRoutes, repositoryRoutes, type Principal } from './server/index.js'
import {
  PruneState,
  pruneStatePlugin,
  TransactionManager,
  TransactionPruningService,
} from './transactions/index.js'

/** The options of the command line. */
export interface ServeOptions {
  readonly directory: string
  readonly host: string
  readonly port: string
  readonly token?: string
  readonly access?: string
  readonly durability: string
  readonly standby?: boolean
}

/** What is served, and what ends it. */
interface Served extends Leadership {
  /** Undefined while another process leads. */
  readonly repository: () => RepositoryManager | undefined
  readonly indexes: () => SearchIndexes | undefined
  readonly close: () => Promise<void>
}

const pruneTable = 'tx.prune'

/** Opens the database with its transactions, its messaging, and the pruning of both. */
async function lead({ directory, durability }: ServeOptions): Promise<Served> {
  const database = await Database.open(directory)
  const table = await database.admin.ensureTable(pruneTable, { families: { d: {} } })
  const manager = await TransactionManager.open(database)
  const pruneState = await PruneState.open({ table })
  const messaging = await MessagingService.open(database, {
    durability: durability === 'disk' ? 'FSYNC_WAL' : 'SYNC_WAL',
    transactions: manager,
    pruneState,
    register: (coprocessor) => database.registerCoprocessor(coprocessor),
  })
  const pruning = new TransactionPruningService({
    manager,
    plugins: [pruneStatePlugin(pruneState, () => ['tms.message'])],
  })
  pruning.start()
  const repository = await RepositoryManager.open(database, {
    durability: durability === 'disk' ? 'FSYNC_WAL' : 'SYNC_WAL',
  })
  await repository.followLinks()
  const search = await openSearch(repository, database)
  const close = async (): Promise<void> => {
    await pruning.stop()
    await search.close()
    await repository.close()
    await messaging.close()
    await manager.close()
    await pruneState.settled()
    await database.close()
  }
  return { messaging, close, repository: () => repository, indexes: () => search.indexes }
}

/** Waits while another process has the database open. */
async function follow(
  options: ServeOptions,
  say: (text: string) => void,
  complain: (error: unknown) => void,
): Promise<Served> {
  const { directory } = options
  let served: Served | undefined
  const messaging = await StandbyMessaging.start({
    open: async () => (served = await lead(options)),
    changed: (outcome) => (outcome === 'leads' ? say(`leads ${directory}`) : complain(outcome)),
  })
  if (!messaging.isLeader) say(`waits for ${directory}`)
  const repository = (): RepositoryManager | undefined => served?.repository()
  const indexes = (): SearchIndexes | undefined => served?.indexes()
  return { messaging, close: () => messaging.stop(), repository, indexes }
}

/** The principals of the file of `--access`: an array, or `{ "principals": […] }`. */
async function principalsOf({ access }: ServeOptions): Promise<readonly Principal[]> {
  if (access === undefined) return []
  const json = JSON.parse(await readFile(access, 'utf8')) as { principals?: unknown }
  const principals = Array.isArray(json) ? (json as unknown) : json.principals
  if (Array.isArray(principals)) return principals as readonly Principal[]
  throw new Error(`${access} has no array of principals`)
}

/** Serves until SIGINT or SIGTERM. */
export async function serve(options: ServeOptions): Promise<void> {
  const { directory, host, port, token, standby } = options
  const say = (text: string): void => void process.stdout.write(`cellar ${text}\n`)
  const complain = (error: unknown): void => {
    process.stderr.write(`cellar: ${String(error)}\n`)
    process.exitCode = 1
  }
  const principals = await principalsOf(options)
  const { messaging, close, repository, indexes } = await (standby === true
    ? follow(options, say, complain)
    : lead(options))
  const server = await CellarServer.start(
    [messagingRoutes(messaging), repositoryRoutes(repository, { indexes })],
    {
      host,
      port: Number(port),
      ...(token === undefined ? {} : { token }),
      principals,
    },
  )
  say(`serves ${directory} at ${server.url}`)
  const stop = async (): Promise<void> => {
    await server.close()
    await close()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void stop().catch(complain))
  }
}
