/** Metrics of databases for monitors. The public entry `cellardb/metrics`. */
export {
  figuresText,
  prometheusPage,
  registerPrometheus,
  type PrometheusOptions,
} from './prometheus.js'
export {
  observeByOpenTelemetry,
  traceByOpenTelemetry,
  type OpenTelemetryOptions,
  type OpenTelemetryTracingOptions,
} from './open-telemetry.js'
export type {
  MonitoredDatabase,
  MonitoredFamily,
  MonitoredLatency,
  MonitoredStatistics,
  MonitoredTable,
} from './figures.js'
