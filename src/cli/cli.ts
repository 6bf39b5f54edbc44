#!/usr/bin/env node
/**
 * The command `cellar`: its server, and tools for single systems. `commander` parses the options.
 */
import { existsSync, readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { requirePackage } from '../api/index.js'
import { showMessaging } from './messaging-cli.js'
import { addRepositoryCommands } from './repository-cli.js'
import { serve } from './serve.js'

function program(): Command {
  const { Command, Option } = requirePackage<typeof import('commander')>('commander', "'cellar'")
  const cellar = new Command('cellar')
    .description('Cellar: servers and tools')
    .version(version(), '-V, --version')
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
    .description('look into the messaging of a directory, or of a server that runs')
    .argument('<view>', "'topics', 'messages', 'payloads', 'positions' or 'transactions'")
    .argument('[topic]', 'namespace:topic')
    .option('-d, --directory <path>', 'directory of the database', 'data/cellar')
    .option('--url <address>', 'a server that runs, such as http://127.0.0.1:11015')
    .option('--token-file <file>', 'token of the server; else of the variable CELLAR_TOKEN')
    .option('-n, --limit <number>', 'most lines', '100')
    .action(showMessaging)
  addRepositoryCommands(cellar)
  return cellar
}

/** The version in `package.json`, two folders above, or three if not bundled. */
function version(): string {
  const places = ['../../package.json', '../../../package.json']
  const file = places.map((path) => new URL(path, import.meta.url)).find(existsSync)!
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

/** The help without `commander`: optional packages may be missing. */
const help = `Usage: cellar <command> [options]

  serve        messaging and the content repository over HTTP
  messaging    look into the messaging of a directory, or of a server that runs
  repository   records of a database that is not open elsewhere

Each needs the package 'commander', and 'serve' also 'fastify':
npm install commander fastify
`

function hasPackage(name: string): boolean {
  try {
    requirePackage(name, 'help')
    return true
  } catch {
    return false
  }
}

/** Runs the command line. */
export async function main(words: readonly string[]): Promise<void> {
  try {
    if (words.length === 1 && ['-V', '--version'].includes(words[0])) {
      process.stdout.write(`${version()}\n`)
      return
    }
    if (words.length === 0 || ['-h', '--help', 'help'].includes(words[0])) {
      if (!hasPackage('commander')) {
        process.stdout.write(help)
        return
      }
    }
    await program().parseAsync(words, { from: 'user' })
  } catch (error) {
    process.stderr.write(`cellar: ${(error as Error).message}\n`)
    process.exitCode = 1
  }
}

void main(process.argv.slice(2))
