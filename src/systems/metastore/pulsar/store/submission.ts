/** Submissions: the pending writes of callers, from the call until the commit is durable. */
import type { CellarError } from '../../../../api/index.js'
import { asMetadataError } from '../../metadata/errors.js'
import type { OwningSession, Step, Written } from './planner.js'

/** The records written by the steps of a commit, by position. */
export type AllWritten = readonly (Written | undefined)[]

/** Rows of the table `control` to write; undefined removes the row. */
export type ControlRows = readonly { readonly row: string; readonly value: Buffer | undefined }[]

/** Computes the result of a write when its commit is durable. */
export type Answer = (written: AllWritten, session: number) => unknown

/** The parts of a submission; absent fields are empty. */
export interface SubmissionParts {
  /** The records that 'tree' and 'end-session' remove are read while the group is planned. */
  readonly kind: 'steps' | 'tree' | 'end-session' | 'rows'
  readonly steps?: readonly Step[]
  readonly session?: OwningSession
  /** Root of a recursive delete. */
  readonly path?: string
  readonly rows?: ControlRows
  readonly answer?: Answer
}

const noSteps: readonly Step[] = []
const noRows: ControlRows = []
const nothingWritten: AllWritten = []
/** Approximate overhead of a write besides paths and values: objects, keys, headers. */
const overheadBytes = 256

/** A pending write. A single object for each write, because ten thousand may be pending. */
export class Submission {
  readonly kind: SubmissionParts['kind']
  readonly steps: readonly Step[]
  readonly session: OwningSession | undefined
  readonly path: string
  readonly rows: ControlRows
  /** Approximate bytes of the steps; each path counts for node, event, owner and parent. */
  readonly bytes: number
  written: AllWritten = nothingWritten
  /** Whether a removal is complete. */
  isWhole = true
  failure: CellarError | undefined = undefined
  /** Settles when {@link settle} is called. */
  readonly answered: Promise<unknown>
  readonly #answer: Answer | undefined
  #resolve!: (answer: unknown) => void
  #reject!: (failure: CellarError) => void

  constructor({
    kind,
    steps = noSteps,
    session,
    path = '',
    rows = noRows,
    answer,
  }: SubmissionParts) {
    this.kind = kind
    this.steps = steps
    this.session = session
    this.path = path
    this.rows = rows
    this.#answer = answer
    let bytes = 0
    for (const step of steps) {
      bytes += 4 * step.path.length + overheadBytes
      if (step.kind === 'put') bytes += step.cell.length
    }
    this.bytes = bytes
    this.answered = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  /** Settles the promise of the caller. */
  settle(): void {
    if (this.failure === undefined) {
      try {
        this.#resolve(this.#answer?.(this.written, this.session?.id ?? 0))
        return
      } catch (error) {
        this.failure = asMetadataError(error)
      }
    }
    this.#reject(this.failure)
  }

  /** Whether the removal needs another commit. */
  get goesOn(): boolean {
    return !this.isWhole && this.failure === undefined
  }

  /** Whether the removed records are read while the group is planned. */
  get isRemoval(): boolean {
    return this.kind === 'tree' || this.kind === 'end-session'
  }
}

/** Limits of a group: larger groups occupy memory and the event loop for too long. */
export interface GroupLimits {
  readonly groupWritesMax: number
  readonly groupBytesMax: number
}

/** Number of the waiting writes that form the next group. A removal is a group of its own. */
export function groupSize(
  waiting: readonly Submission[],
  { groupWritesMax, groupBytesMax }: GroupLimits,
): number {
  let count = 0
  let bytes = 0
  while (count < waiting.length && count < groupWritesMax) {
    const next = waiting[count]
    const isFull = bytes + next.bytes > groupBytesMax
    if (count > 0 && (isFull || next.isRemoval)) break
    bytes += next.bytes
    count++
    if (next.isRemoval) break
  }
  return count
}
