/**
 * A control group of Linux with a limit of memory, for one process: its own memory, and the files
 * that the system keeps in memory for it. Both versions of control groups are known.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = '/sys/fs/cgroup'

/** The files of a version that hold the limit, and what of the group's memory is files. */
interface Version {
  readonly parent: string
  readonly limitFile: string
  readonly fileLine: RegExp
}

/** The group of this process, below which groups of its own can be made. */
function findVersion(): Version {
  const lines = readFileSync('/proc/self/cgroup', 'utf8').split('\n')
  const memory = lines.find((line) => /^\d+:([^:]*,)?memory(,[^:]*)?:/.test(line))
  if (memory !== undefined) {
    const parent = join(root, 'memory', memory.split(':')[2])
    return { parent, limitFile: 'memory.limit_in_bytes', fileLine: /^cache (\d+)$/m }
  }
  const unified = lines.find((line) => line.startsWith('0::'))
  const parent = join(root, unified?.slice(3) ?? '')
  // Version 2 allows the limit only where the parent has handed the controller down.
  const controllers = readFileSync(join(parent, 'cgroup.subtree_control'), 'utf8').split(/\s+/)
  if (!controllers.includes('memory')) throw new Error(`${parent} hands no memory controller down`)
  return { parent, limitFile: 'memory.max', fileLine: /^file (\d+)$/m }
}

/** A group that exists until it is removed. */
export class ControlGroup {
  private readonly path: string
  private readonly fileLine: RegExp

  private constructor(path: string, fileLine: RegExp) {
    this.path = path
    this.fileLine = fileLine
  }

  /** Makes a group with a limit in bytes. Throws if that is not possible here. */
  static make(limitBytes: number): ControlGroup {
    const { parent, limitFile, fileLine } = findVersion()
    const path = join(parent, `cellar-bench-${process.pid}`)
    mkdirSync(path)
    try {
      writeFileSync(join(path, limitFile), String(limitBytes))
      const swap = join(path, 'memory.swap.max')
      if (existsSync(swap)) writeFileSync(swap, '0')
    } catch (error) {
      rmdirSync(path)
      throw error
    }
    return new ControlGroup(path, fileLine)
  }

  /** Moves a process into the group. Its memory so far stays where it is counted. */
  add(processId: number): void {
    writeFileSync(join(this.path, 'cgroup.procs'), String(processId))
  }

  /** Bytes of files in the group's memory. */
  get fileBytes(): number {
    const match = this.fileLine.exec(readFileSync(join(this.path, 'memory.stat'), 'utf8'))
    return Number(match?.[1] ?? 0)
  }

  /** Removes the group. REQUIRES that its processes have ended. */
  remove(): void {
    rmdirSync(this.path)
  }
}

/** Why no group can be made here; undefined: one can. */
export function whyNoControlGroup(): string | undefined {
  try {
    ControlGroup.make(64 * 1024 * 1024).remove()
    return undefined
  } catch (error) {
    return `no control group can be made: ${(error as Error).message}`
  }
}
