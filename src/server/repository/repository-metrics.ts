/** Metrics of the repository in the text format of Prometheus. */
import type {
  RepositoryMaintenance,
  RepositoryManager,
  SearchIndexes,
} from '../../systems/repository/index.js'
import type { FindIndexes } from './repository-indexes.js'
import type { SystemHealth } from '../http/server-system.js'
import type { Source } from '../http/source.js'

/** The source of the maintenance; undefined while another process leads. */
export type MaintenanceSource = Source<RepositoryMaintenance>

/** Functions that find the parts of a repository; undefined for parts that the server lacks. */
export interface RepositoryFinders {
  readonly manager: () => RepositoryManager | undefined
  readonly indexes: FindIndexes
  readonly maintenance: (() => RepositoryMaintenance | undefined) | undefined
}

type Sample = readonly [labels: string, value: number | boolean]

/** Counts requests by method and status; reads all other values on each request of the page. */
export class RepositoryCounters {
  readonly #find: RepositoryFinders
  readonly #counts = new Map<string, number>()

  constructor(find: RepositoryFinders) {
    this.#find = find
  }

  count(method: string, status: number): void {
    const labels = `method="${method}",status="${status}"`
    this.#counts.set(labels, (this.#counts.get(labels) ?? 0) + 1)
  }

  text(): string {
    const manager = this.#find.manager()
    if (manager === undefined) return ''
    const indexes = this.#find.indexes?.()
    const maintenance = this.#find.maintenance?.()
    const lines = [...schemaLines(manager), ...subscriptionLines(manager)]
    if (indexes !== undefined) lines.push(...indexLines(indexes))
    if (maintenance !== undefined) lines.push(...maintenanceLines(maintenance))
    lines.push(...family('requests_total', [...this.#counts].sort()))
    return `${lines.join('\n')}\n`
  }

  /** Degraded if an index does not run or lags, or the last maintenance failed. */
  health(): SystemHealth {
    if (this.#find.manager() === undefined) return { status: 'standby' }
    const indexes = this.#find.indexes?.()
    const isDegraded =
      this.#find.maintenance?.()?.failure !== undefined ||
      (indexes?.failures.size ?? 0) > 0 ||
      indexes?.running.some(({ failure }) => failure !== undefined) === true
    return { status: isDegraded ? 'degraded' : 'ok' }
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

function maintenanceLines(maintenance: RepositoryMaintenance): string[] {
  const { counts, ageMilliseconds, failure } = maintenance
  const one = (name: string, value: number | boolean): string[] => {
    return family(`maintenance_${name}`, [['', value]])
  }
  return [
    ...one('well', failure === undefined),
    ...one('age_seconds', ageMilliseconds / 1000),
    ...one('runs_total', counts.runs),
    ...one('failures_total', counts.failures),
    ...one('blobs_removed_total', counts.blobsRemoved),
    ...one('blobs_unreachable_total', counts.blobsUnreachable),
    ...one('records_purged_total', counts.recordsPurged),
    ...one('drops_finished_total', counts.dropsFinished),
  ]
}
