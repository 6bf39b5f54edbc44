/**
 * Plants one fault in a copy of the build and runs tests on that copy.
 *
 * The copy is a directory of hard links beside links to the rest of the project; making one takes
 * a second and no space. Only the compiled file with the fault is written anew. Its types are not
 * checked: a fault may be anything that JavaScript runs.
 */
import { spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import ts from 'typescript'
import { projectRoot } from '../helpers/project-root.js'
import type { PlantedFault } from './planted-fault.js'

/** How a test file ended. */
export interface TestOutcome {
  readonly passed: boolean
  /** The first line that says what failed, or how the process ended. */
  readonly reason: string
}

/** Random histories in which a fault is sought: more than in the short form of their tests. */
const sought = {
  CELLAR_CACHE_ROUNDS: '12',
  CELLAR_INDEX_HISTORIES: '12',
  CELLAR_PLAIN_ROUNDS: '20',
  CELLAR_PROJECTION_HISTORIES: '15',
}

/** The places of a text in another one. */
export function countOf(text: string, part: string): number {
  return part === '' ? 0 : text.split(part).length - 1
}

/** What is wrong with the description of a fault, or `undefined`: the source may have moved on. */
export function staleness(fault: PlantedFault): string | undefined {
  const path = join(projectRoot, fault.file)
  if (!existsSync(path)) return `${fault.file} does not exist`
  const places = countOf(readFileSync(path, 'utf8'), fault.find)
  if (places !== 1) return `its text occurs ${places} times in ${fault.file}`
  if (fault.find === fault.replace) return 'it changes nothing'
  if (fault.tests.length === 0 && fault.foundBy === undefined) return 'it names no test'
  const missing = fault.tests.find((test) => !existsSync(join(projectRoot, test)))
  return missing === undefined ? undefined : `${missing} does not exist`
}

/** A copy of the project to plant faults in; call {@link dispose} at the end. */
export class PlantedBuild {
  readonly #root: string

  constructor() {
    this.#root = mkdtempSync(join(tmpdir(), 'cellar-planted-'))
    for (const entry of readdirSync(projectRoot)) {
      if (entry === 'build' || entry === '.git') continue
      symlinkSync(join(projectRoot, entry), join(this.#root, entry))
    }
    linkTree(join(projectRoot, 'build'), join(this.#root, 'build'))
  }

  /** Writes the faulty text, compiled, in place of the file. */
  plant(fault: PlantedFault): void {
    const source = readFileSync(join(projectRoot, fault.file), 'utf8')
    const faulty = source.replace(fault.find, () => fault.replace)
    const { outputText } = ts.transpileModule(faulty, {
      compilerOptions: {
        target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.ESNext,
        verbatimModuleSyntax: true,
      },
    })
    const target = this.#compiled(fault)
    // The file is a link to the one of the real build: it must not be written through.
    rmSync(target)
    writeFileSync(target, outputText)
  }

  /** Puts the sound file back. */
  remove(fault: PlantedFault): void {
    const target = this.#compiled(fault)
    rmSync(target)
    linkOrCopy(join(projectRoot, 'build', compiledPath(fault.file)), target)
  }

  /** Runs a test file or another program, given by its source, in the copy. */
  async run(test: string, secondsMax: number, args: readonly string[] = []): Promise<TestOutcome> {
    const program = join(this.#root, 'build', compiledPath(test))
    const child = spawn(process.execPath, [program, ...args], {
      cwd: this.#root,
      stdio: ['ignore', 'pipe', 'ignore'],
      // The limit of this call counts, not that of tap for a test run alone, which is 30 s.
      env: { ...sought, ...process.env, NO_COLOR: '1', TAP_TIMEOUT: '0' },
      detached: true,
    })
    let failure = ''
    let rest = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      if (failure === '') {
        // The innermost failed assertion says most, and is printed before those around it.
        failure = lines.find((line) => /^\s*not ok/.test(line) && !/# SKIP/i.test(line)) ?? ''
      }
    })
    let late = false
    const timer = setTimeout(() => {
      late = true
      killGroup(child.pid)
    }, secondsMax * 1000)
    const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
      child.on('close', (code, signal) => {
        resolve([code, signal])
      })
    })
    clearTimeout(timer)
    killGroup(child.pid)
    if (late) return { passed: false, reason: `did not end within ${secondsMax} s` }
    if (code === 0) return { passed: true, reason: '' }
    return { passed: false, reason: failure.trim() || `exit ${code ?? signal}` }
  }

  /** Removes the copy. */
  dispose(): void {
    rmSync(this.#root, { recursive: true, force: true })
  }

  #compiled(fault: PlantedFault): string {
    return join(this.#root, 'build', compiledPath(fault.file))
  }
}

function compiledPath(source: string): string {
  return source.replace(/\.ts$/, '.js')
}

/** Ends a test with the processes that it started. */
function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has ended.
  }
}

function linkTree(from: string, to: string): void {
  mkdirSync(to)
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) linkTree(source, target)
    else if (entry.isFile()) linkOrCopy(source, target)
  }
}

/** A temporary directory may lie on another file system than the project. */
function linkOrCopy(source: string, target: string): void {
  try {
    linkSync(source, target)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    mkdirSync(dirname(target), { recursive: true })
    cpSync(source, target)
  }
}
