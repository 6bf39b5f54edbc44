/** Metrics and spans for OpenTelemetry, through the package `@opentelemetry/api`. */
import { subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel'
import type {
  BatchObservableResult,
  MeterProvider,
  Observable,
  Span,
  TracerProvider,
} from '@opentelemetry/api'
import {
  checkMethods,
  declareOptions,
  implementation,
  requirePackage,
  type OptionsOf,
} from '../api/index.js'
import { bounds, figures, type MonitoredDatabase } from './figures.js'

type OpenTelemetry = typeof import('@opentelemetry/api')

function loadPackage(): OpenTelemetry {
  return requirePackage<OpenTelemetry>('@opentelemetry/api', 'OpenTelemetry')
}

/** Name of the meter and the tracer. */
const scope = 'cellardb'

const telemetryOptions = declareOptions('observeByOpenTelemetry', {
  /** Default: the global provider, which the SDK of the program sets. */
  meterProvider: implementation<MeterProvider>(['getMeter']),
})

/** Options of {@link observeByOpenTelemetry}. */
export interface OpenTelemetryOptions extends OptionsOf<typeof telemetryOptions> {}

/** A message of the channel of timed operations and jobs. */
interface Timed {
  readonly directory: string
  readonly table: string
  readonly family: string | undefined
  readonly kind: string
  readonly milliseconds: number
}

/**
 * Observes a database with the meter 'cellardb': one counter or gauge for each metric, with the
 * directory as the attribute `db.namespace`, read when the SDK collects; and the histogram
 * `cellardb.operation_duration` of all timed operations and jobs, with `operation`, `table` and,
 * where there is only one, `family`.
 *
 * Returns a function that ends the observation. `ERR_MISSING_PACKAGE` without `@opentelemetry/api`.
 */
export function observeByOpenTelemetry(
  database: MonitoredDatabase,
  options: OpenTelemetryOptions = {},
): () => void {
  checkMethods(database, 'the database of a monitor', ['statistics'])
  const { meterProvider } = telemetryOptions.read(options)
  const meter = (meterProvider ?? loadPackage().metrics).getMeter(scope)
  const instruments = figures.map(({ name, help: description, kind, unit }) => {
    const full = `${scope}.${name.replace(/_total$/, '')}`
    const options = { description, unit }
    return kind === 'gauge'
      ? meter.createObservableGauge(full, options)
      : meter.createObservableCounter(full, options)
  })
  const observe = (result: BatchObservableResult): void => {
    const statistics = database.statistics()
    for (const [at, figure] of figures.entries()) {
      const instrument: Observable = instruments[at]
      for (const [labels, value] of figure.read(statistics)) {
        const attributes = { 'db.namespace': database.directory, ...labels }
        result.observe(instrument, Number(value), attributes)
      }
    }
  }
  const histogram = meter.createHistogram(`${scope}.operation_duration`, {
    description: 'Durations of timed operations and jobs.',
    unit: 's',
    advice: { explicitBucketBoundaries: [...bounds] },
  })
  const record = (message: unknown): void => {
    const { directory, table, family, kind: operation, milliseconds } = message as Timed
    if (directory !== database.directory) return
    const place = { ...(table !== '' && { table }), ...(family !== undefined && { family }) }
    histogram.record(milliseconds / 1000, { 'db.namespace': directory, operation, ...place })
  }
  meter.addBatchObservableCallback(observe, instruments)
  subscribe('cellardb:operation:timed', record)
  return () => {
    meter.removeBatchObservableCallback(observe, instruments)
    unsubscribe('cellardb:operation:timed', record)
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'an error that is none'
}

const tracingOptions = declareOptions('traceByOpenTelemetry', {
  /** Default: the global provider, which the SDK of the program sets. */
  tracerProvider: implementation<TracerProvider>(['getTracer']),
})

/** Options of {@link traceByOpenTelemetry}. */
export interface OpenTelemetryTracingOptions extends OptionsOf<typeof tracingOptions> {}

/** A message of a tracing channel; result or error come with the end. */
interface Traced {
  readonly directory: string
  readonly table: string
  readonly family?: string
  readonly kind: string
  readonly error?: unknown
}

/**
 * Makes a span for each operation, step of a scan, flush and compaction of all databases of the
 * process, with the tracer 'cellardb'. A span is a child of the span that is active at the call,
 * and is named as `get orders`. Rows and values are in no span.
 *
 * Returns a function that ends the tracing. `ERR_MISSING_PACKAGE` without `@opentelemetry/api`.
 */
export function traceByOpenTelemetry(options: OpenTelemetryTracingOptions = {}): () => void {
  const { tracerProvider } = tracingOptions.read(options)
  const api = loadPackage()
  const tracer = (tracerProvider ?? api.trace).getTracer(scope)
  const spans = new WeakMap<object, Span>()
  const start = (message: unknown): void => {
    const { directory, table, family, kind } = message as Traced
    const attributes = {
      'db.system.name': scope,
      'db.namespace': directory,
      'db.operation.name': kind,
      ...(table !== '' && { 'db.collection.name': table }),
      ...(family !== undefined && { 'cellardb.family': family }),
    }
    spans.set(message as object, tracer.startSpan(`${kind} ${table}`.trim(), { attributes }))
  }
  const end = (message: unknown): void => {
    const span = spans.get(message as object)
    spans.delete(message as object)
    const { error } = message as Traced
    if (error !== undefined) {
      span?.recordException(error as Error)
      span?.setStatus({ code: api.SpanStatusCode.ERROR, message: messageOf(error) })
    }
    span?.end()
  }
  const endSync = (message: unknown): void => {
    // An operation with a promise has neither yet.
    if ('result' in (message as object) || 'error' in (message as object)) end(message)
  }
  const nothing = (): void => undefined
  const subscribers = { start, end: endSync, asyncStart: nothing, asyncEnd: end, error: nothing }
  const channels = ['operation', 'job'].map((name) => tracingChannel(`${scope}:${name}`))
  for (const channel of channels) channel.subscribe(subscribers)
  return () => {
    for (const channel of channels) channel.unsubscribe(subscribers)
  }
}
