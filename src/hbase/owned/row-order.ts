/** The order of the calls on a row. */
import type { BytesLike } from '../../api/index.js'
import type { NamedRow } from './loads.js'

/** Calls of a database, of which those on one row run one after the other. */
export class RowOrder {
  /** By row, the end of the last call on it that is not carried out. */
  readonly #ends = new Map<string, Promise<void>>()

  /** Runs a call when the earlier calls on its rows have been carried out. */
  async run<T>(rows: readonly NamedRow[], call: () => Promise<T>): Promise<T> {
    const names = rows.map(({ table, row }) => `${table}\0${textOf(row)}`)
    const earlier = names.map((name) => this.#ends.get(name) ?? Promise.resolve())
    const running = Promise.all(earlier).then(call)
    const ended = running.then(
      () => undefined,
      () => undefined,
    )
    for (const name of names) this.#ends.set(name, ended)
    try {
      return await running
    } finally {
      for (const name of names) if (this.#ends.get(name) === ended) this.#ends.delete(name)
    }
  }
}

function textOf(row: BytesLike): string {
  return (typeof row === 'string' ? Buffer.from(row) : Buffer.from(row)).toString('latin1')
}
