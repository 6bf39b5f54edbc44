/**
 * Carries out on the model the compactions that the engine has chosen: an observer notes which
 * files were merged, and those are the runs of the model that were made in the same order.
 */
import type { Observer } from '../../src/entries/index.js'
import type { ReferenceModel } from './reference/reference-model.js'
import type { ReferenceTable } from './reference/reference-table.js'

type Event =
  | {
      readonly kind: 'chosen'
      readonly family: string
      /** Numbers of all files of the family, and of those to merge. */
      readonly files: readonly number[]
      readonly chosen: readonly number[]
    }
  | { readonly kind: 'merged'; readonly family: string; readonly major: boolean }

export class MergeFollower {
  /** To be registered with the database. */
  readonly observer: Observer
  private readonly model: ReferenceModel
  readonly table: ReferenceTable
  private events: Event[] = []
  /** By family: the run of each file that was seen. */
  private readonly runs = new Map<string, Map<number, number>>()
  private readonly chosen = new Map<string, readonly number[]>()

  constructor(model: ReferenceModel, table: ReferenceTable) {
    this.model = model
    this.table = table
    this.observer = {
      postCompactSelection: ({ family, files }, chosen) => {
        const numberOf = ({ fileNumber }: { readonly fileNumber: number }): number => fileNumber
        const event = { kind: 'chosen' as const, family, files: files.map(numberOf) }
        this.events.push({ ...event, chosen: chosen.map(numberOf) })
      },
      postCompact: ({ family, kind }) => {
        this.events.push({ kind: 'merged', family, major: kind === 'major' })
      },
    }
  }

  /** Brings the model up to date. REQUIRES that it has flushed, if the engine has. */
  follow(): void {
    const events = this.events
    this.events = []
    for (const event of events) {
      const { family } = event
      const runs = this.runs.get(family) ?? new Map<number, number>()
      this.runs.set(family, runs)
      if (event.kind === 'chosen') {
        this.recognize(family, runs, event.files)
        this.chosen.set(family, event.chosen)
        continue
      }
      const merged = this.chosen.get(family) ?? []
      this.model.merge(
        this.table,
        family,
        merged.map((file) => runs.get(file)!),
        event.major,
      )
      for (const file of merged) runs.delete(file)
    }
  }

  /** New files are the new runs; files that have gone unread held nothing that anybody may see. */
  private recognize(family: string, runs: Map<number, number>, files: readonly number[]): void {
    for (const [file, run] of runs) {
      if (files.includes(file)) continue
      this.table.dropRun(family, run)
      runs.delete(file)
    }
    const known = new Set(runs.values())
    const newRuns = this.table.runsOf(family).filter((run) => !known.has(run))
    const newFiles = files.filter((file) => !runs.has(file)).sort((a, b) => a - b)
    if (newRuns.length !== newFiles.length) {
      throw new Error(`${family} has ${newFiles.length} new files, not ${newRuns.length}`)
    }
    newFiles.forEach((file, position) => runs.set(file, newRuns[position]))
  }
}
