/** The change feed of the public API: mutations of the log as cells of tables. */
import { cellTypeName, type CellTypeCode } from '../storage/cell/cell-type.js'
import { CellView } from '../storage/cell/cell-view.js'
import { readMutations, type LoggedMutation } from '../storage/engine/transfer/change-feed.js'
import type { OpenedParts } from '../storage/engine/engine.js'
import {
  changeOptions,
  endedByReturn,
  spanOfFeed,
  type Change,
  type ChangedCell,
  type ChangeOptions,
} from '../api/changes.js'
import type { SettingsOf } from '../base/options.js'
import { noSuchFamily, noSuchTable } from '../api/names.js'

type FeedParts = Parameters<typeof readMutations>[0] & Pick<OpenedParts, 'catalog' | 'readPoints'>

/**
 * The feed; see `Database.changes`. Starts after the last mutation at the time of the call,
 * although a generator only runs at the first request.
 */
export function changes(parts: FeedParts, options: ChangeOptions): AsyncGenerator<Change, void> {
  const last = parts.readPoints.lastSequence
  return endedByReturn((ended) => follow(parts, options, last, ended))
}

async function* follow(
  parts: FeedParts,
  options: ChangeOptions,
  last: number,
  ended: AbortSignal,
): AsyncGenerator<Change, void> {
  parts.lifecycle.checkOpen()
  const settings = changeOptions.read(options)
  checkNames(parts, settings)
  const decoder = new ChangeDecoder(parts, settings)
  const span = spanOfFeed(settings, last)
  const { durability, signal } = settings
  for await (const mutation of readMutations(parts, span, durability, signal, ended)) {
    const change = decoder.decode(mutation)
    if (change.cells.length > 0 || settings.emptyChanges) yield change
  }
}

/** Tables and families that a feed was asked for; undefined = all. */
type Wanted = Pick<SettingsOf<typeof changeOptions>, 'table' | 'family'>

function checkNames(
  { catalog }: FeedParts,
  { table: tables, family: families = [] }: Wanted,
): void {
  const names = tables ?? [...catalog.tables.keys()]
  for (const name of names) if (!catalog.tables.has(name)) throw noSuchTable(name)
  for (const family of families) {
    if (names.some((name) => catalog.tables.get(name)!.familyByName.has(family))) continue
    const known = names.flatMap((name) => [...catalog.tables.get(name)!.familyByName.keys()])
    throw noSuchFamily(family, names.join(', '), known)
  }
}

class ChangeDecoder {
  private readonly parts: FeedParts
  private readonly wanted: Wanted
  private readonly view = new CellView()
  private names = new Map<number, { readonly table: string; readonly family: string }>()
  private version: FeedParts['versions']['current'] | undefined = undefined

  constructor(parts: FeedParts, wanted: Wanted) {
    this.parts = parts
    this.wanted = wanted
  }

  decode(mutation: LoggedMutation): Change {
    this.learnNames()
    const cells: ChangedCell[] = []
    for (const { storeId, keyStart, keyEnd, end } of mutation.cells) {
      const name = this.names.get(storeId)
      if (name === undefined) continue
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

  /**
   * Maps the wanted stores to names, as the current version has them: the catalog follows a version
   * some turns later. Stores of dropped or truncated tables no longer have a name.
   */
  private learnNames(): void {
    const { current } = this.parts.versions
    if (this.version === current) return
    this.version = current
    this.names = new Map()
    const { table: tables, family: wanted } = this.wanted
    for (const { name: table, snapshot, families } of current.tables.values()) {
      if (snapshot !== undefined || tables?.includes(table) === false) continue
      for (const { name: family, storeId } of families) {
        if (wanted?.includes(family) === false) continue
        this.names.set(storeId, { table, family })
      }
    }
  }
}
