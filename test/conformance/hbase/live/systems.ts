/** Each system on an owned database over a live HBase, unchanged, before and after a takeover. */
import type { Test } from 'tap'
import {
  connectHBase,
  ownDatabase,
  type HBaseDatabase,
  type OwnedDatabase,
} from '../../../../src/entries/hbase.js'
import { metadataStoreOf } from '../../../../src/entries/metastore-pulsar.js'
import type { LiveHBase } from '../../../../bench/cluster/live-hbase.js'
import { MessagePublisher, MessagingService } from '../../../../src/systems/messaging/index.js'
import { CellarMetaStore, Value, Version } from '../../../../src/systems/metastore/index.js'
import {
  applySchema,
  defineRecordType,
  RepositoryManager,
} from '../../../../src/systems/repository/index.js'
import {
  runTransaction,
  transactionalFamily,
  TransactionManager,
} from '../../../../src/systems/transactions/index.js'
import { codeOf } from '../../../suites/kit.js'

/** Writes with one owner, and with the next one. */
type System = (t: Test, database: OwnedDatabase, isFirst: boolean) => Promise<void>

const systems: Readonly<Record<string, System>> = {
  'transactions and messaging': async (t, database, isFirst) => {
    const topic = { namespace: 'live', topic: 'events' }
    await database.admin.ensureTable('tx_orders', { families: { f: transactionalFamily() } })
    const manager = await TransactionManager.open(database)
    const messaging = await MessagingService.open(database, { transactions: manager })
    if (isFirst) await messaging.createTopic(topic)
    const order = async (row: string, fails: boolean): Promise<void> =>
      runTransaction(manager, async (tx) => {
        const publisher = await tx.add(new MessagePublisher(messaging))
        await tx.table('tx_orders').put({ row, cells: { 'f:what': 'tea' } })
        await publisher.publish('live', 'events', row)
        if (fails) throw new Error('rolled back')
      })
    await order(isFirst ? '1' : '2', false)
    await t.rejects(order('3', true), { message: /rolled back/ })
    const transaction = await manager.startShort()
    const messages = await messaging.poll(topic, { transaction })
    const texts = messages.map(({ payload }) => payload.toString())
    t.strictSame(texts, isFirst ? ['1'] : ['1', '2'], 'messages of commits alone')
    const rows = await runTransaction(manager, async (tx) => {
      const found: string[] = []
      for await (const { row } of await tx.table('tx_orders').scan()) found.push(String(row))
      return found
    })
    t.strictSame(rows, texts, 'and their rows')
    await messaging.close()
    await manager.close()
  },

  'the metastore': async (t, database, isFirst) => {
    const store = new CellarMetaStore()
    await store.init({ database }, store.getVersion())
    const owners = await store.createScannableTable('owner')
    const expected = isFirst ? Version.NEW : (await owners.get('topic')).version
    const value = new Value({ owner: isFirst ? 'hub-1' : 'hub-2' })
    await owners.put('topic', value, expected)
    t.equal(
      await owners.put('topic', value, expected).catch(codeOf),
      isFirst ? 'ERR_METASTORE_KEY_EXISTS' : 'ERR_METASTORE_BAD_VERSION',
    )
    const found: string[] = []
    for await (const each of await owners.openCursor()) {
      found.push(`${each.key} ${String(each.value.value.getField('owner'))}`)
    }
    t.strictSame(found, [isFirst ? 'topic hub-1' : 'topic hub-2'])
    await store.close()
  },

  'the metadata store': async (t, database, isFirst) => {
    const store = await metadataStoreOf(database)
    const seen: string[] = []
    store.registerListener(({ type, path }) => void seen.push(`${type} ${path}`))
    const { version } = await store.put('/live/a', isFirst ? 'one' : 'two')
    t.equal(version, isFirst ? 0 : 1, 'the version grows over owners')
    t.equal((await store.get('/live/a'))?.value.toString(), isFirst ? 'one' : 'two')
    t.strictSame(await store.getChildren('/live'), ['a'])
    await store.sync('/live/a')
    t.ok(seen.includes(`${isFirst ? 'Created' : 'Modified'} /live/a`), seen.join())
    await store.close()
  },

  'the repository': async (t, database, isFirst) => {
    const manager = await RepositoryManager.open(database)
    const article = defineRecordType('{news}article', {
      slug: { type: 'STRING', mandatory: true, unique: true },
      title: { type: 'STRING', scope: 'VERSIONED' },
    })
    await applySchema(manager.types, [article])
    const table = manager.repository().table()
    const articles = table.typed(article)
    if (isFirst) await articles.create({ slug: 'hello', title: 'Hello' }, 'USER.hello')
    const taken = articles.create({ slug: 'hello', title: 'Twice' }, 'USER.twice')
    t.match(await taken.then(() => 'created', codeOf), /^ERR_/, 'a slug is unique')
    await articles.update('USER.hello', { title: isFirst ? 'Hello, world' : 'Hello again' })
    const { version, fields } = await articles.read('USER.hello')
    t.equal(version, isFirst ? 2 : 3)
    t.equal(fields.title, isFirst ? 'Hello, world' : 'Hello again')
    const [difference] = await table.diff('USER.hello', 1, version!)
    t.equal(difference?.before, 'Hello')
    await manager.close()
  },
}

/** Runs each system twice, with an owner of its own that another one replaces. */
export async function testSystems(t: Test, live: LiveHBase): Promise<void> {
  const hbase = await connectHBase({ host: '127.0.0.1', port: live.port })
  t.teardown(() => hbase.close())
  for (const [name, run] of Object.entries(systems)) {
    await t.test(name, (t) => testSystem(t, hbase, name, run))
  }
}

async function testSystem(t: Test, hbase: HBaseDatabase, name: string, run: System): Promise<void> {
  const options = {
    name: name.replaceAll(' ', '-'),
    heartbeatMilliseconds: 250,
    takeoverMilliseconds: 1_500,
  }
  const first = await ownDatabase(hbase, options)
  await run(t, first, true)
  await first.close()
  const second = await ownDatabase(hbase, options)
  await run(t, second, false)
  t.equal(second.failure, undefined)
  await second.close()
}
