/** Cells of results as objects that print, and that `JSON.stringify` takes. */
import type { CellTypeName } from '../../storage/cell/cell-type.js'
import { inspectSymbol, shownBytes, shownCell, type CellDisplay, type Inspect } from './display.js'
import type { Cell } from './result.js'

/** The forms of a cell for people, whatever holds its members. */
export abstract class PrintedCell implements Cell {
  abstract readonly row: Buffer
  abstract readonly family: string
  abstract readonly qualifier: Buffer
  abstract readonly timestamp: number
  abstract readonly timestampExact: bigint
  abstract readonly type: CellTypeName
  abstract readonly value: Buffer
  abstract readonly sequence: number

  /** The cell in a form for people, for `JSON.stringify`. Nothing reads that form back. */
  toJSON(): CellDisplay {
    return shownCell(this)
  }

  /** The same with the row, for `console.log`. */
  [inspectSymbol](_depth: number, options: object, inspect: Inspect): string {
    return `Cell ${inspect({ row: shownBytes(this.row), ...this.toJSON() }, options)}`
  }
}

/** A cell whose members are at hand. They are its own, so a spread copies them. */
export class ResultCell extends PrintedCell {
  readonly row: Buffer
  readonly family: string
  readonly qualifier: Buffer
  readonly timestamp: number
  readonly timestampExact: bigint
  readonly type: CellTypeName
  readonly value: Buffer
  readonly sequence: number

  constructor(cell: Cell) {
    super()
    this.row = cell.row
    this.family = cell.family
    this.qualifier = cell.qualifier
    this.timestamp = cell.timestamp
    this.timestampExact = cell.timestampExact
    this.type = cell.type
    this.value = cell.value
    this.sequence = cell.sequence
  }
}
