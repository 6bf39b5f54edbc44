/** A page for Prometheus, by the package `prom-client`. */
import type { Registry } from 'prom-client'
import {
  checkArray,
  checkMethods,
  OptionNames,
  readArguments,
  requirePackage,
} from '../api/index.js'
import { figures, type Figure, type MonitoredDatabase } from './figures.js'

type PromClient = typeof import('prom-client')

/** Options of {@link registerPrometheus}. */
export interface PrometheusOptions {
  /** Where the metrics are registered. Default: a registry of their own. */
  readonly registry?: Registry | undefined
  /** Begins the names. Default 'cellardb_'. */
  readonly prefix?: string | undefined
}

const optionNames = new OptionNames<PrometheusOptions>('registerPrometheus', {
  registry: true,
  prefix: true,
})

/**
 * Registers the figures of databases, each with the label `database`: its directory. They are read
 * whenever the page is asked for (`registry.metrics()`), nothing is collected in between.
 *
 * A database that is closed by then is left out. `ERR_MISSING_PACKAGE` without `prom-client`.
 */
export function registerPrometheus(
  databases: readonly MonitoredDatabase[],
  options: PrometheusOptions = {},
): Registry {
  for (const database of checkArray(databases, 'the databases of a monitor')) {
    checkMethods(database, 'the database of a monitor', ['statistics'])
  }
  const { registry, prefix = 'cellardb_' } = readArguments(() => optionNames.copy(options))
  if (registry !== undefined) checkMethods(registry, 'registry', ['registerMetric', 'metrics'])
  const client = requirePackage<PromClient>('prom-client', 'a page for Prometheus')
  const target = registry ?? new client.Registry()
  for (const figure of figures) register(client, target, prefix, figure, databases)
  return target
}

/** The page of one moment, in the text format of Prometheus. */
export function prometheusPage(...databases: readonly MonitoredDatabase[]): Promise<string> {
  return registerPrometheus(databases).metrics()
}

function register(
  client: PromClient,
  registry: Registry,
  prefix: string,
  figure: Figure,
  databases: readonly MonitoredDatabase[],
): void {
  const common = {
    name: prefix + figure.name,
    help: figure.help,
    labelNames: ['database', ...figure.labels],
    registers: [registry],
  }
  const tellAll = (tell: (labels: Record<string, string>, value: number) => void): void => {
    for (const database of databases) {
      const statistics = statisticsOf(database)
      if (statistics === undefined) continue
      figure.read(statistics, (value, labels) => {
        tell({ database: database.directory, ...labels }, value)
      })
    }
  }
  if (figure.kind === 'gauge') {
    const gauge = new client.Gauge({
      ...common,
      collect() {
        gauge.reset()
        tellAll((labels, value) => gauge.set(labels, value))
      },
    })
    return
  }
  // The database counts; this counter is set to that count.
  const counter = new client.Counter({
    ...common,
    collect() {
      counter.reset()
      tellAll((labels, value) => counter.inc(labels, value))
    },
  })
}

/** Undefined of a database that is closed. */
function statisticsOf(
  database: MonitoredDatabase,
): ReturnType<MonitoredDatabase['statistics']> | undefined {
  try {
    return database.statistics()
  } catch {
    return undefined
  }
}
