/**
 * Views of an owned database at one moment. The store shows the newest cells only. So while a view
 * is open, the rows of a round are read before the round is applied, and a view shows these images.
 *
 * A generation has the images since one view was opened. A view looks for a row in its generation
 * and in later ones; the first image is the row as the view saw it.
 */
import type { Database as Store, Get, Result, Snapshot } from '../../api/index.js'
import type { Clock } from '../../base/clock.js'
import { closedError } from '../../base/errors.js'
import type { EmbeddedTable } from '../../table/embedded-table.js'
import type { RowWrite } from './log/apply.js'
import { fill, Mirror } from './mirror.js'

/** A view; see `Database.snapshot`. */
export class View implements Snapshot {
  readonly sequence: number
  /** Resolves when all batches up to the sequence are applied. */
  readonly ready: Promise<void>
  /** @internal Rows with an image of this generation by table, as latin1 texts. */
  readonly rows = new Map<string, Set<string>>()
  /** @internal The images, by table. */
  readonly tables = new Map<string, EmbeddedTable>()
  /** @internal Whether it is not closed. */
  isOpen = true
  readonly #views: Views

  constructor(views: Views, sequence: number, ready: Promise<void>) {
    this.#views = views
    this.sequence = sequence
    this.ready = ready
  }

  /** The table with the image of a row, if the row has changed since. `ERR_CLOSED`. */
  image(table: string, row: Uint8Array): EmbeddedTable | undefined {
    const name = nameOf(row)
    return this.#since()
      .find(({ rows }) => rows.get(table)?.has(name))
      ?.tables.get(table)
  }

  /** Rows with images, unsorted. `ERR_CLOSED`. */
  changed(table: string): Buffer[] {
    const names = new Set(this.#since().flatMap(({ rows }) => [...(rows.get(table) ?? [])]))
    return Array.from(names, (name) => Buffer.from(name, 'latin1'))
  }

  /** Whether the view belongs to these views. */
  isOf(views: Views): boolean {
    return this.#views === views
  }

  /** Releases the view, and the rows that were kept for it. */
  close(): void {
    this.isOpen = false
    this.#views.collect()
  }

  /** As {@link close}, for `using`. */
  [Symbol.dispose](): void {
    this.close()
  }

  #since(): readonly View[] {
    if (!this.isOpen) throw closedError('the snapshot')
    return this.#views.since(this)
  }
}

/** The open views. */
export class Views {
  readonly #store: Store
  readonly #clock: Clock
  #mirror: Promise<Mirror> | undefined = undefined
  /** Those with images that an open view may need, oldest first. */
  #generations: View[] = []

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Opens a view of the batches up to a sequence. */
  open(sequence: number, ready: Promise<void>): View {
    const view = new View(this, sequence, ready)
    this.#generations.push(view)
    ready.catch(() => undefined)
    return view
  }

  /** Keeps the rows that are about to change, for the views that are open. */
  async capture(writes: readonly RowWrite[]): Promise<void> {
    const generation = this.#generations.at(-1)
    if (generation === undefined) return
    const byTable = new Map<string, Get[]>()
    for (const { table, row } of writes) {
      if (generation.rows.get(table)?.has(nameOf(row)) === true) continue
      const gets = byTable.get(table) ?? []
      byTable.set(table, gets)
      gets.push({ row, versions: 'all' })
    }
    for (const [name, gets] of byTable) {
      const results = await this.#store.table(name).getList(gets)
      const table = generation.tables.get(name) ?? (await this.#makeTable(generation, name))
      // All views that need these rows may have been closed meanwhile, and their images dropped.
      if (!this.#generations.includes(generation)) return
      for (const result of results) fill(table, result)
      for (const { row } of gets) generation.rows.get(name)!.add(nameOf(row as Buffer))
    }
  }

  async #makeTable({ tables, rows }: View, name: string): Promise<EmbeddedTable> {
    this.#mirror ??= Mirror.open(this.#store, this.#clock)
    const table = await (await this.#mirror).make(name)
    tables.set(name, table)
    rows.set(name, new Set())
    return table
  }

  /** A view and those that were opened later: the first image of a row is as the view saw it. */
  since(view: View): readonly View[] {
    return this.#generations.slice(this.#generations.indexOf(view))
  }

  /** Drops images that no open view needs. */
  collect(): void {
    while (this.#generations[0]?.isOpen === false) {
      const { tables } = this.#generations.shift()!
      for (const { name } of tables.values()) {
        void this.#mirror?.then(({ database }) => database.dropTable(name)).catch(() => undefined)
      }
    }
  }

  async close(): Promise<void> {
    for (const view of this.#generations) view.isOpen = false
    this.#generations = []
    await (await this.#mirror)?.database.close()
  }
}

function nameOf(row: Uint8Array): string {
  return Buffer.from(row.buffer, row.byteOffset, row.length).toString('latin1')
}

/** A read through a view, or of the newest state. */
export async function readRow(
  read: () => Promise<Result>,
  view: View,
  table: string,
  get: Get,
): Promise<Result> {
  await view.ready
  const newest = await read()
  const row = typeof get.row === 'string' ? Buffer.from(get.row) : get.row
  const image = view.image(table, row)
  return image === undefined ? newest : image.getSync({ ...get, snapshot: undefined })
}
