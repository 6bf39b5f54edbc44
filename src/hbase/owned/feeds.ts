/** The change feeds of an owned database: the batches of its log, each when it is applied. */
import type * as api from '../../api/index.js'
import { changeOptions, endedByReturn, spanOfFeed } from '../../api/changes.js'
import { noSuchFamily, noSuchTable } from '../../api/names.js'
import { deferred } from '../../base/deferred.js'
import { checkAborted, poisonedError } from '../../base/errors.js'
import type { SettingsOf } from '../../base/options.js'
import type { LoggedBatch } from './log/logged-batch.js'
import { changesGone, type OwnerLog } from './log/owner-log.js'

/** Tables and families that a feed was asked for; undefined = all. */
type Wanted = Pick<SettingsOf<typeof changeOptions>, 'table' | 'family'>

export class Feeds {
  readonly #admin: api.Database['admin']
  readonly #checkOpen: () => void
  readonly #positions = new Set<{ next: number }>()

  /** `checkOpen` throws once the database is closed. */
  constructor(admin: api.Database['admin'], checkOpen: () => void) {
    this.#admin = admin
    this.#checkOpen = checkOpen
  }

  /** The sequence from which on the log must stay; Infinity without feeds. */
  get neededFrom(): number {
    return Math.min(Infinity, ...Array.from(this.#positions, ({ next }) => next))
  }

  /** The changes of a log from now on, or from the sequence of the options on. */
  follow(log: OwnerLog, options: api.ChangeOptions): AsyncGenerator<api.Change, void> {
    const { last } = log
    return endedByReturn((ended) => this.#follow(log, options, last, ended))
  }

  async *#follow(
    log: OwnerLog,
    options: api.ChangeOptions,
    last: number,
    ended: AbortSignal,
  ): AsyncGenerator<api.Change, void> {
    const settings = changeOptions.read(options)
    await this.#checkNames(settings)
    const { from, to } = spanOfFeed(settings, last)
    const position = { next: from }
    if (position.next < log.oldest) throw changesGone(position.next, log.oldest)
    this.#positions.add(position)
    try {
      while (position.next <= to) {
        while (log.applied < position.next) {
          await this.#progress(log, ended, settings.signal)
          if (ended.aborted) return
        }
        for (const batch of await log.read(position.next)) {
          checkAborted('the change feed', settings.signal)
          if (batch.sequence > to) return
          const change = changeOf(batch, settings)
          position.next = batch.sequence + 1
          if (change.cells.length > 0 || settings.emptyChanges) yield change
        }
      }
    } finally {
      this.#positions.delete(position)
    }
  }

  async #checkNames({ table: tables, family: families = [] }: Wanted): Promise<void> {
    for (const name of tables ?? []) {
      if (!(await this.#admin.tableExists(name))) throw noSuchTable(name)
    }
    if (families.length === 0) return
    const names = tables ?? (await this.#admin.listTableNames())
    const described = await Promise.all(names.map(async (name) => this.#admin.getDescriptor(name)))
    const known = described.flatMap((each) => Object.keys(each.families))
    for (const family of families) {
      if (!known.includes(family)) throw noSuchFamily(family, names.join(', '), known)
    }
  }

  /** Waits until more is applied, the reader ends the feed, or the signal aborts. */
  async #progress(
    log: OwnerLog,
    ended: AbortSignal,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    checkAborted('the change feed', signal)
    this.#checkOpen()
    if (log.failure !== undefined) throw poisonedError(log.failure)
    if (ended.aborted) return
    const aborted = deferred<void>()
    const abort = (): void => aborted.resolve()
    for (const each of [ended, signal]) each?.addEventListener('abort', abort)
    await Promise.race([log.progress, aborted.promise])
    for (const each of [ended, signal]) each?.removeEventListener('abort', abort)
  }
}

function changeOf(batch: LoggedBatch, { table: tables, family: families }: Wanted): api.Change {
  const { sequence, timestamp } = batch
  const cells = batch.cells.filter(({ table, family }) => {
    return (tables?.includes(table) ?? true) && (families?.includes(family) ?? true)
  })
  return {
    sequence,
    timestamp: timestamp === 0 ? undefined : timestamp,
    cells: cells.map(({ timestamp: exact, ...cell }) => {
      return { ...cell, timestamp: Number(exact), timestampExact: exact, sequence }
    }),
  }
}
