/** Parses column names in the simplest way. */
import type { ColumnName } from '../../../src/storage/cell/column-name.js'
import type { Timestamp } from '../../../src/storage/cell/timestamp.js'
import { binary } from './plain-cells.js'

/** A column or, without qualifier, a whole family. */
export interface Column {
  readonly family: string
  readonly qualifier: string | undefined
}

const latest = 2n ** 63n - 1n

/** The parts of a column's name: the family as text, the qualifier as a binary string. */
export function columnOf(column: ColumnName): Column {
  if (typeof column === 'object' && 'family' in column) {
    const { family, qualifier } = column
    return {
      family: familyOf(binary(family)),
      qualifier: qualifier === undefined || qualifier === null ? undefined : binary(qualifier),
    }
  }
  const text = binary(column)
  const colon = text.indexOf(':')
  if (colon < 0) return { family: familyOf(text), qualifier: undefined }
  return { family: familyOf(text.slice(0, colon)), qualifier: text.slice(colon + 1) }
}

/** The name of a family as text. */
export function familyOf(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

/** A given timestamp; undefined if the server's is to be used. */
export function explicit(timestamp: Timestamp | undefined): bigint | undefined {
  if (timestamp === undefined || BigInt(timestamp) === latest) return undefined
  return BigInt(timestamp)
}

/** The timestamp of a target of a delete; undefined if it has none. */
export function timestampOf(target: unknown): Timestamp | undefined {
  return typeof target === 'object' && target !== null && 'timestamp' in target
    ? (target.timestamp as Timestamp | undefined)
    : undefined
}
