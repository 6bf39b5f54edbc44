/** The change feed of the public API: mutations of the log as cells of tables. */
import { cellTypeName, type CellTypeCode } from '../storage/cell/cell-type.js'
import { CellView } from '../storage/cell/cell-view.js'
import { readMutations, type LoggedMutation } from '../storage/engine/transfer/change-feed.js'
import type { Engine } from '../storage/engine/engine.js'
import { changeOptions, type Change, type ChangedCell, type ChangeOptions } from '../api/changes.js'
import { noSuchTable } from '../api/names.js'

/**
 * The feed; see `Database.changes`. Starts after the last mutation at the time of the call,
 * although a generator only runs at the first request.
 */
export function changes(engine: Engine, options: ChangeOptions): AsyncGenerator<Change, void> {
  return follow(engine, options, engine.lastSequence + 1)
}

async function* follow(
  engine: Engine,
  options: ChangeOptions,
  next: number,
): AsyncGenerator<Change, void> {
  engine.checkOpen()
  const { fromSequence, durability, signal, table: names } = changeOptions.read(options)
  const wanted = names === undefined ? undefined : tablesWanted(engine, names)
  const decoder = new ChangeDecoder(engine, wanted)
  const start = Math.max(1, fromSequence ?? next)
  for await (const mutation of readMutations(engine, start, durability, signal)) {
    const change = decoder.decode(mutation)
    if (change.cells.length > 0) yield change
  }
}

function tablesWanted(engine: Engine, names: readonly string[]): ReadonlySet<string> {
  for (const name of names) {
    if (engine.tables.has(name)) continue
    throw noSuchTable(name)
  }
  return new Set(names)
}

class ChangeDecoder {
  private readonly engine: Engine
  private readonly wanted: ReadonlySet<string> | undefined
  private readonly view = new CellView()
  private names = new Map<number, { readonly table: string; readonly family: string }>()
  private version: unknown = undefined

  constructor(engine: Engine, wanted: ReadonlySet<string> | undefined) {
    this.engine = engine
    this.wanted = wanted
  }

  decode(mutation: LoggedMutation): Change {
    this.learnNames()
    const cells: ChangedCell[] = []
    for (const { storeId, keyStart, keyEnd, end } of mutation.cells) {
      const name = this.names.get(storeId)
      if (name === undefined || this.wanted?.has(name.table) === false) continue
      const { view } = this
      view.setCell(mutation.buffer, keyStart, keyEnd, end)
      cells.push({
        ...name,
        row: view.copyRow(),
        qualifier: view.copyQualifier(),
        timestamp: view.timestamp,
        timestampExact: view.timestampExact,
        type: cellTypeName(view.type as CellTypeCode),
        value: view.copyValue(),
        ttlMilliseconds: view.ttlMilliseconds,
        sequence: view.sequence,
      })
    }
    const { sequence, serverTimestamp } = mutation
    return { sequence, timestamp: serverTimestamp === 0 ? undefined : serverTimestamp, cells }
  }

  /** Maps stores to names. Stores of dropped or truncated tables no longer have one. */
  private learnNames(): void {
    const { versions, tables } = this.engine
    if (this.version === versions.current) return
    this.version = versions.current
    this.names = new Map()
    for (const { name: table, families } of tables.values()) {
      for (const { name: family, store } of families) {
        this.names.set(store.storeId, { table, family })
      }
    }
  }
}
