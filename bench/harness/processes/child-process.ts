/** Starts the process of one engine and waits for its answer. */
import { fork } from 'node:child_process'
import { join } from 'node:path'
import type { ChildAnswer, ChildNews, ChildTask } from './child.js'

const script = join(import.meta.dirname, 'child.js')

/** Bytes of the child's standard error that are kept for a message. */
const errorBytesMax = 2000

/** Runs a task in a process of its own. Never rejects: what goes wrong is an answer. */
export function runInChild(
  task: ChildTask,
  onPhase: (name: string) => void = () => undefined,
): Promise<ChildAnswer> {
  return new Promise((resolve) => {
    const child = fork(script, [], {
      // The collector runs between phases, so that no phase pays for the garbage of another.
      execArgv: ['--expose-gc'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      serialization: 'json',
    })
    let errors = ''
    let answer: ChildAnswer | undefined
    child.stderr?.on('data', (chunk: Buffer) => {
      errors = (errors + chunk.toString()).slice(-errorBytesMax)
    })
    child.on('message', (message: ChildAnswer | ChildNews) => {
      if (message.kind === 'phase') onPhase(message.name)
      else answer = message
    })
    child.on('error', (error) => resolve({ kind: 'failed', message: error.message }))
    child.on('close', (code, signal) => {
      const message = `the process ended with ${signal ?? code}: ${errors.trim()}`
      resolve(answer ?? { kind: 'failed', message })
    })
    child.send(task)
  })
}
