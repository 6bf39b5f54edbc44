/**
 * Asks the cell hooks of one job, one after the other.
 *
 * Counts the cells that each hook drops and replaces, so that the job can prove that its numbers
 * add up. Notes in shared memory which hook is running, so that a watchdog in another thread can
 * tell a looping hook from a slow disk.
 *
 * An error of a hook, and an answer without meaning, become an `ERR_COPROCESSOR` that names the
 * coprocessor and the method. The chain cannot be used afterwards.
 */
import { isDeleteMarker } from '../cell/cell-type.js'
import type { CellView } from '../cell/cell-view.js'
import { CellDecision, type CellHook, type CellHookSetup, type StoreJob } from './cell-hook.js'
import { badAnswer, coprocessorError, refusePromise } from './coprocessor-error.js'
import { HookReplacement } from './hook-replacement.js'
import { loadedModule, loadModule } from './load-module.js'

/** One hook of a job. Structured-cloneable. */
export interface HookTask {
  /** Name of the coprocessor. */
  readonly name: string
  readonly module: string
  readonly options: Readonly<Record<string, unknown>>
  readonly context: unknown
}

/** The hooks of a job. Structured-cloneable. */
export interface HookPlan {
  readonly job: StoreJob
  /** The hooks, in the order in which they are asked. */
  readonly tasks: readonly HookTask[]
  /**
   * Cells up to this sequence are kept without asking, because an open snapshot sees them; 0 =
   * none.
   */
  readonly protectedSequence: number
  /** Two shared words, see {@link HookWatch}. */
  readonly watch: SharedArrayBuffer
}

/** The counts of a hook in a job. Structured-cloneable. */
export interface HookOutcome {
  readonly name: string
  readonly dropped: number
  readonly replaced: number
  /** Cells kept without asking the hook, because an open snapshot sees them. */
  readonly notAsked: number
  /** Results of `finish`: one for each part of the job that had such a hook. */
  readonly reports: readonly unknown[]
}

/** Indexes of the words of {@link HookPlan.watch}. */
export const HookWatch = {
  /** 1 + index of the running hook; 0 if none is running. */
  running: 0,
  /** Changes with each call of a hook. */
  calls: 1,
} as const

interface Link {
  readonly name: string
  readonly hook: CellHook
  readonly decidesMarkers: boolean
  readonly hasStartRow: boolean
  /** Number of the last row for which `startRow` was called. */
  row: number
  dropped: number
  replaced: number
}

/** Makes the memory for {@link HookPlan.watch}. */
export function makeHookWatch(): SharedArrayBuffer {
  return new SharedArrayBuffer(8)
}

/**
 * Loads the modules of a plan. Required in the thread of the job before a {@link HookChain} is
 * made.
 */
export async function loadHooks(plan: HookPlan | undefined): Promise<void> {
  if (plan === undefined) return
  const watch = new Int32Array(plan.watch)
  for (let i = 0; i < plan.tasks.length; i++) {
    const { name, module } = plan.tasks[i]
    watch[HookWatch.running] = i + 1
    watch[HookWatch.calls]++
    await loadModule(name, module)
  }
  watch[HookWatch.running] = 0
}

/** The hooks of one job, or of one part of a job. */
export class HookChain {
  /** Cells dropped by all hooks together. */
  dropped = 0
  /** Cells kept without asking any hook. */
  private notAsked = 0
  private readonly links: Link[] = []
  private readonly protectedSequence: number
  private readonly watch: Int32Array
  private readonly replacement = new HookReplacement()

  constructor(plan: HookPlan) {
    this.protectedSequence = plan.protectedSequence
    this.watch = new Int32Array(plan.watch)
    for (let i = 0; i < plan.tasks.length; i++) {
      const { name, module, options, context } = plan.tasks[i]
      const exports = loadedModule(name, module)
      const hook = this.call(i, name, 'createCellHook', () =>
        makeHook(name, exports['createCellHook'], { job: plan.job, options, context }),
      )
      const { decidesMarkers = false } = hook
      const hasStartRow = 'startRow' in hook && hook.startRow !== undefined
      this.links.push({ name, hook, decidesMarkers, hasStartRow, row: -1, dropped: 0, replaced: 0 })
    }
  }

  /**
   * Asks the hooks about a cell. Returns the cell if it stays, another view (borrowed until the
   * next call) if it was replaced, or undefined if it is dropped. `row` is a number that changes
   * with the row of the cells.
   */
  apply(cell: CellView, row: number): CellView | undefined {
    if (cell.sequence <= this.protectedSequence) {
      this.notAsked++
      return cell
    }
    const { links, watch, replacement } = this
    const isMarker = isDeleteMarker(cell.type)
    let current = cell
    let i = 0
    try {
      for (; i < links.length; i++) {
        const link = links[i]
        if (isMarker && !link.decidesMarkers) continue
        watch[HookWatch.running] = i + 1
        watch[HookWatch.calls]++
        replacement.begin(current)
        if (link.hasStartRow && link.row !== row) {
          link.row = row
          refusePromise(link.name, 'startRow', link.hook.startRow!(current))
        }
        const decision = link.hook.decide(current, replacement)
        if (decision === CellDecision.keep && !replacement.given) continue
        if (decision === CellDecision.drop) {
          link.dropped++
          this.dropped++
          watch[HookWatch.running] = 0
          return undefined
        }
        if (decision !== CellDecision.replace || !replacement.given) throw nonsense(link, decision)
        link.replaced++
        current = replacement.take()
      }
    } catch (error) {
      throw coprocessorError(links[i].name, 'decide', error)
    }
    watch[HookWatch.running] = 0
    return current
  }

  /** Ends the hooks in order and returns their counts. */
  finish(): HookOutcome[] {
    return this.links.map(({ name, hook, dropped, replaced }, i) => {
      const reports = this.call(i, name, 'finish', () =>
        hook.finish === undefined ? [] : [reportOf(name, hook.finish())],
      )
      return { name, dropped, replaced, notAsked: this.notAsked, reports }
    })
  }

  private call<T>(position: number, name: string, method: string, step: () => T): T {
    this.watch[HookWatch.running] = position + 1
    this.watch[HookWatch.calls]++
    try {
      const value = step()
      this.watch[HookWatch.running] = 0
      return value
    } catch (error) {
      throw coprocessorError(name, method, error)
    }
  }
}

function makeHook(name: string, create: unknown, setup: CellHookSetup): CellHook {
  if (typeof create !== 'function') {
    throw badAnswer(name, 'its module', 'export a function createCellHook')
  }
  const hook: unknown = (create as (setup: CellHookSetup) => unknown)(setup)
  refusePromise(name, 'createCellHook', hook)
  const made = (typeof hook === 'object' && hook !== null ? hook : {}) as Partial<CellHook>
  if (typeof made.decide !== 'function') {
    throw badAnswer(name, 'createCellHook', 'return an object with a method decide')
  }
  for (const method of ['startRow', 'finish'] as const) {
    const value: unknown = made[method]
    if (value === undefined || typeof value === 'function') continue
    throw badAnswer(name, 'createCellHook', `return a hook whose ${method} is a method`)
  }
  return made as CellHook
}

function reportOf(name: string, report: unknown): unknown {
  refusePromise(name, 'finish', report)
  return structuredClone(report)
}

function nonsense(link: Link, decision: number): Error {
  refusePromise(link.name, 'decide', decision)
  if (decision === CellDecision.replace) {
    return badAnswer(link.name, 'decide', 'call setValue before it answers replace')
  }
  if (decision === CellDecision.keep) {
    return badAnswer(link.name, 'decide', 'answer replace after it called setValue')
  }
  const { keep, drop, replace } = CellDecision
  const answers = `answer ${keep} (keep), ${drop} (drop) or ${replace} (replace)`
  return badAnswer(link.name, 'decide', `${answers}, not ${String(decision)}`)
}

/** Adds up the counts of all parts of a job, which have the same hooks. */
export function mergeHookOutcomes(parts: readonly (readonly HookOutcome[])[]): HookOutcome[] {
  const [first = [], ...rest] = parts
  return first.map((outcome, i) => {
    const others = rest.map((part) => part[i])
    return {
      name: outcome.name,
      dropped: others.reduce((sum, other) => sum + other.dropped, outcome.dropped),
      replaced: others.reduce((sum, other) => sum + other.replaced, outcome.replaced),
      notAsked: others.reduce((sum, other) => sum + other.notAsked, outcome.notAsked),
      reports: [...outcome.reports, ...others.flatMap((other) => other.reports)],
    }
  })
}
