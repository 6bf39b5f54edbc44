/** Atomic batches of a database, over rows and tables. */
import type * as api from '../api/index.js'
import { plainTableName } from '../api/names.js'
import type { TableState } from '../storage/engine/catalog/catalog.js'
import { isTraced } from '../storage/engine/diagnostics.js'
import type { Engine } from '../storage/engine/engine.js'
import { TimedOperation } from '../storage/engine/write/operation-times.js'
import type { CallPlace } from './arguments/row-names.js'
import { AtomicRequest, rowsOfAtomic, type AtomicTarget } from './calls/atomic-request.js'
import { mutate, mutateSync } from './calls/mutation-calls.js'
import { EmbeddedTable } from './embedded-table.js'
import type { CoprocessorRegistry } from './observers/coprocessor-registry.js'
import { blocking } from './operations/table-operations.js'

/** The calls `atomic` and `atomicSync` of a database. */
export class AtomicBatches {
  readonly #engine: Engine
  readonly #registry: CoprocessorRegistry
  /** Orders waiting batches. */
  readonly #place: CallPlace
  /** Handles of the tables: made once per state of a table, and collected with it. */
  readonly #handles = new WeakMap<TableState, EmbeddedTable>()

  constructor(engine: Engine, registry: CoprocessorRegistry) {
    this.#engine = engine
    this.#registry = registry
    const { readPoints, versions, writes } = engine
    this.#place = { readPoints, versions, writes, namesOf: rowsOfAtomic }
  }

  /** As `Database.atomic`. */
  atomic(batch: api.AtomicBatchOption): Promise<api.AtomicResult> {
    const times = this.#engine.reports.times.ofTable('')
    const run = (): Promise<api.AtomicResult> => {
      const startedAt = times.begin(TimedOperation.batch)
      const done = this.#atomic(batch)
      if (startedAt === 0) return done
      return times.endLater(TimedOperation.batch, startedAt, done, batch)
    }
    return isTraced() ? times.trace(TimedOperation.batch, batch, run) : run()
  }

  #atomic(batch: api.AtomicBatchOption): Promise<api.AtomicResult> {
    let request: AtomicRequest
    try {
      request = this.#request(batch)
    } catch (error) {
      return Promise.reject(error)
    }
    const observed = request.ownBatch()
    if (observed !== undefined) {
      return mutate(this.#place, observed, (_own, mode) => request.apply(mode))
    }
    let waiting: AtomicRequest | undefined
    return mutate(this.#place, batch, (own, mode) => {
      if (own === batch) return request.apply(mode)
      waiting ??= this.#request(own)
      return waiting.apply(mode)
    })
  }

  /** As `Database.atomicSync`. */
  atomicSync(batch: api.AtomicBatchOption): api.AtomicResult {
    const request = this.#request(batch)
    return mutateSync(this.#place, batch, () => request.apply(blocking))
  }

  #request(batch: api.AtomicBatchOption): AtomicRequest {
    this.#engine.lifecycle.checkOpen()
    return new AtomicRequest(this.targetOf, batch)
  }

  /** What a batch writes to by a name or table; undefined for a table of something else. */
  readonly targetOf = (given: string | api.Table): AtomicTarget | undefined => {
    if (typeof given !== 'string') {
      return given instanceof EmbeddedTable ? given.atomicTarget(this.#engine) : undefined
    }
    const state = this.#engine.catalog.find(plainTableName(given))
    let table = this.#handles.get(state)
    if (table === undefined) {
      table = new EmbeddedTable(this.#engine, state, this.#registry)
      this.#handles.set(state, table)
    }
    return table.atomicTarget(this.#engine)
  }
}
