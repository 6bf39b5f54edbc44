/**
 * Both ends of the process in which a suite of its own kind measures one subject: the task goes in,
 * a message comes out for each workload, and the process ends by itself.
 */
import { fork } from 'node:child_process'
import type { ProcessCounters } from './process-counters.js'

/** One workload on one subject. */
export interface Measurement {
  readonly workload: string
  readonly operations: number
  readonly seconds: number
  /** Median of the single calls, microseconds. */
  readonly p50us?: number
  readonly p99us?: number
  /** Undefined where there is nothing to compare, or once an engine has ended early. */
  readonly checksum?: string
  /** What else is measured, as in a result. */
  readonly extra?: Readonly<Record<string, number>>
  readonly counters: ProcessCounters
}

/** Tells what was measured. */
export type Tell = (measurement: Measurement) => void

type Message =
  | { readonly kind: 'measured'; readonly measurement: Measurement }
  | { readonly kind: 'failed'; readonly message: string }

/**
 * Runs a task in a process of its own, after `prepare` was called with its process id. Rejects if
 * it fails.
 */
export function measureInChild<T extends object>(
  script: string,
  task: T,
  prepare: (processId: number) => void = () => undefined,
): Promise<Measurement[]> {
  return new Promise((resolve, reject) => {
    const child = fork(script, [], {
      execArgv: [...process.execArgv, '--expose-gc'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const measured: Measurement[] = []
    let failure: string | undefined
    child.on('message', (message: Message) => {
      if (message.kind === 'failed') failure = message.message
      else measured.push(message.measurement)
    })
    child.on('error', reject)
    child.on('close', (code) => {
      if (failure === undefined && code === 0) resolve(measured)
      else reject(new Error(failure ?? `the process ended with ${code}`))
    })
    if (child.pid !== undefined) prepare(child.pid)
    child.send(task)
  })
}

/** The other end: carries out the task that this process is given. */
export function serveTask<T extends object>(run: (task: T, tell: Tell) => Promise<void>): void {
  const send = (message: Message): void => void process.send!(message)
  process.on('message', (task: T) => {
    run(task, (measurement) => send({ kind: 'measured', measurement }))
      .catch((error: unknown) => {
        send({ kind: 'failed', message: (error as Error).stack ?? String(error) })
      })
      .finally(() => process.disconnect())
  })
}
