#!/usr/bin/env node
/** The command `cellar`: `cellar serve` and `cellar messaging`; options by `commander`. */
import type { Command } from 'commander'
import { requirePackage } from './api/index.js'
import { Database } from './index.js'
import { MessagingService } from './messaging/index.js'
import { TransactionManager } from './transactions/index.js'
import { debugMessaging, type DebugView } from './server/messaging-debugger.js'
import { CellarServer, messagingRoutes } from './server/index.js'

interface ServeOptions {
  readonly directory: string
  readonly host: string
  readonly port: string
  readonly token?: string
  readonly durability: string
}

async function serve(options: ServeOptions): Promise<void> {
  const { directory, host, port, token, durability } = options
  const database = await Database.open(directory)
  const manager = await TransactionManager.open(database)
  const messaging = await MessagingService.open(database, {
    durability: durability === 'disk' ? 'FSYNC_WAL' : 'SYNC_WAL',
    transactions: manager,
    register: (coprocessor) => database.registerCoprocessor(coprocessor),
  })
  const server = await CellarServer.start([messagingRoutes(messaging)], {
    host,
    port: Number(port),
    ...(token === undefined ? {} : { token }),
  })
  process.stdout.write(`cellar serves ${directory} at ${server.url}\n`)
  const stop = async (): Promise<void> => {
    await server.close()
    await messaging.close()
    await manager.close()
    await database.close()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      stop().catch((error: unknown) => {
        process.stderr.write(`${String(error)}\n`)
        process.exitCode = 1
      })
    })
  }
}

function program(): Command {
  const { Command } = requirePackage<typeof import('commander')>('commander', "'cellar'")
  const cellar = new Command('cellar').description('Cellar: servers and tools')
  cellar
    .command('serve')
    .description('serve transactional messaging over HTTP')
    .option('-d, --directory <path>', 'directory of the database', 'data/cellar')
    .option('--host <address>', 'address to listen at', '127.0.0.1')
    .option('-p, --port <number>', 'port to listen at; 0 = one that is free', '11015')
    .option('--token <text>', 'demanded of every request')
    .option('--durability <where>', "'disk', or 'system' for its cache", 'disk')
    .action(serve)
  cellar
    .command('messaging')
    .description('look into the messaging tables of a database that is not open elsewhere')
    .argument('<view>', "'topics', 'messages', 'payloads' or 'transactions'")
    .argument('[topic]', 'namespace:topic')
    .option('-d, --directory <path>', 'directory of the database', 'data/cellar')
    .option('-n, --limit <number>', 'most rows', '100')
    .action(
      async (
        view: DebugView,
        topic: string | undefined,
        { directory, limit }: { directory: string; limit: string },
      ) => {
        const database = await Database.open(directory)
        try {
          for await (const line of debugMessaging(database, view, topic, Number(limit))) {
            process.stdout.write(`${line}\n`)
          }
        } finally {
          await database.close()
        }
      },
    )
  return cellar
}

/** Runs the command line. */
export async function main(words: readonly string[]): Promise<void> {
  try {
    await program().parseAsync(words, { from: 'user' })
  } catch (error) {
    process.stderr.write(`cellar: ${(error as Error).message}\n`)
    process.exitCode = 1
  }
}

void main(process.argv.slice(2))
