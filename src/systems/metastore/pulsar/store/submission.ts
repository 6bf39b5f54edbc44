/**
 * Calls as steps of a commit, and submissions: the pending writes of callers, from the call until
 * the commit is durable.
 */
import type { BytesLike } from '../../../../api/index.js'
import { Call } from '../../kernel/group-commit.js'
import { checkBytes } from '../../metadata/arguments.js'
import { noPutOptions } from '../../metadata/options.js'
import type { BatchOperation, GetResult } from '../../metadata/types.js'
import type { Removal } from './node-table.js'
import type { OwningSession, Step } from './planner.js'
import { cellOfValue, type PlacedRecord } from './record-format.js'
import type { WorkingState } from './working-state.js'

/** The records written by the steps of a commit, by position. */
export type AllWritten = readonly (PlacedRecord | undefined)[]

/** Rows of the table `control` to write; undefined removes the row. */
export type ControlRows = readonly { readonly row: string; readonly value: Buffer | undefined }[]

/** The parts of a submission; absent parts are empty. */
interface SubmissionParts {
  readonly steps?: readonly Step[]
  readonly session?: OwningSession
  /** Finds the records to remove, while the group is planned. */
  readonly removal?: (state: WorkingState) => Promise<Removal>
  /** The rows to write, given whether the removal is complete. */
  readonly rows?: (isWhole: boolean) => ControlRows
}

const noSteps: readonly Step[] = []
const noRows = (): ControlRows => []
/** Approximate overhead of a write besides paths and values: objects, keys, headers. */
const overheadBytes = 256

/** A pending write. A single object for each write, because ten thousand may be pending. */
export class Submission extends Call<AllWritten> {
  readonly steps: readonly Step[]
  readonly session: OwningSession | undefined
  readonly removal: SubmissionParts['removal']
  readonly rows: (isWhole: boolean) => ControlRows
  /** Whether the removal is complete. */
  isWhole = true

  constructor({ steps = noSteps, session, removal, rows = noRows }: SubmissionParts) {
    super(bytesOf(steps))
    this.steps = steps
    this.session = session
    this.removal = removal
    this.rows = rows
  }
}

/** Approximate bytes of steps; each path counts for node, event, owner and parent. */
function bytesOf(steps: readonly Step[]): number {
  let bytes = 0
  for (const step of steps) {
    bytes += 4 * step.path.length + overheadBytes
    if (step.kind === 'put') bytes += step.cell.length
  }
  return bytes
}

/** Copies a value into a cell. */
export function cellOf(value: BytesLike): Buffer {
  checkBytes(value)
  return cellOfValue(value)
}

/** The step of an operation of a batch, which is checked. */
export function stepOf(operation: BatchOperation): Step {
  if ('check' in operation) {
    return { kind: 'check', path: operation.check, expected: operation.expected }
  }
  if ('delete' in operation) {
    return { kind: 'delete', path: operation.delete, expected: operation.expected }
  }
  const { put, value, expected, ephemeral, secondaryIndexes } = operation
  const options = { ephemeral, secondaryIndexes }
  return { kind: 'put', path: put, cell: cellOfValue(value), expected, options }
}

/** The step that writes a record of another store with its version and times. */
export function importOf({ value, stat }: GetResult): Step {
  const { path } = stat
  const cell = cellOf(value)
  return { kind: 'put', path, cell, expected: undefined, options: noPutOptions, imported: stat }
}
