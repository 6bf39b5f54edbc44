/** Metrics of the repository in the text format of Prometheus. */
import { familiesText, family, type Family, type Sample } from '../../../metrics/text.js'
import type { RepositoryMaintenance, RepositoryManager, SearchIndexes } from '../index.js'
import type { FindIndexes } from './indexes.js'
import type { SystemHealth } from '../../../http/server-system.js'
import type { Source } from '../../../http/server-system.js'

/** The source of the maintenance; undefined while another process leads. */
export type MaintenanceSource = Source<RepositoryMaintenance>

/** Functions that find the parts of a repository; undefined for parts that the server lacks. */
export interface RepositoryFinders {
  readonly manager: () => RepositoryManager | undefined
  readonly indexes: FindIndexes
  readonly maintenance: (() => RepositoryMaintenance | undefined) | undefined
}

/** Counts requests by method and status; reads all other values on each request of the page. */
export class RepositoryCounters {
  readonly #find: RepositoryFinders
  readonly #requests = new Map<string, Sample>()

  constructor(find: RepositoryFinders) {
    this.#find = find
  }

  count(method: string, status: number): void {
    const key = `${method} ${status}`
    const [, before = 0] = this.#requests.get(key) ?? []
    this.#requests.set(key, [{ method, status: String(status) }, Number(before) + 1])
  }

  text(): string {
    const manager = this.#find.manager()
    if (manager === undefined) return ''
    const indexes = this.#find.indexes?.()
    const maintenance = this.#find.maintenance?.()
    const requests = [...this.#requests].sort().map(([, sample]) => sample)
    const tables = manager.listRepositories().map((name) => manager.repository(name).listTables())
    return familiesText('cellar_repository_', [
      family('gauge', 'repositories', tables.length),
      family('gauge', 'tables', tables.flat().length),
      family('gauge', 'field_types', manager.types.listFieldTypes().length),
      family('gauge', 'record_types', manager.types.listRecordTypes().length),
      ...eachOf('subscription', manager.subscriptions, subscriptionFigures),
      ...(indexes === undefined ? [] : indexFamilies(indexes)),
      ...(maintenance === undefined
        ? []
        : maintenanceFigures.map(([kind, name, value]) => {
            return family(kind, `maintenance_${name}`, value(maintenance))
          })),
      family('counter', 'requests_total', requests),
    ])
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

type Kind = Family['kind']

/** Figures of one of several parts: kind, name and value. */
type Figures<T> = readonly (readonly [Kind, string, (part: T) => number | boolean])[]

/** The figures of all parts, each with its name in the label `kind`. */
function eachOf<T extends { readonly name: string }>(
  kind: string,
  parts: readonly T[],
  figures: Figures<T>,
): Family[] {
  return figures.map(([type, name, value]) => {
    const samples = parts.map((part): Sample => [{ [kind]: part.name }, value(part)])
    return family(type, `${kind}_${name}`, samples)
  })
}

const subscriptionFigures: Figures<RepositoryManager['subscriptions'][number]> = [
  ['gauge', 'running', ({ isRunning }) => isRunning],
  ['gauge', 'lag', ({ lag }) => lag],
  ['counter', 'events_total', ({ counts }) => counts.handled],
  ['counter', 'failures_total', ({ counts }) => counts.failed],
  ['counter', 'dead_letters_total', ({ counts }) => counts.deadLetters],
]

const indexFigures: Figures<SearchIndexes['running'][number]> = [
  ['gauge', 'following', ({ isFollowing }) => isFollowing],
  ['gauge', 'lag', ({ lag }) => lag],
  ['counter', 'documents_total', ({ counts }) => counts.documentsWritten],
  ['counter', 'refused_total', ({ counts }) => counts.documentsRefused],
  ['counter', 'extraction_failures_total', ({ counts }) => counts.extractionFailures],
  ['gauge', 'building', ({ buildProgress }) => buildProgress !== undefined],
  ['gauge', 'build_records', ({ buildProgress }) => buildProgress?.records ?? 0],
  ['gauge', 'build_ranges', ({ buildProgress }) => buildProgress?.ranges ?? 0],
  ['gauge', 'build_ranges_done', ({ buildProgress }) => buildProgress?.rangesDone ?? 0],
]

function indexFamilies({ running, failures }: SearchIndexes): Family[] {
  const well = [
    ...running.map(({ name, failure }): Sample => [{ index: name }, failure === undefined]),
    ...[...failures.keys()].map((name): Sample => [{ index: name }, false]),
  ]
  return [family('gauge', 'index_well', well), ...eachOf('index', running, indexFigures)]
}

const maintenanceFigures: Figures<RepositoryMaintenance> = [
  ['gauge', 'well', ({ failure }) => failure === undefined],
  ['gauge', 'age_seconds', ({ ageMilliseconds }) => ageMilliseconds / 1000],
  ['counter', 'runs_total', ({ counts }) => counts.runs],
  ['counter', 'failures_total', ({ counts }) => counts.failures],
  ['counter', 'blobs_removed_total', ({ counts }) => counts.blobsRemoved],
  ['counter', 'blobs_unreachable_total', ({ counts }) => counts.blobsUnreachable],
  ['counter', 'records_purged_total', ({ counts }) => counts.recordsPurged],
  ['counter', 'drops_finished_total', ({ counts }) => counts.dropsFinished],
]
