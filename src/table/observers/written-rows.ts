/** The cells of a mutation that is encoded and not applied, as observers see them. */
import { invalidArgument } from '../../base/errors.js'
import { ttlOf } from '../../storage/cell/cell-value.js'
import type { ReadMode } from '../../storage/store/store-reader.js'
import type { WrittenCell, WrittenMutation } from '../../api/observer.js'
import type { Result } from '../../api/results/result.js'
import type { BytesLike, Get } from '../../api/index.js'
import { PageCell } from '../reads/page-cell.js'
import type { RowAddition } from '../operations/intervention.js'
import type { MutationWriter } from '../operations/mutation-writer.js'
import type { PlainOperations } from '../operations/plain-operations.js'
import type { FindOperations } from './observer-chain.js'

/** One table's cells of the mutation in the engine's buffer, and the rows added to it. */
export class WrittenRows implements WrittenMutation {
  readonly cells: readonly WrittenCell[]
  private readonly operations: PlainOperations
  private readonly operationsOf: FindOperations
  private readonly mode: ReadMode
  private readonly added = new Map<string, RowAddition[]>()

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
      const { buffer, keyStarts, keyEnds, valueEnds } = mutation
      cells.push(new BorrowedCell(buffer, family.name, keyStarts[i], keyEnds[i], valueEnds[i]))
    }
    this.cells = cells
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
    const additions = this.added.get(table)
    if (additions === undefined) this.added.set(table, [mutation])
    else additions.push(mutation)
  }

  /** Encodes the additions. Returns the writer that holds the mutation then. */
  addTo(writer: MutationWriter): MutationWriter {
    let open = writer
    for (const [table, additions] of this.added) {
      open = this.operationsOf(table).addTo(open, additions, this.mode)
    }
    return open
  }
}

/** A cell in the buffer of mutations. */
class BorrowedCell extends PageCell implements WrittenCell {
  readonly ttlMilliseconds: number

  constructor(page: Buffer, family: string, keyStart: number, keyEnd: number, valueEnd: number) {
    super(page, family, keyStart, keyEnd, valueEnd)
    this.ttlMilliseconds = ttlOf(page, keyEnd)
  }
}
