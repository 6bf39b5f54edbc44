/**
 * A broker as a process of its own: takes the lock `/right` as often as it can and tells its token
 * before every write that the lock guards. It writes nothing itself: its parent is the resource.
 */
import { writeSync } from 'node:fs'
import { Database } from '../../../../src/index.js'
import {
  LeaderElection,
  LockManager,
  openMetadataStore,
  textSerde,
} from '../../../../src/metastore/pulsar/index.js'

const [, , name, url, kind, timeout] = process.argv

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

async function main(): Promise<void> {
  const store = await openMetadataStore(url, {
    sessionTimeoutMilliseconds: Number(timeout),
    openDatabase: ({ address }) => Database.open(address, { executor: 'inline' }),
  })
  const manager = new LockManager(store, textSerde)
  const election = new LeaderElection<string>(store, textSerde, '/right', undefined)
  let token: number | undefined
  if (kind === 'election') void election.elect(name)
  for (;;) {
    if (kind === 'election') token = election.token
    else {
      const lock = await manager.acquireLock('/right', 'same payload').catch(() => undefined)
      token = lock?.token
    }
    // A stop between these two lines is a holder that does not know what has happened.
    if (token !== undefined) writeSync(1, `${name} ${token}\n`)
    await pause(20)
  }
}

main().catch((error: unknown) => {
  writeSync(2, `${error instanceof Error ? error.stack : String(error)}\n`)
  process.exit(7)
})
