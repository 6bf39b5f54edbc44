/** Metrics of databases for monitors. The public entry `cellardb/metrics`. */
export {
  figuresText,
  prometheusPage,
  registerPrometheus,
  type PrometheusOptions,
} from './prometheus.js'
export { observeByOpenTelemetry, type OpenTelemetryOptions } from './open-telemetry.js'
export type { MonitoredDatabase, MonitoredLatency, MonitoredStatistics } from './figures.js'
