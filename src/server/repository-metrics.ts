/** Metrics of the repository in the text format of Prometheus. */
import type { RepositoryManager, SearchIndexes } from '../repository/index.js'
import type { RepositorySource } from './repository-call.js'
import type { IndexesSource } from './repository-indexes.js'

type Sample = readonly [labels: string, value: number | boolean]

/** Counts requests by method and status, and reads the rest when it is asked for. */
export class RepositoryCounters {
  readonly #source: RepositorySource
  readonly #indexes: IndexesSource
  readonly #counts = new Map<string, number>()

  constructor(source: RepositorySource, indexes: IndexesSource) {
    this.#source = source
    this.#indexes = indexes
  }

  count(method: string, status: number): void {
    const labels = `method="${method}",status="${status}"`
    this.#counts.set(labels, (this.#counts.get(labels) ?? 0) + 1)
  }

  text(): string {
    const manager = typeof this.#source === 'function' ? this.#source() : this.#source
    if (manager === undefined) return ''
    const indexes = typeof this.#indexes === 'function' ? this.#indexes() : this.#indexes
    const lines = [...schemaLines(manager), ...subscriptionLines(manager)]
    if (indexes !== undefined) lines.push(...indexLines(indexes))
    lines.push(...family('requests_total', [...this.#counts].sort()))
    return `${lines.join('\n')}\n`
  }
}

function family(name: string, samples: readonly Sample[]): string[] {
  return samples.map(([labels, value]) => {
    return `cellar_repository_${name}${labels === '' ? '' : `{${labels}}`} ${Number(value)}`
  })
}

function schemaLines(manager: RepositoryManager): string[] {
  const { types } = manager
  const tables = manager.listRepositories().map((name) => manager.repository(name).listTables())
  return [
    ...family('repositories', [['', tables.length]]),
    ...family('tables', [['', tables.flat().length]]),
    ...family('field_types', [['', types.listFieldTypes().length]]),
    ...family('record_types', [['', types.listRecordTypes().length]]),
  ]
}

function subscriptionLines({ subscriptions }: RepositoryManager): string[] {
  const samples = (value: (each: (typeof subscriptions)[number]) => number | boolean): Sample[] => {
    return subscriptions.map((each) => [`subscription="${each.name}"`, value(each)])
  }
  return [
    ...family(
      'subscription_running',
      samples(({ isRunning }) => isRunning),
    ),
    ...family(
      'subscription_lag',
      samples(({ lag }) => lag),
    ),
    ...family(
      'subscription_events_total',
      samples(({ counts }) => counts.handled),
    ),
    ...family(
      'subscription_failures_total',
      samples(({ counts }) => counts.failed),
    ),
    ...family(
      'subscription_dead_letters_total',
      samples(({ counts }) => counts.deadLetters),
    ),
  ]
}

function indexLines(indexes: SearchIndexes): string[] {
  const { running, failures } = indexes
  const samples = (value: (each: (typeof running)[number]) => number | boolean): Sample[] => {
    return running.map((each) => [`index="${each.name}"`, value(each)])
  }
  const all: Sample[] = [
    ...samples(({ failure }) => failure === undefined),
    ...[...failures.keys()].map((name): Sample => [`index="${name}"`, false]),
  ]
  return [
    ...family('index_well', all),
    ...family(
      'index_following',
      samples(({ isFollowing }) => isFollowing),
    ),
    ...family(
      'index_lag',
      samples(({ lag }) => lag),
    ),
    ...family(
      'index_documents_total',
      samples(({ counts }) => counts.documentsWritten),
    ),
    ...family(
      'index_refused_total',
      samples(({ counts }) => counts.documentsRefused),
    ),
    ...family(
      'index_extraction_failures_total',
      samples(({ counts }) => counts.extractionFailures),
    ),
    ...family(
      'index_building',
      samples(({ buildProgress }) => buildProgress !== undefined),
    ),
    ...family(
      'index_build_records',
      samples(({ buildProgress }) => buildProgress?.records ?? 0),
    ),
    ...family(
      'index_build_ranges',
      samples(({ buildProgress }) => buildProgress?.ranges ?? 0),
    ),
    ...family(
      'index_build_ranges_done',
      samples((each) => each.buildProgress?.rangesDone ?? 0),
    ),
  ]
}
