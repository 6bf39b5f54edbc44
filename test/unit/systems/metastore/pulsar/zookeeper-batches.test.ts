/**
 * Batches and sequences on a live ZooKeeper: what a batch sees of its own steps, checks of absence,
 * and nodes that the server or another client has removed.
 *
 * @runs alone
 */
import type { CellarError } from '../../../../../src/api/index.js'
import t from 'tap'
import {
  openMetadataStore,
  type BatchOperation,
} from '../../../../../src/systems/metastore/pulsar/index.js'
import {
  ZooKeeperServer,
  zookeeperMissing,
} from '../../../../../bench/metadata/zookeeper-server.js'

const skip = zookeeperMissing()
const sessionTimeoutMilliseconds = 30_000

const outcome = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'OK',
    (error: unknown) => (error as CellarError).code,
  )

void t.test('batches and sequences', { skip, timeout: 600_000 }, async (t) => {
  const server = await ZooKeeperServer.start()
  t.teardown(() => server.remove())
  const address = `zk:127.0.0.1:${server.port}`
  const top = await openMetadataStore(address, { sessionTimeoutMilliseconds })
  const store = await openMetadataStore(`${address}/over/root`, { sessionTimeoutMilliseconds })
  t.teardown(async () => {
    await store.close()
    await top.close()
  })
  const batch = (...steps: BatchOperation[]): Promise<string> => outcome(store.batch(steps))

  await t.test('later steps see the versions of earlier ones', async (t) => {
    const created: BatchOperation = { put: '/versions', value: '0', expected: -1 }
    const refused = 'ERR_METADATA_BAD_VERSION'
    t.equal(await batch(created, { put: '/versions', value: '1', expected: 7 }), refused)
    t.equal(await batch(created, { check: '/versions', expected: 1 }), refused)
    t.equal(await batch(created, { delete: '/versions', expected: 2 }), refused)
    t.equal(await store.exists('/versions'), false, 'nothing was written')
    const changed: BatchOperation = { put: '/versions', value: '1', expected: 0 }
    t.equal(await batch(created, changed, { check: '/versions', expected: 1 }), 'OK')
    t.equal((await store.get('/versions'))?.stat.version, 1)
  })

  await t.test('a check of absence needs no parent', async (t) => {
    const put: BatchOperation = { put: '/beside', value: 'x' }
    t.equal(await batch({ check: '/no/such/record', expected: -1 }, put), 'OK')
    t.same(await store.getChildren('/'), ['beside', 'versions'], 'no parent was made')
    await store.put('/ephemeral', 'x', -1, { ephemeral: true })
    t.equal(await batch({ check: '/ephemeral/child', expected: -1 }, put), 'OK')
    await store.put('/no/such/record', 'x')
    t.equal(
      await batch({ check: '/no/such/record', expected: -1 }, put),
      'ERR_METADATA_BAD_VERSION',
    )
  })

  await t.test('a batch makes a root again that the server has removed', async (t) => {
    await top.deleteRecursive('/over')
    t.equal(await batch({ put: '/again', value: 'x', expected: -1 }), 'OK')
    t.same(await top.getChildren('/over/root'), ['again'])
  })

  await t.test('a sequence continues after its counter was deleted', async (t) => {
    const next = (prefix: string): Promise<string> =>
      store.put(prefix, 'x', undefined, { sequenceKeysDeltas: [1] }).then(
        ({ path }) => path,
        (error: unknown) => (error as CellarError).code,
      )
    await next('/key')
    await next('/key')
    await store.delete('/key__seq_counter__')
    t.equal(await next('/key'), '/key-00000000000000000003', 'no record is written over')
    t.equal(await next('/key'), '/key-00000000000000000004')
    await store.put('/key__seq_counter__', 'not a number')
    t.equal(await next('/key'), 'ERR_METADATA_CONTENT_DESERIALIZATION')
    await store.put('/key__seq_counter__', String(2 ** 53 - 1))
    t.equal(await next('/key'), 'ERR_METADATA_INVALID_ARGUMENT', 'as on tables')
  })
})
