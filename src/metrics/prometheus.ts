/** A page for Prometheus, through the package `prom-client`. */
import type { Metric, Registry } from 'prom-client'
import {
  checkArray,
  checkMethods,
  declareOptions,
  implementation,
  requirePackage,
  text,
  type OptionsOf,
} from '../api/index.js'
import {
  durations,
  figures,
  type Figure,
  type MonitoredDatabase,
  type MonitoredStatistics,
} from './figures.js'
import { familiesText, type Sample } from './text.js'

type PromClient = typeof import('prom-client')

const prometheusOptions = declareOptions('registerPrometheus', {
  /** The registry of the metrics. Default: a new registry. */
  registry: implementation<Registry>(['registerMetric', 'metrics']),
  /** Prefix of the metric names. Default 'cellardb_'. */
  prefix: text('cellardb_'),
})

/** Options of {@link registerPrometheus}. */
export interface PrometheusOptions extends OptionsOf<typeof prometheusOptions> {}

/**
 * Registers the metrics of databases, each with the label `database`: its directory. Every
 * `registry.metrics()` reads the values; nothing is collected in between.
 *
 * A closed database is left out. `ERR_MISSING_PACKAGE` without `prom-client`.
 */
export function registerPrometheus(
  databases: readonly MonitoredDatabase[],
  options: PrometheusOptions = {},
): Registry {
  const observed = checkedDatabases(databases)
  const { registry, prefix } = prometheusOptions.read(options)
  const client = requirePackage<PromClient>('prom-client', 'a page for Prometheus')
  const target = registry ?? new client.Registry()
  // All metrics of a page are read in one turn. A look at the statistics costs as much as they all.
  let looks: readonly Look[] | undefined
  const looksOfPage = (): readonly Look[] => {
    if (looks === undefined) {
      looks = looksAt(observed)
      queueMicrotask(() => (looks = undefined))
    }
    return looks
  }
  for (const { name: own, help, kind: type, read } of [...figures, ...durations]) {
    const name = prefix + own
    // The databases keep the counts; the registry reads them and takes no observations.
    const get = async (): Promise<object> => {
      const values = samplesOf(read, looksOfPage()).map(([labels, value, suffix]) => {
        return suffix === undefined
          ? { labels, value }
          : { metricName: name + suffix, labels, value }
      })
      return { name, help, type, aggregator: 'sum', values }
    }
    const metric: object = { name, help, type, aggregator: 'sum', get, reset: () => undefined }
    target.registerMetric(metric as Metric)
  }
  return target
}

/** The current metrics in the text format of Prometheus. */
export function prometheusPage(...databases: readonly MonitoredDatabase[]): Promise<string> {
  return registerPrometheus(databases).metrics()
}

/** The statistics of an open database at one moment. */
type Look = readonly [directory: string, statistics: MonitoredStatistics]

/** Looks at the databases that are open, once at each. */
function looksAt(databases: readonly MonitoredDatabase[]): Look[] {
  return databases.flatMap((database): Look[] => {
    const statistics = statisticsOf(database)
    return statistics === undefined ? [] : [[database.directory, statistics]]
  })
}

function samplesOf(read: Figure['read'], looks: readonly Look[]): Sample[] {
  return looks.flatMap(([directory, statistics]) => {
    return read(statistics).map(([labels, value, suffix]): Sample => {
      return [{ database: directory, ...labels }, value, suffix]
    })
  })
}

/** Checks and copies the databases, so later changes of the array have no effect. */
function checkedDatabases(databases: readonly MonitoredDatabase[]): MonitoredDatabase[] {
  return checkArray(databases, 'the databases of a monitor').map((database) => {
    return checkMethods(database, 'the database of a monitor', ['statistics'])
  })
}

/**
 * The metrics in the text format of Prometheus without `prom-client`, for servers with their own
 * page. Names begin with `cellardb_`.
 */
export function figuresText(databases: readonly MonitoredDatabase[]): string {
  const looks = looksAt(checkedDatabases(databases))
  const families = [...figures, ...durations].map((figure) => {
    return { ...figure, samples: samplesOf(figure.read, looks) }
  })
  return familiesText('cellardb_', families)
}

/** Undefined for a closed database. */
function statisticsOf(database: MonitoredDatabase): MonitoredStatistics | undefined {
  try {
    return database.statistics()
  } catch {
    return undefined
  }
}
