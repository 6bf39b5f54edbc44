/** Where figures were measured: without it they mean nothing. */
import { execFileSync } from 'node:child_process'
import { cpus, release, totalmem } from 'node:os'

/** Machine, Node and commit of a run. */
export interface Environment {
  /** ISO 8601, UTC. */
  readonly date: string
  readonly cpu: string
  readonly cores: number
  readonly memoryBytes: number
  readonly platform: string
  readonly node: string
  /**
   * Commit of the working tree, with `-dirty` if it has changes but for recorded results; undefined
   * outside of git.
   */
  readonly commit: string | undefined
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
}

function findCommit(): string | undefined {
  try {
    const commit = git('rev-parse', '--short=12', 'HEAD')
    const changes = git('status', '--porcelain', '--', '.', ':!bench/results')
    return changes === '' ? commit : `${commit}-dirty`
  } catch {
    return undefined
  }
}

/** Describes this machine and this working tree. */
export function describeEnvironment(): Environment {
  return {
    date: new Date().toISOString(),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryBytes: totalmem(),
    platform: `${process.platform} ${process.arch} ${release()}`,
    node: process.version,
    commit: findCommit(),
  }
}
