/**
 * The published suite of metadata stores against a real ZooKeeper, where one is installed.
 *
 * @runs alone
 */
import t from 'tap'
import { runMetadataSuite } from '../../suites/metadata/suite.js'
import { openMetadataStore } from '../../../src/entries/metastore-pulsar.js'
import { ZooKeeperServer, zookeeperMissing } from '../../../bench/metadata/zookeeper-server.js'
import { zookeeperBackend } from './backends.js'

const skip = zookeeperMissing()

void t.test('Metadata over ZooKeeper', { skip, timeout: 1_800_000 }, async (t) => {
  const { run, skipped } = await runMetadataSuite(t, zookeeperBackend)
  t.ok(run > 0, `${run} cases run`)
  // Whatever the reporter leaves out, the count is printed.
  process.stderr.write(`metadata cases on zookeeper: ${run} run, ${skipped} left out\n`)
  t.ok(skipped > 0, `${skipped} need what ZooKeeper does not have`)
})

void t.test(
  'a server that is killed and started again',
  { skip, timeout: 1_800_000 },
  async (t) => {
    const server = await ZooKeeperServer.start()
    const store = await openMetadataStore(`zk:127.0.0.1:${server.port}`, {
      sessionTimeoutMilliseconds: 10_000,
    })
    const told: string[] = []
    store.registerSessionListener((event) => told.push(event))
    await store.put('/kept', 'value')
    await server.stop()
    await t.rejects(store.get('/kept'), { code: 'ERR_METADATA_CONNECTION_LOST' })
    await server.run()
    for (let i = 0; i < 600 && !store.isConnected; i++) {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    t.equal((await store.get('/kept'))?.value.toString(), 'value', 'the record survived')
    t.equal(told[0], 'ConnectionLost')
    t.ok(told.includes('Reconnected'))
    await store.close()
    await server.remove()
  },
)

void t.test('a server that is not there is an error of the open', async (t) => {
  const opening = openMetadataStore('zk:127.0.0.1:1', { sessionTimeoutMilliseconds: 300 })
  await t.rejects(opening, { code: 'ERR_METADATA_CONNECTION_LOST' })
})
