/** Metrics of the server itself for Prometheus: requests, memory and process. */
import { performance } from 'node:perf_hooks'
import type { FastifyInstance } from 'fastify'
import type { RequestMemory } from './request-memory.js'

/** Bounds of the buckets of durations, in seconds. */
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30, 60]

interface Durations {
  readonly buckets: number[]
  sum: number
  count: number
}

/** See the file header. */
export class HttpMetrics {
  readonly #memory: RequestMemory
  readonly #requests = new Map<string, number>()
  readonly #durations = new Map<string, Durations>()
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
        const route = request.routeOptions.url ?? 'none'
        const { method } = request
        const labels = `method="${method}",route="${route}"`
        this.#count(`${labels},status="${reply.raw.statusCode}"`)
        this.#time(labels, (performance.now() - start) / 1000)
      })
      done()
    })
  }

  /** Lines in the text format of Prometheus. */
  text(): string {
    const lines = [...this.#requestLines(), ...this.#durationLines()]
    const gauge = (name: string, help: string, value: number): void => {
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} gauge`, `${name} ${value}`)
    }
    gauge('cellar_http_requests_under_way', 'Requests without an answer.', this.#underWay)
    gauge('cellar_http_connections', 'Open connections.', this.#connections)
    const { bytesUsed, bytesMax } = this.#memory
    gauge('cellar_http_memory_bytes', 'Bytes of bodies and answers.', bytesUsed)
    gauge('cellar_http_memory_bytes_max', 'Most bytes of bodies and answers.', bytesMax)
    const refused = 'cellar_http_connections_refused_total'
    lines.push(`# HELP ${refused} Connections beyond the cap.`, `# TYPE ${refused} counter`)
    lines.push(`${refused} ${this.#connectionsRefused}`)
    return `${lines.join('\n')}\n${processText()}`
  }

  #count(labels: string): void {
    this.#requests.set(labels, (this.#requests.get(labels) ?? 0) + 1)
  }

  #time(labels: string, seconds: number): void {
    let durations = this.#durations.get(labels)
    if (durations === undefined) {
      durations = { buckets: bounds.map(() => 0), sum: 0, count: 0 }
      this.#durations.set(labels, durations)
    }
    const at = bounds.findIndex((bound) => seconds <= bound)
    if (at >= 0) durations.buckets[at]++
    durations.sum += seconds
    durations.count++
  }

  #requestLines(): string[] {
    const name = 'cellar_http_requests_total'
    const lines = [`# HELP ${name} Answered requests.`, `# TYPE ${name} counter`]
    for (const [labels, count] of this.#requests) lines.push(`${name}{${labels}} ${count}`)
    return lines
  }

  #durationLines(): string[] {
    const name = 'cellar_http_request_duration_seconds'
    const help = 'From the head of a request to the end of its answer.'
    const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`]
    for (const [labels, { buckets, sum, count }] of this.#durations) {
      let below = 0
      for (const [at, bound] of bounds.entries()) {
        below += buckets[at]
        lines.push(`${name}_bucket{${labels},le="${bound}"} ${below}`)
      }
      lines.push(`${name}_bucket{${labels},le="+Inf"} ${count}`)
      lines.push(`${name}_sum{${labels}} ${sum}`, `${name}_count{${labels}} ${count}`)
    }
    return lines
  }
}

/** Metrics of the process, under the names of Prometheus's client libraries. */
function processText(): string {
  const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  const figures: readonly (readonly [string, 'counter' | 'gauge', string, number])[] = [
    ['process_cpu_seconds_total', 'counter', 'Processor time.', (user + system) / 1e6],
    ['process_resident_memory_bytes', 'gauge', 'Resident memory.', rss],
    [
      'process_start_time_seconds',
      'gauge',
      'Start of the process since the epoch.',
      performance.timeOrigin / 1000,
    ],
    ['nodejs_heap_size_used_bytes', 'gauge', 'Used heap.', heapUsed],
    ['nodejs_external_memory_bytes', 'gauge', 'Memory outside of the heap.', external],
    ['nodejs_array_buffers_bytes', 'gauge', 'Buffers.', arrayBuffers],
    [
      'nodejs_eventloop_utilization',
      'gauge',
      'Part of the time that the event loop was busy, since the start.',
      performance.eventLoopUtilization().utilization,
    ],
  ]
  const lines = figures.flatMap(([name, kind, help, value]) => {
    return [`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`, `${name} ${value}`]
  })
  return `${lines.join('\n')}\n`
}
