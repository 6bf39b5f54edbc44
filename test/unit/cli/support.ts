/** Runs the command, and tells whether a directory was changed. */
import { fork, spawn, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { childEnvironment } from '../../helpers/child-environment.js'
import { projectRoot } from '../../rules/support.js'

/** The command as the package has it. */
export const cli = join(projectRoot, 'build/package/cellar.js')

/** What a run of the command left. */
export interface Ran {
  readonly status: number | null
  readonly out: string
  readonly complaint: string
}

/** Runs the command in a process of its own, in a folder and with variables of its environment. */
export async function startCellar(
  words: readonly string[],
  { cwd, environment }: { cwd?: string; environment?: Record<string, string> } = {},
): Promise<Ran> {
  const env = { ...childEnvironment, ...environment }
  const child = spawn(process.execPath, [cli, ...words], { cwd, env })
  let out = ''
  let complaint = ''
  child.stdout.on('data', (text: Buffer) => (out += text.toString()))
  child.stderr.on('data', (text: Buffer) => (complaint += text.toString()))
  const status = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { status, out, complaint }
}

/** The process that runs the commands of all test files; see `command-host.ts`. */
let host: ChildProcess | undefined

/** The commands that the host was given, one after the other. */
let last: Promise<unknown> = Promise.resolve()

/** The next message of the host. The host keeps this process only while it waits. */
async function answerOf(running: ChildProcess): Promise<unknown> {
  running.channel!.ref()
  return new Promise((resolve, reject) => {
    const onExit = (status: number | null): void => {
      host = undefined
      reject(new Error(`the host of commands ended with ${status}`))
    }
    running.once('exit', onExit)
    running.once('message', (message) => {
      running.off('exit', onExit)
      running.channel!.unref()
      resolve(message)
    })
  })
}

async function runInHost(words: readonly string[]): Promise<Ran> {
  if (host === undefined) {
    const program = fileURLToPath(new URL('command-host.js', import.meta.url))
    host = fork(program, [cli], {
      env: childEnvironment,
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    host.unref()
    await answerOf(host)
  }
  host.send(words)
  return (await answerOf(host)) as Ran
}

/** Runs the command in the process of all commands, after those before: a start costs more. */
export function cellar(...words: string[]): Promise<Ran> {
  const ran = last.then(() => runInHost(words))
  last = ran.catch(() => undefined)
  return ran
}

/** As {@link cellar}, with the result as JSON. */
export async function cellarJson<T = Record<string, unknown>>(...words: string[]): Promise<T> {
  const { status, out, complaint } = await cellar(...words, '--json')
  if (status !== 0 && status !== 1) throw new Error(`exit ${status}: ${complaint}`)
  return JSON.parse(out) as T
}

/** Names and contents of all files of a directory, without times: a lock came and went. */
export function contentsOf(directory: string): string {
  return fingerprint(directory).replace(/^(\S+) \S+ (?:\S+) (\S+)$/gm, '$1 $2')
}

/** Names, contents and times of all files of a directory; 'absent' if there is none. */
export function fingerprint(directory: string): string {
  if (!existsSync(directory)) return 'absent'
  const isFolder = statSync(directory).isDirectory()
  const names = isFolder ? readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort() : []
  const lines = [directory, ...names.map((name) => join(directory, name))].map((path) => {
    const stat = statSync(path)
    const content = stat.isFile() ? readFileSync(path) : ''
    const hash = createHash('sha256').update(content).digest('hex')
    return `${path} ${stat.mtimeMs} ${stat.size} ${hash}`
  })
  return lines.join('\n')
}

/** A directory of a test that is removed at its end. */
export function temporary(t: { teardown(run: () => void): void }): string {
  const directory = mkdtempSync(join(tmpdir(), 'cellar-verbs-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}
