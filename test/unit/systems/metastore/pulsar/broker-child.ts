/**
 * A broker as a process of its own: takes the right to write as often as it can, by a lock or by an
 * election, and writes `/data` with its token as the fence. Tells every write that was acknowledged
 * with the sequence of its commit.
 */
import type { CellarError } from '../../../../../src/api/index.js'
import { writeSync } from 'node:fs'
import { storeOf } from '../../../../../bench/brokers/store-of.js'
import {
  LeaderElection,
  LockManager,
  MetadataErrorCode,
  textSerde,
  type CachingStore,
} from '../../../../../src/systems/metastore/pulsar/index.js'

const [, , name, url, kind, timeout] = process.argv
/** Writes before the right is given back. */
const turnMax = 20

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

/** What a broker may be told while processes are killed and stopped. */
const expected: ReadonlySet<string> = new Set([
  MetadataErrorCode.badVersion,
  MetadataErrorCode.connectionLost,
  MetadataErrorCode.lockBusy,
  MetadataErrorCode.sessionLost,
])

/** Fails unless the error is one that has to be expected. */
function tolerate(error: unknown): undefined {
  if (!expected.has((error as CellarError).code)) throw error
  return undefined
}

/** The right to write, for one turn after the other. */
interface Right {
  readonly token: number | undefined
  give(): Promise<unknown>
}

/** Opens the store. The server may be away for longer than an open waits. */
async function opened(): Promise<CachingStore> {
  for (;;) {
    const store = await storeOf(url, Number(timeout)).catch(tolerate)
    if (store !== undefined) return store
  }
}

async function main(): Promise<void> {
  const store = await opened()
  const manager = new LockManager(store, textSerde, { retryMilliseconds: 50 })
  const options = { retryMilliseconds: 50 }
  const election = new LeaderElection(store, textSerde, '/right', undefined, options)
  const take = async (): Promise<Right | undefined> => {
    if (kind === 'lock') {
      const lock = await manager.acquireLock('/right', name).catch(tolerate)
      if (lock === undefined) return undefined
      return { token: lock.token, give: () => lock.release().catch(tolerate) }
    }
    await election.elect(name)
    return { token: election.token, give: () => election.close().catch(tolerate) }
  }
  for (let n = 0; ;) {
    const right = await take()
    const token = right?.token
    for (let i = 0; i < turnMax && token !== undefined; i++) {
      // A stop in this pause is a holder that does not know what has happened.
      await pause(3)
      const value = `${name} ${token} ${++n}`
      const written = await store
        .batch([
          { check: '/right', expected: { creationSequence: token } },
          { put: '/data', value },
        ])
        .catch(tolerate)
      if (written === undefined) break
      writeSync(1, `${name} ${token} ${written[1]!.sequence}\n`)
    }
    if (kind === 'lock' || token !== undefined) await right?.give()
    await pause(5)
  }
}

// The parent has gone.
process.stdin.on('end', () => process.exit()).resume()
main().catch((error: unknown) => {
  writeSync(2, `${error instanceof Error ? error.stack : String(error)}\n`)
  process.exit(7)
})
