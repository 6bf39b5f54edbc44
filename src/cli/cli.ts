#!/usr/bin/env node
/**
 * The command `cellar`: its server, tools for the database itself, and tools for single systems.
 * `commander` parses the options.
 */
import { existsSync, readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { requirePackage } from '../api/index.js'
import { completionScript } from './completion.js'
import { addDatabaseCommands } from './database/commands.js'
import { escapeControls } from './database/output.js'
import { ExitCode, exitCodeOf } from './exit-codes.js'
import { showMessaging } from './messaging-cli.js'
import { addRepositoryCommands } from './repository-cli.js'
import { serve } from './serve.js'

function program(): Command {
  const { Command, Option } = requirePackage<typeof import('commander')>('commander', "'cellar'")
  const cellar = new Command('cellar')
    .description('Cellar: servers and tools')
    .version(version(), '-V, --version')
    // Sub-commands take over how an error of the words ends: main gives it its exit code.
    .exitOverride()
  cellar
    .command('serve')
    .description('serve transactional messaging and the content repository over HTTP')
    .option('-d, --directory <path>', 'directory of the database', 'data/cellar')
    .option('--host <address>', 'address to listen at', '127.0.0.1')
    .option('-p, --port <number>', 'port to listen at; 0 = one that is free', '11015')
    .option('--standby', 'wait while another process has the database open, and take over')
    .option('--allow-host <name...>', 'names of the server beside addresses and localhost', [])
    .option('--token-file <file>', 'token that requests need; else of the variable CELLAR_TOKEN')
    .option('--tls-certificate <file>', 'certificate in PEM, with those between it and the root')
    .option('--tls-key <file>', 'private key in PEM')
    .option('--backups <directory>', 'folder in which cellar backup --url makes backups')
    .option('--slow <milliseconds>', 'duration from which the console shows operations', '100')
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
  addDatabaseCommands(cellar)
  cellar
    .command('completion')
    .description('a script that completes words in a shell')
    .argument('<shell>', 'bash, zsh or fish')
    .action((shell: string) => void process.stdout.write(completionScript(cellar, shell)))
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
  tables, describe, stats, get, scan, count, metrics
               look into a database, also while a process has it open
  dump, load   the cells of a table as text, and back
  move         tables to HBase, or back
  export-hfiles, load-hfiles
               tables as files of HBase, and back
  inspect, verify, salvage, repair, backup, restore, compact
               check a database, save what can be saved, keep it
  completion   a script that completes words in a shell

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

/** The code of a write to a pipe that its reader has closed. */
const noReader = 'EPIPE'

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
    const { code, exitCode, message } = error as Error & { code?: string; exitCode?: number }
    if (code === noReader) return
    if (code?.startsWith('commander.') === true) {
      // The parser has named the mistake, or shown the help that was asked for.
      process.exitCode = exitCode === 0 ? ExitCode.sound : ExitCode.usage
      return
    }
    // Messages hold words of files and of servers.
    const lines = message.split('\n').map(escapeControls)
    process.stderr.write(`cellar: ${lines.join('\n')}\n`)
    process.exitCode = exitCodeOf(error)
  }
}

// The reader of a pipe may have seen enough: `cellar scan t | head`. A server continues.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== noReader) {
    process.stderr.write(`cellar: ${error.message}\n`)
    process.exitCode = exitCodeOf(error)
  }
  if (process.argv[2] !== 'serve') process.exit()
})
// A message without a reader is lost, and the work continues.
process.stderr.on('error', () => undefined)
void main(process.argv.slice(2))
