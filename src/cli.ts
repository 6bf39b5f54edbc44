#!/usr/bin/env node
/** The command `cellar`: its server, and tools for single systems; options by `commander`. */
import type { Command } from 'commander'
import { requirePackage } from './api/index.js'
import { Database } from './index.js'
import { addRepositoryCommands } from './repository-cli.js'
import { debugMessaging, type DebugView } from './server/messaging-debugger.js'
import { serve } from './serve.js'

function program(): Command {
  const { Command, Option } = requirePackage<typeof import('commander')>('commander', "'cellar'")
  const cellar = new Command('cellar').description('Cellar: servers and tools')
  cellar
    .command('serve')
    .description('serve transactional messaging and the content repository over HTTP')
    .option('-d, --directory <path>', 'directory of the database', 'data/cellar')
    .option('--host <address>', 'address to listen at', '127.0.0.1')
    .option('-p, --port <number>', 'port to listen at; 0 = one that is free', '11015')
    .option('--standby', 'wait while another process has the database open, and take over')
    .option('--allow-host <name...>', 'names of the server beside addresses and localhost', [])
    .option('--token-file <file>', 'token that requests need; else of the variable CELLAR_TOKEN')
    .option('--configuration <file>', 'module with blob stores, search servers, hooks, times')
    .option('--access <file>', 'JSON with principals: their tokens and permissions')
    .addOption(
      new Option('--durability <where>', 'where writes are when they are answered')
        .choices(['disk', 'system'])
        .default('disk'),
    )
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
  addRepositoryCommands(cellar)
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
