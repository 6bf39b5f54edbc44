/**
 * The opening of a database: the engine is opened with the coprocessors of its tables, so that no
 * call, flush or compaction comes before a coprocessor that belongs to it.
 */
import { EventEmitter } from 'node:events'
import { plainTableName } from '../api/names.js'
import type { Coprocessor } from '../api/coprocessor.js'
import { boolean, checked, declareOptions, type OptionsOf } from '../base/options.js'
import type { Engine } from '../storage/engine/engine.js'
import { flushRecovered, openEngine } from '../storage/engine/open/open-engine.js'
import { databaseOptions, readWithPaths } from '../storage/engine/options.js'
import { AtomicBatches } from './atomic-batches.js'
import { raiseOn } from './database-events.js'
import { EmbeddedTable } from './embedded-table.js'
import { checkCoprocessorList, CoprocessorRegistry } from './observers/coprocessor-registry.js'

const openOptions = declareOptions('Database.open', {
  ...databaseOptions,
  /** Live coprocessors, as by `registerCoprocessor`; registered before any table is used. */
  coprocessors: checked<readonly Coprocessor[]>(checkCoprocessorList, []),
  /**
   * If false, tables are opened without the coprocessors of their schemas, to repair a schema whose
   * module is lost (HBase: hbase.coprocessor.user.enabled). Default true.
   */
  schemaCoprocessorsEnabled: boolean(true),
})

/** Options of {@link Database.open}. */
export interface OpenOptions extends OptionsOf<typeof openOptions> {}

/** What an open database is made of. */
export interface OpenedDatabase {
  readonly engine: Engine
  /** Where the events of the engine are raised. */
  readonly emitter: EventEmitter
  readonly registry: CoprocessorRegistry
  readonly batches: AtomicBatches
}

/** Opens the database in a directory; options and errors as `Database.open`. */
export async function openDatabase(
  directory: string,
  options: OpenOptions,
): Promise<OpenedDatabase> {
  const { coprocessors, schemaCoprocessorsEnabled, ...engineOptions } = readWithPaths(
    [directory],
    () => openOptions.read(options),
  )
  const emitter = new EventEmitter()
  const registry: CoprocessorRegistry = new CoprocessorRegistry(
    (name) => openTable(engine, registry, name),
    (name) => batches.targetOf(name)!.operations,
    (error) => emitter.emit('warning', error),
    schemaCoprocessorsEnabled,
  )
  const engine = await openEngine(directory, engineOptions, raiseOn(emitter), registry)
  const batches = new AtomicBatches(engine, registry)
  try {
    for (const coprocessor of coprocessors) await registry.register(coprocessor)
    await registry.openTables(engine.catalog.tables.values())
    flushRecovered(engine)
  } catch (error) {
    await engine.close().catch((failure: unknown) => emitter.emit('warning', failure))
    throw error
  }
  return { engine, emitter, registry, batches }
}

/** The table with that name. `ERR_TABLE_NOT_FOUND`, `ERR_CLOSED`. */
export function openTable(
  engine: Engine,
  registry: CoprocessorRegistry,
  name: string,
): EmbeddedTable {
  engine.lifecycle.checkOpen()
  return new EmbeddedTable(engine, engine.catalog.find(plainTableName(name)), registry)
}
