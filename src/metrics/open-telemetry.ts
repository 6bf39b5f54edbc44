/** Metrics for OpenTelemetry, through the package `@opentelemetry/api`. */
import type { BatchObservableResult, MeterProvider, Observable } from '@opentelemetry/api'
import {
  checkMethods,
  declareOptions,
  implementation,
  requirePackage,
  type OptionsOf,
} from '../api/index.js'
import { durationQuantiles, figures, type MonitoredDatabase } from './figures.js'

type OpenTelemetry = typeof import('@opentelemetry/api')

const telemetryOptions = declareOptions('observeByOpenTelemetry', {
  /** Default: the global provider, which the SDK of the program sets. */
  meterProvider: implementation<MeterProvider>(['getMeter']),
})

/** Options of {@link observeByOpenTelemetry}. */
export interface OpenTelemetryOptions extends OptionsOf<typeof telemetryOptions> {}

/**
 * Observes a database with the meter 'cellardb': one counter or gauge for each metric, with the
 * directory as the attribute `db.namespace`. Values are read when the SDK collects.
 *
 * Returns a function that ends the observation. `ERR_MISSING_PACKAGE` without `@opentelemetry/api`.
 */
export function observeByOpenTelemetry(
  database: MonitoredDatabase,
  options: OpenTelemetryOptions = {},
): () => void {
  checkMethods(database, 'the database of a monitor', ['statistics'])
  const { meterProvider } = telemetryOptions.read(options)
  const api = requirePackage<OpenTelemetry>('@opentelemetry/api', 'OpenTelemetry')
  const meter = (meterProvider ?? api.metrics).getMeter('cellardb')
  const observed = [...figures, durationQuantiles]
  const instruments = observed.map(({ name, help: description, kind, unit }) => {
    const full = `cellardb.${name.replace(/_total$/, '')}`
    const options = { description, unit }
    return kind === 'gauge'
      ? meter.createObservableGauge(full, options)
      : meter.createObservableCounter(full, options)
  })
  const observe = (result: BatchObservableResult): void => {
    const statistics = database.statistics()
    for (const [at, figure] of observed.entries()) {
      const instrument: Observable = instruments[at]
      for (const [labels, value] of figure.read(statistics)) {
        const attributes = { 'db.namespace': database.directory, ...labels }
        result.observe(instrument, Number(value), attributes)
      }
    }
  }
  meter.addBatchObservableCallback(observe, instruments)
  return () => meter.removeBatchObservableCallback(observe, instruments)
}
