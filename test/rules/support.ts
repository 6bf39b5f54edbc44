/** What the rule tests share: the source files of the project, and running a tool of it. */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { projectRoot } from '../helpers/project-root.js'

export { projectRoot }

/** A source file of the project. */
export interface SourceFile {
  /** Relative to {@link projectRoot}, with slashes. */
  readonly path: string
  readonly text: string
  readonly tree: ts.SourceFile
}

/** Parses text as TypeScript with parent links, as {@link sourceFiles} does. */
export function parse(path: string, text: string): SourceFile {
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true)
  return { path, text, tree }
}

/** The rule tests share a process, and what they have parsed. */
const parsed = new Map<string, SourceFile>()

/** The TypeScript files below the given top folders, sorted by path. */
export function sourceFiles(...folders: string[]): SourceFile[] {
  const paths = folders.flatMap((folder) => filesBelow(folder, (path) => path.endsWith('.ts')))
  return paths.map((path) => {
    const file = parsed.get(path) ?? parse(path, readFileSync(join(projectRoot, path), 'utf8'))
    parsed.set(path, file)
    return file
  })
}

/**
 * Paths of the files below a folder, relative to the project; nothing if it does not exist. What
 * is installed there (the peers of the benchmarks) is not ours.
 */
export function filesBelow(folder: string, accept: (path: string) => boolean): string[] {
  if (!existsSync(join(projectRoot, folder))) return []
  const paths: string[] = []
  for (const entry of readdirSync(join(projectRoot, folder), { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`
    if (entry.name === 'node_modules') continue
    if (entry.isDirectory()) paths.push(...filesBelow(path, accept))
    else if (accept(path)) paths.push(path)
  }
  return paths.sort()
}

/** `path:line` of a node. */
export function placeOf(file: SourceFile, node: ts.Node): string {
  const { line } = file.tree.getLineAndCharacterOfPosition(node.getStart(file.tree))
  return `${file.path}:${line + 1}`
}

/** Calls `visit` for every node below `node`, parents first. */
export function visitNodes(node: ts.Node, visit: (node: ts.Node) => void): void {
  ts.forEachChild(node, (child) => {
    visit(child)
    visitNodes(child, visit)
  })
}

/** How a child process ended. */
export interface ChildResult {
  /** The exit code; null if a signal ended the process. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program to its end, in this process's environment plus `environment`. */
export function runProgram(
  program: string,
  args: readonly string[],
  settings: { cwd?: string; environment?: Record<string, string>; input?: string } = {},
): Promise<ChildResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: settings.cwd ?? projectRoot,
      env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0', ...settings.environment },
    })
    const stdout: Buffer[] = []
    const stderr: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk))
    child.on('error', reject)
    child.on('close', (code) => {
      const text = (chunks: Buffer[]): string => Buffer.concat(chunks).toString('utf8')
      resolve({ code, stdout: text(stdout), stderr: text(stderr) })
    })
    // A program may end before it has read what it is given.
    child.stdin.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') reject(error)
    })
    child.stdin.end(settings.input ?? '')
  })
}

/** Runs a script of an installed development package with this Node. */
export function runTool(
  script: string,
  args: readonly string[],
  cwd?: string,
): Promise<ChildResult> {
  return runProgram(process.execPath, [join(projectRoot, 'node_modules', script), ...args], { cwd })
}
