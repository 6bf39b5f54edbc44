/** The change feed of the public API: mutations of the log as cells of tables. */
import { cellTypeName, type CellTypeCode } from '../storage/cell/cell-type.js'
import { CellView } from '../storage/cell/cell-view.js'
import { readMutations, type LoggedMutation } from '../storage/engine/transfer/change-feed.js'
import type { OpenedParts } from '../storage/engine/engine.js'
import { changeOptions, type Change, type ChangedCell, type ChangeOptions } from '../api/changes.js'
import { noSuchTable } from '../api/names.js'

/** The parts of an engine that a feed needs. */
type FeedParts = Parameters<typeof readMutations>[0] & Pick<OpenedParts, 'catalog' | 'readPoints'>

/**
 * The feed; see `Database.changes`. Starts after the last mutation at the time of the call,
 * although a generator only runs at the first request.
 */
export function changes(parts: FeedParts, options: ChangeOptions): AsyncGenerator<Change, void> {
  return follow(parts, options, parts.readPoints.lastSequence + 1)
}

async function* follow(
  parts: FeedParts,
  options: ChangeOptions,
  next: number,
): AsyncGenerator<Change, void> {
  parts.lifecycle.checkOpen()
  const { fromSequence, durability, signal, table: names } = changeOptions.read(options)
  const wanted = names === undefined ? undefined : tablesWanted(parts, names)
  const decoder = new ChangeDecoder(parts, wanted)
  const start = Math.max(1, fromSequence ?? next)
  for await (const mutation of readMutations(parts, start, durability, signal)) {
    const change = decoder.decode(mutation)
    if (change.cells.length > 0) yield change
  }
}

function tablesWanted({ catalog }: FeedParts, names: readonly string[]): ReadonlySet<string> {
  for (const name of names) {
    if (catalog.tables.has(name)) continue
    throw noSuchTable(name)
  }
  return new Set(names)
}

class ChangeDecoder {
  private readonly parts: FeedParts
  private readonly wanted: ReadonlySet<string> | undefined
  private readonly view = new CellView()
  private names = new Map<number, { readonly table: string; readonly family: string }>()
  private version: unknown = undefined

  constructor(parts: FeedParts, wanted: ReadonlySet<string> | undefined) {
    this.parts = parts
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
    const { catalog, versions } = this.parts
    if (this.version === versions.current) return
    this.version = versions.current
    this.names = new Map()
    for (const { name: table, families } of catalog.tables.values()) {
      for (const { name: family, store } of families) {
        this.names.set(store.storeId, { table, family })
      }
    }
  }
}
