/**
 * A hub acquires a topic, moves its subscription's state and is killed; another hub takes over.
 *
 * `npm run hub` starts two processes, one after the other, on one directory. The first serves the
 * topic `weather` and consumes messages, each with a conditional put that survives the loss of
 * power; it is killed with SIGKILL in the middle. The second waits until the lease of the first has
 * ended, takes the topic by a conditional put and goes on where the last acknowledged put left off.
 * Exit code 0: nothing acknowledged was lost, and what the dead hub still held could not be used.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { outliveReader } from '../demonstration-words.js'
import type { HubEvent } from './hub.js'

const script = join(import.meta.dirname, 'hub.js')

/** Messages that the first hub acknowledges before it is killed. */
const killedAfter = 20
/** Messages that the second one adds. */
const addedLater = 10

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Starts a hub and tells each of its events. Resolves when its process has ended. */
async function runHub(
  args: readonly string[],
  onEvent: (event: HubEvent, child: ChildProcess) => void,
): Promise<NodeJS.Signals | number | null> {
  const child = fork(script, args)
  child.on('message', (event: HubEvent) => onEvent(event, child))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve(signal ?? code))
  })
}

async function main(): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'cellar-hub-'))
  try {
    let acknowledged = 0
    let versionOfDeadHub = ''
    const ended = await runHub([directory, 'alpha:4080', '1000000', ''], (event, child) => {
      if (event.kind === 'acquired') say(`alpha owns the topic, its subscriber is at ${event.at}`)
      if (event.kind !== 'consumed') return
      acknowledged = event.at
      versionOfDeadHub = event.version
      if (acknowledged === killedAfter) child.kill('SIGKILL')
    })
    say(`alpha is dead (${ended}); message ${acknowledged} was the last it acknowledged`)

    let takenOverAt = -1
    let last = -1
    let refused = ''
    const args = [directory, 'beta:4080', String(addedLater), versionOfDeadHub]
    const code = await runHub(args, (event) => {
      if (event.kind === 'waiting') say(`beta waits: ${event.owner} may still live`)
      if (event.kind === 'acquired') {
        takenOverAt = event.at
        say(`beta owns the topic, its subscriber is at ${event.at}`)
      }
      if (event.kind === 'refused') {
        refused = event.code
        say(`what alpha would write now is refused: ${refused}`)
      }
      if (event.kind === 'consumed') last = event.at
    })
    say(`beta is done (${code}); the subscriber is at ${last}`)
    const isRight =
      code === 0 &&
      // The put that was under way at the kill may have succeeded too.
      takenOverAt >= acknowledged &&
      last === takenOverAt + addedLater &&
      refused === 'ERR_HEDWIG_BAD_VERSION'
    say(isRight ? 'nothing acknowledged was lost' : 'SOMETHING IS WRONG')
    return isRight ? 0 : 1
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

outliveReader()
main().then(
  (code) => {
    process.exitCode = code
  },
  (error: unknown) => {
    console.error(error)
    process.exitCode = 1
  },
)
