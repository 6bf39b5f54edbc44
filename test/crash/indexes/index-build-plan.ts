/** What the test of index builds and its child share. */
import type { IndexDeclaration } from '../../../src/entries/index.js'

/** What a child does. */
export interface BuildPlan {
  readonly directory: string
  readonly seed: number
  /** Rows that are written. */
  readonly rows: number
  /** The first number that is written; later ones are greater. */
  readonly first: number
}

/** The indexes of the table. */
export const buildDeclarations: readonly IndexDeclaration[] = [
  { name: 'by_group', key: { group: 'f:group' }, stored: ['f:number'] },
  { name: 'by_number', key: { number: 'f:number' }, unique: true },
  { name: 'by_tag', key: { tag: { column: 'f:tags', encoding: 'json', each: true } } },
]
