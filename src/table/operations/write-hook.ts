/** The observers' part at the end of every mutation. */
import type { ReadMode } from '../../storage/store/store-reader.js'
import type { MutationWriter } from './mutation-writer.js'
import type { PlainOperations } from './plain-operations.js'

/** Takes part in every mutation of a table, when its cells are encoded and none is applied. */
export interface WriteHook {
  /** Whether {@link complete} has to be called. */
  readonly isActive: boolean
  /**
   * Adds rows of other tables to the mutation that `writer` holds. Returns the writer that holds
   * the mutation then. May throw `BlockMissing`; nothing was applied.
   */
  complete(operations: PlainOperations, writer: MutationWriter, mode: ReadMode): MutationWriter
}
