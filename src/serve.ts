/** `cellar serve`: transactional messaging over HTTP, from one directory. */
import { Database } from './index.js'
import { MessagingService, StandbyMessaging, type Leadership } from './messaging/index.js'
import { CellarServer, messagingRoutes } from './server/index.js'
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
  readonly durability: string
  readonly standby?: boolean
}

/** What is served, and what ends it. */
interface Served extends Leadership {
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
  const close = async (): Promise<void> => {
    await pruning.stop()
    await messaging.close()
    await manager.close()
    await pruneState.settled()
    await database.close()
  }
  return { messaging, close }
}

/** Waits while another process has the database open. */
async function follow(
  options: ServeOptions,
  say: (text: string) => void,
  complain: (error: unknown) => void,
): Promise<Served> {
  const { directory } = options
  const messaging = await StandbyMessaging.start({
    open: () => lead(options),
    changed: (outcome) => (outcome === 'leads' ? say(`leads ${directory}`) : complain(outcome)),
  })
  if (!messaging.isLeader) say(`waits for ${directory}`)
  return { messaging, close: () => messaging.stop() }
}

/** Serves until SIGINT or SIGTERM. */
export async function serve(options: ServeOptions): Promise<void> {
  const { directory, host, port, token, standby } = options
  const say = (text: string): void => void process.stdout.write(`cellar ${text}\n`)
  const complain = (error: unknown): void => {
    process.stderr.write(`cellar: ${String(error)}\n`)
    process.exitCode = 1
  }
  const { messaging, close } = await (standby === true
    ? follow(options, say, complain)
    : lead(options))
  const server = await CellarServer.start([messagingRoutes(messaging)], {
    host,
    port: Number(port),
    ...(token === undefined ? {} : { token }),
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
