/** The configuration store and ManagedLedger's metadata. */
import { deflateSync } from 'node:zlib'
import t from 'tap'
import {
  ManagedLedgerStore,
  openMetadataStore,
  PulsarResources,
} from '../../../../../src/entries/metastore-pulsar.js'

void t.test('resources over two stores, at the paths of Pulsar', async (t) => {
  const configuration = await openMetadataStore('memory:local')
  const local = await openMetadataStore('memory:local')
  const resources = new PulsarResources(configuration, local)
  await resources.tenants.create('acme', { allowedClusters: ['c1'] })
  await resources.namespaces.create('acme/ns1', { bundles: 4 })
  await resources.localPolicies.updateOrCreate('acme/ns1', () => ({ bundles: 4 }))
  t.same(await resources.tenants.list(), ['acme'])
  t.same(await resources.tenants.list('acme'), ['ns1'])
  t.ok(await configuration.exists('/admin/policies/acme/ns1'))
  t.ok(await local.exists('/admin/local-policies/acme/ns1'))
  const updated = await resources.namespaces.update('acme/ns1', (value) => ({ ...value, ttl: 5 }))
  t.same(updated, { bundles: 4, ttl: 5 })
  t.same(resources.namespaces.getIfCached('acme/ns1'), updated)
  t.same(await resources.namespaces.getRefreshed('acme/ns1'), updated)
  await t.rejects(resources.tenants.create('acme', {}), { code: 'ERR_METADATA_ALREADY_EXISTS' })
  await t.rejects(resources.tenants.delete('acme'), { code: 'ERR_METADATA_NOT_EMPTY' })
  await t.rejects(resources.tenants.get('a//b'), { code: 'ERR_METADATA_INVALID_PATH' })
  await resources.tenants.deleteRecursive('acme')
  t.same(await resources.tenants.list(), [])
  t.equal(await resources.namespaces.get('acme/ns1'), undefined)
  await resources.tenants.deleteIfExists('acme')
  resources.close()
  await configuration.close()
  await local.close()
})

void t.test('managed ledgers and cursors, each with its version', async (t) => {
  const store = await openMetadataStore('memory:local')
  const ledgers = new ManagedLedgerStore(store)
  const name = 'acme/ns1/persistent/topic'
  await t.rejects(ledgers.getManagedLedgerInfo(name), { code: 'ERR_METADATA_NOT_FOUND' })
  const created = await ledgers.getManagedLedgerInfo(name, true)
  const info = { ledgerInfo: [{ ledgerId: 3n, entries: 10n, size: 100n }] }
  const stat = await ledgers.updateLedgerIds(name, info, created.stat.version)
  t.same((await ledgers.getManagedLedgerInfo(name)).info.ledgerInfo?.[0].ledgerId, 3n)
  await t.rejects(ledgers.updateLedgerIds(name, info, created.stat.version), {
    code: 'ERR_METADATA_BAD_VERSION',
  })
  t.equal(stat.version, 1)
  const bytes = (await store.get(`/managed-ledgers/${name}`))!.value
  t.equal(bytes.toString('hex'), '0a060803100a1864', 'the bytes of protobuf')
  const cursor = await ledgers.updateCursorInfo(name, 'sub', { cursorsLedgerId: 7n }, -1)
  const moved = { cursorsLedgerId: 7n, markDeleteLedgerId: 3n, markDeleteEntryId: 4n }
  await ledgers.updateCursorInfo(name, 'sub', moved, cursor.version)
  t.equal((await ledgers.getCursorInfo(name, 'sub')).info.markDeleteEntryId, 4n)
  t.same(await ledgers.getCursors(name), ['sub'])
  await t.rejects(ledgers.removeManagedLedger(name), { code: 'ERR_METADATA_NOT_EMPTY' })
  await ledgers.removeCursor(name, 'sub')
  await store.put(`/managed-ledgers/${name}`, Buffer.from([0xff]))
  await t.rejects(ledgers.getManagedLedgerInfo(name), {
    code: 'ERR_METADATA_CONTENT_DESERIALIZATION',
  })
  await ledgers.removeManagedLedger(name)
  t.same(await ledgers.getManagedLedgers('acme/ns1/persistent'), [])
  await store.close()
})

void t.test('managed ledgers are read in their compressed form, and written in it', async (t) => {
  const store = await openMetadataStore('memory:local')
  const plain = new ManagedLedgerStore(store)
  const zlib = new ManagedLedgerStore(store, { compression: 'ZLIB' })
  const name = 'acme/ns1/persistent/topic'
  const path = `/managed-ledgers/${name}`
  const ledgerInfo = Array.from({ length: 200 }, (_, i) => ({ ledgerId: BigInt(i) }))
  await zlib.getManagedLedgerInfo(name, true)
  await zlib.updateLedgerIds(name, { ledgerInfo }, 0)
  const bytes = (await store.get(path))!.value
  t.equal(bytes.subarray(0, 6).toString('hex'), '477800000005', 'magic and length of the header')
  t.equal(bytes.subarray(6, 8).toString('hex'), '0802', 'ZLIB')
  t.ok(bytes.length < 600, `${bytes.length} bytes`)
  t.equal((await plain.getManagedLedgerInfo(name)).info.ledgerInfo?.length, 200)
  await zlib.updateCursorInfo(name, 'sub', { cursorsLedgerId: 7n }, -1)
  t.equal((await plain.getCursorInfo(name, 'sub')).info.cursorsLedgerId, 7n)
  // As a broker writes it: the header, then the bytes of zlib.
  const record = Buffer.from('0a060803100a1864', 'hex')
  const head = Buffer.from([0x47, 0x78, 0, 0, 0, 4, 8, 2, 16, record.length])
  await store.put(path, Buffer.concat([head, deflateSync(record)]))
  t.equal((await plain.getManagedLedgerInfo(name)).info.ledgerInfo?.[0].entries, 10n)
  const code = 'ERR_METADATA_CONTENT_DESERIALIZATION'
  const bomb = Buffer.concat([head.subarray(0, 9), Buffer.from([4]), deflateSync(record)])
  const cut = Buffer.concat([head, deflateSync(record).subarray(0, 4)])
  const lz4 = Buffer.from([0x47, 0x78, 0, 0, 0, 4, 8, 1, 16, 8, 1, 2, 3])
  for (const damaged of [bomb, cut, lz4, Buffer.from([0x47, 0x78, 255, 255, 255, 255, 0])]) {
    await store.put(path, damaged)
    await t.rejects(plain.getManagedLedgerInfo(name), { code })
  }
  const unknown: unknown[] = ['GZIP', Symbol('ZLIB'), Object.create(null)]
  for (const compression of unknown) {
    const options = { compression } as never
    t.throws(() => new ManagedLedgerStore(store, options), {
      code: 'ERR_METADATA_INVALID_ARGUMENT',
    })
  }
  t.throws(() => new ManagedLedgerStore(store, { compresion: 'ZLIB' } as never), {
    code: 'ERR_METADATA_INVALID_ARGUMENT',
  })
  await store.close()
})
