/** Metrics of the server itself for Prometheus: requests, memory and process. */
import { performance } from 'node:perf_hooks'
import type { FastifyInstance } from 'fastify'
import { assert } from '../api/index.js'
import {
  familiesText,
  family,
  histogramSamples,
  type Family,
  type Labels,
  type Sample,
} from '../metrics/text.js'
import type { RequestMemory } from '../http/request-memory.js'

/** Bounds of the buckets of durations, in seconds. */
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30, 60]

interface Requests {
  readonly labels: Labels
  readonly byStatus: Map<number, number>
  readonly buckets: number[]
  sum: number
  count: number
}

export class HttpMetrics {
  readonly #memory: RequestMemory
  /** By method and route. */
  readonly #requests = new Map<string, Requests>()
  #underWay = 0
  #connections = 0
  #connectionsRefused = 0

  /** Counts the requests of a server from this call on. */
  constructor(app: FastifyInstance, memory: RequestMemory) {
    this.#memory = memory
    app.server.on('connection', (socket) => {
      this.#connections++
      socket.once('close', () => this.#connections--)
    })
    app.server.on('drop', () => this.#connectionsRefused++)
    app.addHook('onRequest', (request, reply, done) => {
      this.#underWay++
      const start = performance.now()
      reply.raw.once('close', () => {
        this.#underWay--
        const labels = { method: request.method, route: request.routeOptions.url ?? 'none' }
        this.#count(labels, reply.raw.statusCode, (performance.now() - start) / 1000)
      })
      done()
    })
  }

  /** Lines in the text format of Prometheus. */
  text(): string {
    const requests = [...this.#requests.values()]
    const answered = requests.flatMap(({ labels, byStatus }) => {
      return [...byStatus].map(([status, count]): Sample => {
        return [{ ...labels, status: String(status) }, count]
      })
    })
    const durations = requests.flatMap((each) => histogramSamples(each, bounds, each.labels))
    const { bytesUsed, bytesMax } = this.#memory
    const help = 'From the head of a request to the end of its answer.'
    const own = [
      family('counter', 'requests_total', answered, 'Answered requests.'),
      family('histogram', 'request_duration_seconds', durations, help),
      family('gauge', 'requests_under_way', this.#underWay, 'Requests without an answer.'),
      family('gauge', 'connections', this.#connections, 'Open connections.'),
      family('gauge', 'memory_bytes', bytesUsed, 'Bytes of bodies and answers.'),
      family('gauge', 'memory_bytes_max', bytesMax, 'Most bytes of bodies and answers.'),
      family(
        'counter',
        'connections_refused_total',
        this.#connectionsRefused,
        'Connections beyond the cap.',
      ),
    ]
    return familiesText('cellar_http_', own) + familiesText('', processFamilies())
  }

  #count(labels: Labels, status: number, seconds: number): void {
    assert(this.#underWay >= 0, 'no more requests are answered than have begun')
    const key = `${labels['method']} ${labels['route']}`
    let requests = this.#requests.get(key)
    if (requests === undefined) {
      requests = { labels, byStatus: new Map(), buckets: bounds.map(() => 0), sum: 0, count: 0 }
      this.#requests.set(key, requests)
    }
    const { byStatus, buckets } = requests
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
    for (const [at, bound] of bounds.entries()) if (seconds <= bound) buckets[at]++
    requests.sum += seconds
    requests.count++
  }
}

/** Metrics of the process, under the names of Prometheus's client libraries. */
function processFamilies(): Family[] {
  const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  const { utilization } = performance.eventLoopUtilization()
  const start = performance.timeOrigin / 1000
  return [
    family('counter', 'process_cpu_seconds_total', (user + system) / 1e6, 'Processor time.'),
    family('gauge', 'process_resident_memory_bytes', rss, 'Resident memory.'),
    family('gauge', 'process_start_time_seconds', start, 'Start of the process since the epoch.'),
    family('gauge', 'nodejs_heap_size_used_bytes', heapUsed, 'Used heap.'),
    family('gauge', 'nodejs_external_memory_bytes', external, 'Memory outside of the heap.'),
    family('gauge', 'nodejs_array_buffers_bytes', arrayBuffers, 'Buffers.'),
    family('gauge', 'nodejs_eventloop_utilization', utilization, 'Busy part of the event loop.'),
  ]
}
