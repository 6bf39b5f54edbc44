/** The field indexes of one record table, for callers. */
import { checked, checkSignal, declareOptions, type OptionsOf } from '../../../api/index.js'
import type { TableContext } from '../records/table-context.js'
import type { FieldIndexInfo, FieldIndexInput } from './field-index.js'
import type { FieldIndexCheck } from './field-indexes.js'

const buildOptions = declareOptions('the build of an index', {
  /** Interrupts the build; the next `create` continues it. */
  signal: checked(checkSignal),
})

/** Options of {@link RecordIndexes.create}. */
export interface IndexBuildOptions extends OptionsOf<typeof buildOptions> {}

/** The field indexes of a record table; see `RecordTable.indexes`. */
export class RecordIndexes {
  readonly #context: TableContext

  /** @internal */
  constructor(context: TableContext) {
    this.#context = context
  }

  /**
   * Creates an index and adds the existing records while writes continue. Resolves when queries may
   * use the index. An existing index of the same fields stays. A build that was interrupted, by
   * `signal` or by a crash, continues at its position. `ERR_FIELD_INDEX_EXISTS` for a name with
   * other fields, or of an index that is being dropped, `ERR_INVALID_ARGUMENT`,
   * `ERR_FIELD_TYPE_NOT_FOUND`, `ERR_INVALID_RECORD` if the values of a record are too long.
   */
  async create(input: FieldIndexInput, options: IndexBuildOptions = {}): Promise<FieldIndexInfo> {
    this.#context.checkOpen()
    const { signal } = buildOptions.read(options)
    return this.#context.fieldIndexes.create(this.#context, input, signal)
  }

  /** Removes an index. `ERR_FIELD_INDEX_NOT_FOUND`, `ERR_INVALID_ARGUMENT`. */
  async drop(name: string): Promise<void> {
    this.#context.checkOpen()
    return this.#context.fieldIndexes.drop(this.#context, name)
  }

  /** The indexes, sorted by name. */
  list(): FieldIndexInfo[] {
    this.#context.checkOpen()
    return this.#context.fieldIndexes.list(this.#context)
  }

  /** Compares an index with its records. `ERR_FIELD_INDEX_NOT_FOUND`, `ERR_INVALID_ARGUMENT`. */
  async check(name: string): Promise<FieldIndexCheck> {
    this.#context.checkOpen()
    return this.#context.fieldIndexes.check(this.#context, name)
  }
}
