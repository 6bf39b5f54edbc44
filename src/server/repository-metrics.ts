/** Metrics of the repository in the text format of Prometheus. */
import type { RepositorySource } from './repository-call.js'

/** Counts requests by method and status. */
export class RepositoryCounters {
  readonly #source: RepositorySource
  readonly #counts = new Map<string, number>()

  constructor(source: RepositorySource) {
    this.#source = source
  }

  count(method: string, status: number): void {
    const labels = `method="${method}",status="${status}"`
    this.#counts.set(labels, (this.#counts.get(labels) ?? 0) + 1)
  }

  text(): string {
    const manager = typeof this.#source === 'function' ? this.#source() : this.#source
    if (manager === undefined) return ''
    const { types } = manager
    const tables = manager.listRepositories().map((name) => manager.repository(name).listTables())
    const lines = [
      `cellar_repository_repositories ${tables.length}`,
      `cellar_repository_tables ${tables.flat().length}`,
      `cellar_repository_field_types ${types.listFieldTypes().length}`,
      `cellar_repository_record_types ${types.listRecordTypes().length}`,
    ]
    for (const [labels, count] of [...this.#counts].sort()) {
      lines.push(`cellar_repository_requests_total{${labels}} ${count}`)
    }
    return `${lines.join('\n')}\n`
  }
}
