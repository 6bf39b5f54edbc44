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
  for (const figure of figures) register(client, target, prefix, figure, observed)
  registerDurations(target, prefix, observed)
  return target
}

/** The current metrics in the text format of Prometheus. */
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
  // The database keeps the count; each collection sets this counter to that count.
  const counter = new client.Counter({
    ...common,
    collect() {
      counter.reset()
      tellAll((labels, value) => counter.inc(labels, value))
    },
  })
}

/** The histogram shows the buckets of the database and takes no observations. */
function registerDurations(
  registry: Registry,
  prefix: string,
  databases: readonly MonitoredDatabase[],
): void {
  const name = prefix + durations.name
  const { help } = durations
  const values = (): unknown[] => {
    return [...samplesOf(databases)].map(([suffix, labels, value]) => {
      return { metricName: name + suffix, labels, value }
    })
  }
  const get = async (): Promise<unknown> => {
    return { name, help, type: 'histogram', aggregator: 'sum', values: values() }
  }
  const histogram = {
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    get,
    reset: () => undefined,
  }
  registry.registerMetric(histogram as unknown as Metric)
}

type Sample = readonly [suffix: string, labels: Record<string, string>, value: number]

/** Buckets, sums and counts of each kind of operation of each database. */
function* samplesOf(databases: readonly MonitoredDatabase[]): Generator<Sample, void> {
  for (const database of databases) {
    const statistics = statisticsOf(database)
    if (statistics === undefined) continue
    const samples: Sample[] = []
    durations.read(statistics, ({ buckets, sum, count }, own) => {
      const labels = { database: database.directory, ...own }
      for (const [at, bound] of durations.bounds.entries()) {
        samples.push(['_bucket', { ...labels, le: String(bound) }, buckets[at]])
      }
      samples.push(['_bucket', { ...labels, le: '+Inf' }, count])
      samples.push(['_sum', labels, sum], ['_count', labels, count])
    })
    yield* samples
  }
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
  const observed = checkedDatabases(databases)
  const lines: string[] = []
  const known = observed.flatMap((database) => {
    const statistics = statisticsOf(database)
    return statistics === undefined ? [] : [{ directory: database.directory, statistics }]
  })
  for (const { name, help, kind, read } of figures) {
    lines.push(`# HELP cellardb_${name} ${help}`, `# TYPE cellardb_${name} ${kind}`)
    for (const { directory, statistics } of known) {
      read(statistics, (value, labels) => {
        lines.push(line(`cellardb_${name}`, { database: directory, ...labels }, value))
      })
    }
  }
  const name = `cellardb_${durations.name}`
  lines.push(`# HELP ${name} ${durations.help}`, `# TYPE ${name} histogram`)
  for (const [suffix, labels, value] of samplesOf(observed)) {
    lines.push(line(name + suffix, labels, value))
  }
  return `${lines.join('\n')}\n`
}

function line(name: string, labels: Readonly<Record<string, string>>, value: number): string {
  const texts = Object.entries(labels).map(([label, each]) => {
    return `${label}="${each.replace(/[\\"\n]/g, (sign) => (sign === '\n' ? '\\n' : `\\${sign}`))}"`
  })
  return `${name}{${texts.join(',')}} ${value}`
}

/** Undefined for a closed database. */
function statisticsOf(database: MonitoredDatabase): MonitoredStatistics | undefined {
  try {
    return database.statistics()
  } catch {
    return undefined
  }
}
