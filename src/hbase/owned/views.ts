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

interface Generation {
  open: boolean
  /** Rows with an image by table, as latin1 texts. */
  readonly rows: Map<string, Set<string>>
  readonly tables: Map<string, EmbeddedTable>
}

/** A view; see `Database.snapshot`. */
export class View implements Snapshot {
  readonly sequence: number
  /** Resolves when all batches up to the sequence are applied. */
  readonly ready: Promise<void>
  readonly #views: Views
  readonly #generation: Generation

  constructor(views: Views, sequence: number, ready: Promise<void>, generation: Generation) {
    this.#views = views
    this.sequence = sequence
    this.ready = ready
    this.#generation = generation
  }

  /** The table with the image of a row, if the row has changed since. `ERR_CLOSED`. */
  image(table: string, row: Uint8Array): EmbeddedTable | undefined {
    this.#checkOpen()
    return this.#views.image(this.#generation, table, row)
  }

  /** Rows with images, unsorted. `ERR_CLOSED`. */
  changed(table: string): Buffer[] {
    this.#checkOpen()
    return this.#views.changed(this.#generation, table)
  }

  /** Whether the view belongs to these views. */
  isOf(views: Views): boolean {
    return this.#views === views
  }

  /** Releases the view, and the rows that were kept for it. */
  close(): void {
    this.#generation.open = false
    this.#views.collect()
  }

  /** As {@link close}, for `using`. */
  [Symbol.dispose](): void {
    this.close()
  }

  #checkOpen(): void {
    if (!this.#generation.open) throw closedError('the snapshot')
  }
}

/** The open views. */
export class Views {
  readonly #store: Store
  readonly #clock: Clock
  #mirror: Promise<Mirror> | undefined = undefined
  #generations: Generation[] = []

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Opens a view of the batches up to a sequence. */
  open(sequence: number, ready: Promise<void>): View {
    const generation: Generation = { open: true, rows: new Map(), tables: new Map() }
    this.#generations.push(generation)
    ready.catch(() => undefined)
    return new View(this, sequence, ready, generation)
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

  async #makeTable({ tables, rows }: Generation, name: string): Promise<EmbeddedTable> {
    this.#mirror ??= Mirror.open(this.#store, this.#clock)
    const table = await (await this.#mirror).make(name)
    tables.set(name, table)
    rows.set(name, new Set())
    return table
  }

  /** As {@link View.image}. */
  image(from: Generation, table: string, row: Uint8Array): EmbeddedTable | undefined {
    const name = nameOf(row)
    for (const generation of this.#since(from)) {
      if (generation.rows.get(table)?.has(name) === true) return generation.tables.get(table)
    }
    return undefined
  }

  /** As {@link View.changed}. */
  changed(from: Generation, table: string): Buffer[] {
    const names = new Set<string>()
    for (const { rows } of this.#since(from))
      for (const name of rows.get(table) ?? []) names.add(name)
    return Array.from(names, (name) => Buffer.from(name, 'latin1'))
  }

  /** Drops images that no open view needs. */
  collect(): void {
    while (this.#generations[0]?.open === false) {
      const { tables } = this.#generations.shift()!
      for (const { name } of tables.values()) {
        void this.#mirror?.then(({ database }) => database.dropTable(name)).catch(() => undefined)
      }
    }
  }

  /** Closes all views. */
  async close(): Promise<void> {
    for (const generation of this.#generations) generation.open = false
    this.#generations = []
    await (await this.#mirror)?.database.close()
  }

  #since(from: Generation): readonly Generation[] {
    return this.#generations.slice(this.#generations.indexOf(from))
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
