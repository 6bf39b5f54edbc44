/** The processes of the demonstration: the coordinator and the brokers, each a Node of its own. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Order, Report } from './orders.js'

const scriptOf = (name: string): string => fileURLToPath(new URL(`${name}.js`, import.meta.url))

/** Without the loaders of a test runner. */
const env = { ...process.env, NODE_OPTIONS: '' }

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

/** Ends a process as by `kill -9`, and waits until it has gone. */
async function killed(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** The process that has the store open. */
export class Coordinator {
  readonly #place: string
  port = 0
  #child: ChildProcess | undefined = undefined

  /** `place`: a directory, or the address of an owned database. */
  constructor(place: string) {
    this.#place = place
  }

  /** Starts the process, on the port of before. Resolves when it serves. */
  async start(): Promise<void> {
    const words = [scriptOf('coordinator'), this.#place, String(this.port)]
    const child = spawn(process.execPath, words, { env, stdio: ['pipe', 'pipe', 'inherit'] })
    this.#child = child
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    this.port = Number(line.toString())
  }

  async kill(): Promise<void> {
    if (this.#child !== undefined) await killed(this.#child)
    this.#child = undefined
  }
}

/** A broker, or another program that speaks as brokers do. */
export class BrokerProcess {
  readonly name: string
  readonly reports: Report[] = []
  readonly #child: ChildProcess
  #wake: () => void = () => undefined

  constructor(name: string, url: string, timeout: number) {
    this.name = name
    this.#child = spawn(process.execPath, [scriptOf('broker'), name, url, String(timeout)], {
      env,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.#child.on('message', (report) => {
      this.reports.push(report as Report)
      this.#wake()
    })
    this.#child.on('exit', () => this.#wake())
  }

  get pid(): number {
    return this.#child.pid!
  }

  send(order: Order): void {
    this.#child.send(order)
  }

  /** The first report from `from` on that a function accepts. Fails when the broker ends. */
  async report<T extends Report>(accepts: (report: Report) => report is T, from = 0): Promise<T> {
    for (;;) {
      const found = this.reports.slice(from).find(accepts)
      if (found !== undefined) return found
      if (hasEnded(this.#child)) throw new Error(`${this.name} has ended`)
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  /** Stops the process: it does nothing and knows nothing until `wake`. */
  stop(): void {
    this.#child.kill('SIGSTOP')
  }

  wake(): void {
    this.#child.kill('SIGCONT')
  }

  kill(): Promise<void> {
    return killed(this.#child)
  }
}
