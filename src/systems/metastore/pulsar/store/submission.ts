/** What callers wait for: one write each, from the call until its commit is durable. */
import { asMetadataError, type MetadataStoreError } from '../errors.js'
import type { OwningSession, Step, Written } from './planner.js'

/** The records that the steps of a commit have written, by position. */
export type AllWritten = readonly (Written | undefined)[]

/** Rows of the table `control` to write, or to remove. */
export type ControlRows = readonly { readonly row: string; readonly value: Buffer | undefined }[]

/** What the promise of a write gives when its commit is durable. */
export type Answer = (written: AllWritten, session: number) => unknown

/** What a submission does; a field that is left out is empty. */
export interface SubmissionParts {
  /** 'tree' and 'end-session' remove what is found by reading while the group is planned. */
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
/** What a write takes beside its paths and values, about: objects, keys, headers. */
const overheadBytes = 256

/** See the file header. One object a write, for ten thousand may wait at once. */
export class Submission {
  readonly kind: SubmissionParts['kind']
  readonly steps: readonly Step[]
  readonly session: OwningSession | undefined
  readonly path: string
  readonly rows: ControlRows
  /** Bytes that the steps write, about: a path is in a node, an event, an owner and a parent. */
  readonly bytes: number
  written: AllWritten = nothingWritten
  /** Whether a removal leaves nothing. */
  isWhole = true
  failure: MetadataStoreError | undefined = undefined
  /** Settles when {@link settle} is called. */
  readonly answered: Promise<unknown>
  readonly #answer: Answer | undefined
  #resolve!: (answer: unknown) => void
  #reject!: (failure: MetadataStoreError) => void

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

  /** Tells the caller. */
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

  /** Whether another commit has to remove more. */
  get goesOn(): boolean {
    return !this.isWhole && this.failure === undefined
  }

  /** Whether what it removes is found by reading while the group is planned. */
  get isRemoval(): boolean {
    return this.kind === 'tree' || this.kind === 'end-session'
  }
}

/** Limits of a group: bigger ones hold memory and the event loop for too long. */
export interface GroupLimits {
  readonly groupWritesMax: number
  readonly groupBytesMax: number
}

/** Writes that wait for their group, in the order of their calls. */
export class SubmissionQueue {
  #waiting: Submission[] = []

  get length(): number {
    return this.#waiting.length
  }

  add(submission: Submission): void {
    this.#waiting.push(submission)
  }

  /** Takes the writes of the next group. One that reads what it removes goes alone. */
  take({ groupWritesMax, groupBytesMax }: GroupLimits): readonly Submission[] {
    const waiting = this.#waiting
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
    this.#waiting = waiting.slice(count)
    return count === waiting.length ? waiting : waiting.slice(0, count)
  }
}
