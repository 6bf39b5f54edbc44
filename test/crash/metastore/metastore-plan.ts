/** What the writers of the metastore kill test do: the same in the child and in the runner. */

/** Writers in the child, each with rows of its own. */
export const writerCount = 12

/** The table that they write to. */
export const tableName = 'killed'

/** Handed to the child. */
export interface MetastorePlan {
  readonly directory: string
  readonly round: number
}

/** A line that the child writes: before an operation, and when it was acknowledged. */
export interface Note {
  readonly type: 'try' | 'done'
  readonly row: string
  readonly kind: 'put' | 'remove'
  /** What a put writes. */
  readonly text: string
  /** The version that a put got. */
  readonly version: string
}

/** The line of a note. */
export function lineOf({ type, row, kind, text, version }: Note): string {
  return `${[type, row, kind, text, version].join(' ')}\n`
}

/** The note of a line. */
export function noteOf(line: string): Note {
  const [type, row, kind, text, version] = line.split(' ')
  return { type, row, kind, text, version } as Note
}
