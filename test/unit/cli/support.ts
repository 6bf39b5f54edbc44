/** Runs the command in a process of its own, and tells whether a directory was changed. */
import { fork, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
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

/** Runs the command with a directory. */
export async function cellar(...words: string[]): Promise<Ran> {
  const child = spawn(process.execPath, [cli, ...words], { env: childEnvironment })
  let out = ''
  let complaint = ''
  child.stdout.on('data', (text: Buffer) => (out += text.toString()))
  child.stderr.on('data', (text: Buffer) => (complaint += text.toString()))
  const status = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { status, out, complaint }
}

/** Runs commands one after the other in one process; see `command-host.ts`. */
export async function startHost(t: { teardown(run: () => void): void }): Promise<typeof cellar> {
  const program = fileURLToPath(new URL('command-host.js', import.meta.url))
  const host = fork(program, [cli], { env: childEnvironment, execArgv: [] })
  t.teardown(() => host.disconnect())
  await once(host, 'message')
  return async (...words) => {
    host.send(words)
    const [ran] = (await once(host, 'message')) as [Ran]
    return ran
  }
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
