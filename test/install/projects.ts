/** Fresh projects with the packed package in them, and programs that run there. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { thisRuntime } from '../crash/runtimes/runtimes-runner.js'
import { projectRoot, runProgram, type ChildResult } from '../rules/support.js'

/** The npm that belongs to this Node, without the settings of the tests. */
const npmEnvironment = { NODE_OPTIONS: '', npm_config_update_notifier: 'false' }

/** Runs npm; throws what it prints if it fails. */
export async function npm(directory: string, ...words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram('npm', words, {
    cwd: directory,
    environment: npmEnvironment,
  })
  if (code !== 0) throw new Error(`npm ${words.join(' ')}: ${stderr}`)
  return stdout
}

/** Whether the registry answers. */
export async function hasRegistry(): Promise<boolean> {
  try {
    await npm(projectRoot, 'view', 'xxhash-wasm', 'version')
    return true
  } catch {
    return false
  }
}

/** A directory outside of the repository, so that nothing of it is found from there. */
export function makeDirectory(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'cellardb-install-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** Packs the built package; the path of the tarball. */
export async function pack(directory: string): Promise<string> {
  const { code, stderr } = await runProgram(process.execPath, ['.ci/declarations.mjs'], {
    cwd: projectRoot,
  })
  if (code !== 0) throw new Error(`declarations: ${stderr}`)
  await npm(projectRoot, 'pack', '--ignore-scripts', '--pack-destination', directory)
  const [tarball] = readdirSync(directory).filter((name) => name.endsWith('.tgz'))
  return join(directory, tarball)
}

/** Projects below a folder. Each is installed behind the one before, while others are tested. */
export class Projects {
  readonly #root: string
  #last: Promise<unknown> = Promise.resolve()

  constructor(root: string) {
    this.#root = root
  }

  /** Makes a project and installs packages into it; its directory. */
  make(name: string, packages: readonly string[], flags: readonly string[] = []): Promise<string> {
    const directory = join(this.#root, name)
    const description = { name: 'app', private: true, type: 'module' }
    const made = this.#last.then(async () => {
      write(directory, 'package.json', JSON.stringify(description))
      await npm(directory, 'install', '--no-audit', '--no-fund', ...flags, ...packages)
      return directory
    })
    // Whoever waits for the project hears of the failure.
    this.#last = made.catch(() => undefined)
    return made
  }
}

/** Writes a file below a directory. */
export function write(directory: string, name: string, text: string): void {
  const path = join(directory, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** What the program below prints. */
export interface Outcome {
  readonly rows: number
  readonly executor: string
  readonly warnings: readonly string[]
}

/** A program that writes, flushes and reads; `load` makes the name `Database` known. */
export function program(load: string): string {
  return `${load}
async function main() {
  const warnings = []
  const db = await Database.open(process.argv[2], { flushBytes: 64 * 1024 })
  db.on('warning', (warning) => warnings.push(warning.message))
  const table = await db.ensureTable('t', { families: { f: {} } })
  const puts = Array.from({ length: 2000 }, (_, i) =>
    table.put({ row: 'r' + i, cells: { 'f:v': 'x'.repeat(100) } }))
  await Promise.all(puts)
  await db.flush()
  const rows = (await table.scan().all()).length
  const { executor, tableFiles } = db.statistics()
  if (tableFiles === 0) throw new Error('nothing was flushed')
  await db.close()
  console.log(JSON.stringify({ rows, executor, warnings }))
}
main().catch((error) => { console.error(error); process.exitCode = 1 })
`
}

/** Runs a program of a project on a database of its own. */
export async function run(
  directory: string,
  script: string,
  runtime = thisRuntime,
): Promise<Outcome> {
  const database = mkdtempSync(join(directory, 'database-'))
  const { code, stdout, stderr } = await runProgram(
    runtime.path,
    [...runtime.flags, script, database],
    { cwd: directory, environment: { NODE_OPTIONS: '' } },
  )
  if (code !== 0) throw new Error(`${script}: exit ${code}; ${stderr}`)
  return JSON.parse(stdout) as Outcome
}

/** Runs Node in a project, without the loaders of the tests. */
export function runNode(directory: string, words: readonly string[]): Promise<ChildResult> {
  return runProgram(process.execPath, words, { cwd: directory, environment: { NODE_OPTIONS: '' } })
}
