/**
 * The console: a page that shows what the server and its database do now. Its state is one answer
 * for administrators, which the page asks for again and again.
 */
import {
  systemClock,
  checkArray,
  declareOptions,
  callback,
  integer,
  type OptionsOf,
} from '../api/index.js'
import { addRoutes, type Route } from '../http/operations.js'
import { pagePaths, registerPage } from '../http/page.js'
import { finderOf, type ServerSystem, type Source } from '../http/server-system.js'
import { MessagingService, StandbyMessaging, type Messaging } from '../systems/messaging/index.js'
import type { TransactionManager } from '../systems/transactions/index.js'
import { locksOf, type ShownLock } from '../systems/metastore/pulsar/store/locks.js'
import { bytesToJson, toJson, type JsonBytes } from './database/json.js'
import type { SeenDatabase } from './database/views.js'
import { healthOf } from './systems.js'

/** An operation that was slow. */
export interface SlowOperationEvent {
  readonly table: string
  readonly family: string | undefined
  readonly row: Buffer | undefined
  readonly kind: string
  readonly milliseconds: number
}

/** A database whose slow operations the console shows. */
export interface ConsoleDatabase extends SeenDatabase {
  /** Calls `listener` for each slow operation. */
  on(event: 'slowOperation', listener: (operation: SlowOperationEvent) => void): unknown
  /** Ends what {@link on} began. */
  off(event: 'slowOperation', listener: (operation: SlowOperationEvent) => void): unknown
}

const consoleOptions = declareOptions('the console', {
  /** Finds the messaging whose topics are shown. Default: none. */
  messaging: callback<() => Messaging | undefined>(),
  /** Finds the manager whose transactions are counted. Default: none. */
  transactions: callback<() => TransactionManager | undefined>(),
  /** Slow operations that are kept, the newest ones. Default 50. */
  slowOperationsMax: integer({ min: 1, max: 10_000, default: 50 }),
})

/** Options of {@link consolePage}. */
export interface ConsoleOptions extends OptionsOf<typeof consoleOptions> {}

interface SlowOperation extends Omit<SlowOperationEvent, 'row'> {
  readonly row: JsonBytes | undefined
  readonly at: number
}

const path = '/console'
/** Most topics and locks that are shown. */
const rowsMax = 200
/** Bytes of a row that are shown. */
const rowBytesMax = 100

/**
 * The console of a server, at `/console`. Slow operations are those since its first answer; the
 * database needs `slowOperationMilliseconds`. `systems` are shown with their health.
 * `ERR_INVALID_ARGUMENT`.
 */
export function consolePage(
  source: Source<ConsoleDatabase>,
  systems: readonly ServerSystem[] = [],
  options: ConsoleOptions = {},
): ServerSystem {
  const find = finderOf(source, 'the database', ['statistics', 'on'])
  const { messaging, transactions, slowOperationsMax } = consoleOptions.read(options)
  const shown = checkArray(systems, 'systems')
  const slow: SlowOperation[] = []
  const listen = ({ row, ...operation }: SlowOperationEvent): void => {
    const start = row === undefined ? undefined : bytesToJson(row.subarray(0, rowBytesMax))
    slow.unshift({ ...operation, row: start, at: systemClock.now() })
    slow.length = Math.min(slow.length, slowOperationsMax)
  }
  let heard: ConsoleDatabase | undefined
  const opened = (): ConsoleDatabase | undefined => {
    const database = find()
    if (database !== heard) {
      heard = database
      database?.on('slowOperation', listen)
    }
    return database
  }
  const run = async (): Promise<string> => {
    const database = opened()
    const { rss, heapUsed } = process.memoryUsage()
    const process_ = { pid: process.pid, version: process.version, rss, heapUsed }
    return toJson({
      at: systemClock.now(),
      uptimeSeconds: process.uptime(),
      process: process_,
      health: healthOf(shown).shown,
      directory: database?.directory,
      statistics: database?.statistics(),
      slow,
      topics: await topicsOf(messaging?.()),
      transactions: transactions?.()?.statistics(),
      locks: database === undefined ? [] : await sharedLocks(database),
    })
  }
  const answers = { 200: 'the state of the server' }
  const route: Route<undefined> = {
    ...{ at: 'get /state', id: 'consoleState', summary: 'console state', answers },
    run,
  }
  return {
    name: 'console',
    publicPaths: pagePaths(path),
    register: (app) => {
      registerPage(app, path)
      addRoutes(app, path, [route], (_request, reply) => void reply.type('application/json'))
    },
    close: () => void heard?.off('slowOperation', listen),
  }
}

function sharedLocks(database: ConsoleDatabase): Promise<ShownLock[]> {
  return locksOf(database, database.listTables(), rowsMax)
}

async function topicsOf(messaging: Messaging | undefined): Promise<object[]> {
  const service = messaging instanceof StandbyMessaging ? messaging.leading : messaging
  if (!(service instanceof MessagingService)) return []
  const topics = service.topicCounters().slice(0, rowsMax)
  return Promise.all(
    topics.map(async ({ id, counts }) => {
      const positions = await service.listPositions(id)
      const consumers = positions.map(({ consumer, lagMilliseconds }) => {
        return { consumer, lagMilliseconds }
      })
      return { ...id, ...counts, consumers }
    }),
  )
}
