/** The cells of a mutation that is encoded and not applied, as observers see them. */
import { invalidArgument } from '../../base/errors.js'
import { CellView } from '../../storage/cell/cell-view.js'
import { cellTypeName, type CellTypeCode } from '../../storage/cell/cell-type.js'
import type { ReadMode } from '../../storage/store/store-reader.js'
import type { WrittenCell, WrittenMutation } from '../../api/observer.js'
import type { Result } from '../../api/results/result.js'
import type { BytesLike, Get, MultiRowMutations, Mutation } from '../../api/index.js'
import type { MutationWriter } from '../operations/mutation-writer.js'
import type { PlainOperations } from '../operations/plain-operations.js'
import type { FindOperations } from './observer-chain.js'

const view = new CellView()

/** One table's cells of the mutation in the engine's buffer, and the rows added to it. */
export class WrittenRows implements WrittenMutation {
  readonly cells: readonly WrittenCell[]
  private readonly operations: PlainOperations
  private readonly operationsOf: FindOperations
  private readonly mode: ReadMode
  private readonly added = new Map<string, MultiRowMutations['rows'][number][]>()

  constructor(operations: PlainOperations, operationsOf: FindOperations, mode: ReadMode) {
    this.operations = operations
    this.operationsOf = operationsOf
    this.mode = mode
    const { mutation } = operations.parts.writes
    const { families } = operations.state()
    const cells: WrittenCell[] = []
    for (let i = 0; i < mutation.entryCount; i++) {
      const store = mutation.stores[i]
      const family = families.find((each) => each.store === store)
      if (family === undefined) continue
      view.setCell(
        mutation.buffer,
        mutation.keyStarts[i],
        mutation.keyEnds[i],
        mutation.valueEnds[i],
      )
      cells.push({
        row: view.copyRow(),
        family: family.name,
        qualifier: view.copyQualifier(),
        timestamp: view.timestamp,
        type: cellTypeName(view.type as CellTypeCode),
        value: view.copyValue(),
        ttlMilliseconds: view.ttlMilliseconds,
      })
    }
    this.cells = cells
  }

  get(table: string, get: Get): Result {
    return this.operationsOf(table).get(get, this.mode)
  }

  rawRow(row: BytesLike, families: readonly string[]): Result {
    return this.operations.getRaw(row, families, this.mode)
  }

  add(table: string, row: BytesLike, mutations: readonly Mutation[]): void {
    if (table === this.operations.name) {
      throw invalidArgument(
        'preWrite adds rows of other tables; preBatchMutate adds rows of its own',
      )
    }
    const rows = this.added.get(table)
    if (rows === undefined) this.added.set(table, [{ row, mutations }])
    else rows.push({ row, mutations })
  }

  /** Encodes the added rows. Returns the writer that holds the mutation then. */
  addTo(writer: MutationWriter): MutationWriter {
    let open = writer
    for (const [table, rows] of this.added) {
      open = this.operationsOf(table).addRows(rows, open, this.mode, undefined)
    }
    return open
  }
}
