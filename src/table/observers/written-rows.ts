/** The cells of a mutation that is encoded and not applied, as observers see them. */
import { equalBytes } from '../../base/bytes.js'
import { invalidArgument } from '../../base/errors.js'
import {
  isFamilyMarker,
  qualifierEndOf,
  rowEndOf,
  terminatorBytes,
  typeOf,
} from '../../storage/cell/cell-key.js'
import { CellType } from '../../storage/cell/cell-type.js'
import { ttlOf } from '../../storage/cell/cell-value.js'
import type { ColumnName } from '../../storage/cell/column-name.js'
import type { Store } from '../../storage/store/store.js'
import type { ReadMode } from '../../storage/store/store-reader.js'
import { approximateTimestamp } from '../../storage/store/version-overwrites.js'
import type { WrittenCell, WrittenMutation, WrittenRow } from '../../api/observer.js'
import type { Result } from '../../api/results/result.js'
import type { BytesLike, Get } from '../../api/index.js'
import { CellPlace, decodeBytes, PageCell } from '../reads/page-cell.js'
import type { FamilyPlan, ReadPlan } from '../reads/read-plan.js'
import type { RowAddition } from '../operations/intervention.js'
import type { MutationWriter } from '../operations/mutation-writer.js'
import type { PlainOperations } from '../operations/plain-operations.js'
import type { FindOperations } from './observer-chain.js'

/** One table's cells of the mutation in the engine's buffer, and the rows added to it. */
export class WrittenRows implements WrittenMutation {
  private readonly operations: PlainOperations
  private readonly operationsOf: FindOperations
  private readonly mode: ReadMode
  private readonly added: { readonly table: string; readonly rows: RowAddition[] }[] = []
  private allCells: WrittenCell[] | undefined = undefined

  constructor(operations: PlainOperations, operationsOf: FindOperations, mode: ReadMode) {
    this.operations = operations
    this.operationsOf = operationsOf
    this.mode = mode
  }

  /** Whether the mutation has no cell of the table. */
  get isEmpty(): boolean {
    const { stores, entryCount } = this.operations.parts.writes.mutation
    for (let i = 0; i < entryCount; i++) if (this.familyOf(stores[i]) !== undefined) return false
    return true
  }

  get cells(): readonly WrittenCell[] {
    if (this.allCells !== undefined) return this.allCells
    const cells: WrittenCell[] = (this.allCells = [])
    const { mutation } = this.operations.parts.writes
    const { buffer, stores, keyStarts, keyEnds, valueEnds, entryCount } = mutation
    for (let i = 0; i < entryCount; i++) {
      const family = this.familyOf(stores[i])
      if (family === undefined) continue
      cells.push(new BorrowedCell(buffer, family, keyStarts[i], keyEnds[i], valueEnds[i]))
    }
    return cells
  }

  rowsOf(columns: readonly ColumnName[]): readonly WrittenRow[] {
    const { operations, mode } = this
    const plan = operations.planOf({ columns })
    const { buffer, stores, keyStarts, keyEnds, valueEnds, entryCount } =
      operations.parts.writes.mutation
    const rows: RowOfMutation[] = []
    let byKey: Map<string, RowOfMutation> | undefined
    for (let i = 0; i < entryCount; i++) {
      const keyStart = keyStarts[i]
      const keyEnd = keyEnds[i]
      const found = planOf(plan, stores[i])
      if (found === undefined) continue
      const place = placeOf(found, buffer, keyStart, keyEnd)
      if (place === undefined) continue
      let row = rows.at(-1)
      if (row?.hasKeyOf(keyStart, keyEnd) !== true) {
        const start = new RowOfMutation(operations, plan, mode, buffer, keyStart, keyEnd)
        if (row !== undefined) byKey ??= new Map([[row.name, row]])
        row = byKey?.get(start.name) ?? start
        if (row === start) {
          rows.push(row)
          byKey?.set(row.name, row)
        }
      }
      row.add(found, place, keyStart, keyEnd, valueEnds[i])
    }
    return rows
  }

  get(table: string, get: Get): Result {
    return this.operationsOf(table).get(get, this.mode)
  }

  rawRow(row: BytesLike, families: readonly string[]): Result {
    return this.operations.getRaw(row, families, this.mode)
  }

  add(table: string, mutation: RowAddition): void {
    if (table === this.operations.name) {
      throw invalidArgument('preWrite adds to other tables; preBatchMutate adds rows of its own')
    }
    const { added } = this
    for (let i = 0; i < added.length; i++) {
      if (added[i].table === table) {
        added[i].rows.push(mutation)
        return
      }
    }
    added.push({ table, rows: [mutation] })
  }

  /** Encodes the additions. Returns the writer that holds the mutation then. */
  addTo(writer: MutationWriter): MutationWriter {
    let open = writer
    for (const { table, rows } of this.added) {
      open = this.operationsOf(table).addTo(open, rows, this.mode)
    }
    return open
  }

  private familyOf(store: Store): string | undefined {
    const { families } = this.operations.state()
    for (let i = 0; i < families.length; i++) {
      if (families[i].store === store) return families[i].name
    }
    return undefined
  }
}

function planOf({ families }: ReadPlan, store: Store): FamilyPlan | undefined {
  for (let i = 0; i < families.length; i++) {
    if (families[i].family.store === store) return families[i]
  }
  return undefined
}

/**
 * The place among the columns of a family of the one that a cell with this key concerns; -1: it
 * concerns all of them; undefined: none of them.
 */
function placeOf(
  { query: { columns } }: FamilyPlan,
  buffer: Buffer,
  keyStart: number,
  keyEnd: number,
): number | undefined {
  if (columns === undefined || isFamilyMarker(typeOf(buffer, keyEnd))) return -1
  const start = rowEndOf(buffer, keyStart, keyEnd) + terminatorBytes
  const end = qualifierEndOf(keyEnd)
  for (let i = 0; i < columns.length; i++) {
    const column = columns[i]
    if (equalBytes(buffer, start, end, column, 0, column.length)) return i
  }
  return undefined
}

/** The names of the columns of plans that are kept; undefined for names that are not of ASCII. */
const knownNames = new WeakMap<FamilyPlan, readonly (string | undefined)[]>()

function namesOf(plan: FamilyPlan): readonly (string | undefined)[] {
  let names = knownNames.get(plan)
  if (names === undefined) {
    const { family, query } = plan
    names = query.columns!.map((column) => {
      const isPlain = column.every((byte) => byte > 0 && byte < 0x80)
      return isPlain ? `${family.name}:${column.toString('latin1')}` : undefined
    })
    knownNames.set(plan, names)
  }
  return names
}

/** A row of the buffer of mutations, with the cells that concern a plan. */
class RowOfMutation implements WrittenRow {
  readonly cells: BorrowedCell[] = []
  isPlain = true
  private readonly operations: PlainOperations
  private readonly plan: ReadPlan
  private readonly mode: ReadMode
  private readonly buffer: Buffer
  private readonly start: number
  private readonly end: number
  private keptRow: Buffer | undefined = undefined

  constructor(
    operations: PlainOperations,
    plan: ReadPlan,
    mode: ReadMode,
    buffer: Buffer,
    keyStart: number,
    keyEnd: number,
  ) {
    this.operations = operations
    this.plan = plan
    this.mode = mode
    this.buffer = buffer
    this.start = keyStart
    this.end = rowEndOf(buffer, keyStart, keyEnd)
  }

  get row(): Buffer {
    return (this.keptRow ??= decodeBytes(this.buffer, this.start, this.end))
  }

  /** The key as a text, for maps. */
  get name(): string {
    return this.buffer.toString('latin1', this.start, this.end)
  }

  hasKeyOf(keyStart: number, keyEnd: number): boolean {
    const { buffer, start, end } = this
    return equalBytes(buffer, start, end, buffer, keyStart, rowEndOf(buffer, keyStart, keyEnd))
  }

  add(plan: FamilyPlan, place: number, keyStart: number, keyEnd: number, valueEnd: number): void {
    const { buffer } = this
    const { family } = plan
    const name = place < 0 ? undefined : namesOf(plan)[place]
    this.cells.push(new BorrowedCell(buffer, family.name, keyStart, keyEnd, valueEnd, name))
    this.isPlain &&=
      typeOf(buffer, keyEnd) === CellType.put &&
      approximateTimestamp(buffer, keyEnd) > family.store.markerTimestamp
  }

  before(): Result {
    const { operations, buffer, start, end, plan, mode } = this
    return operations.getEscaped(buffer, start, end, plan, mode)
  }
}

const place = new CellPlace()

/** A cell in the buffer of mutations. */
class BorrowedCell extends PageCell implements WrittenCell {
  private readonly name: string | undefined

  constructor(
    page: Buffer,
    family: string,
    keyStart: number,
    keyEnd: number,
    valueEnd: number,
    name?: string,
  ) {
    place.setCell(page, keyStart, keyEnd, valueEnd)
    super(page, family, place)
    this.name = name
  }

  get column(): ColumnName {
    return this.name ?? { family: this.family, qualifier: this.qualifier }
  }

  get ttlMilliseconds(): number {
    return ttlOf(this.page, this.suffixEnd)
  }
}
