/**
 * The JSON form: text, records, scans and metadata there and back; imports.
 *
 * @runs long
 */
import t from 'tap'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import {
  importRecords,
  JsonNumber,
  metadataFromJson,
  metadataToJson,
  NameReader,
  NameWriter,
  parseJson,
  recordFromJson,
  recordToJson,
  RepositoryManager,
  scanFromJson,
  scanToJson,
  type ImportFailure,
  type Metadata,
  type RecordScan,
} from '../../../../src/systems/repository/index.js'
import { plainJson } from '../../../../src/systems/repository/json/json-shapes.js'

const types = {
  namespaces: { n: 'x' },
  fieldTypes: [
    { name: 'x$title', scope: 'VERSIONED' },
    { name: 'x$size', valueType: 'LONG' },
    { name: 'x$price', valueType: 'DECIMAL' },
    { name: 'x$tags', valueType: 'LIST<STRING>' },
    { name: 'x$inner', valueType: 'RECORD<x$inner>' },
    { name: 'x$links', valueType: 'LIST<LINK<x$page>>' },
  ],
  recordTypes: [
    { name: 'x$page', supertypes: [{ name: 'x$base' }], fields: [{ name: 'x$title' }] },
    { name: 'x$base', fields: [{ name: 'x$tags' }] },
    { name: 'x$inner', fields: [{ name: 'x$title' }, { name: 'x$tags' }] },
  ],
}

async function open(): Promise<RepositoryManager> {
  const manager = await RepositoryManager.open(await openMemoryDatabase())
  const table = manager.repository().table()
  await importRecords(manager.types, table, JSON.stringify(types))
  return manager
}

void t.test('text', async (t) => {
  const json = parseJson(`// a comment
    {a: 'x\\'y', "b": [1, -2.50e3, /* two */ true, null], c: {}, "d\\u0041": "\\n"}`)
  t.same(plainJson(json), {
    a: "x'y",
    b: [1, '-2.50e3', true, null],
    c: {},
    dA: '\n',
  })
  t.equal((parseJson('12345678901234567890') as JsonNumber).text, '12345678901234567890')
  const bad = [
    ...['', '{', '[1', '[1,]', '{"a":1,}', '{"a" 1}', '01', '1.', '+1', '.5', 'tru', '1 2', 'NaN'],
    ...['"a', '"\\x"', '"\\u12"', '"a\nb"', '"\\ud800"', '{"a":1,"a":2}', '/* x', '{1:2}', '-'],
    ...['[1 [2]]', '{a:1 {b:2}}', '[,1]', '{,}', "'a\\", '{"a":1]', '[true false]', '{a b:1}'],
  ]
  for (const text of bad) t.throws(() => parseJson(text), { code: 'ERR_INVALID_ARGUMENT' }, text)
  t.throws(() => parseJson(Buffer.of(0x22, 0xff, 0x22)), { code: 'ERR_INVALID_ARGUMENT' })
  t.throws(() => parseJson('['.repeat(101)), /more than 100 deep/)
  t.throws(() => parseJson('9'.repeat(2000)), /too long/)
  const proto = parseJson('{"__proto__": 1}') as Record<string, unknown>
  t.same(Object.keys(proto), ['__proto__'])
  t.same(Object.keys(plainJson(proto as never) as object), ['__proto__'])
})

void t.test('long texts and many comments do not overflow the stack', (t) => {
  const count = 5_000_000
  t.equal(parseJson(`"${'\\n'.repeat(count)}"`), '\n'.repeat(count))
  t.equal(parseJson(`${'//\n'.repeat(count)}true`), true)
  t.end()
})

void t.test('numbers keep their digits', async (t) => {
  const { types } = await open()
  const price = (text: string): unknown => {
    const json = parseJson(`{"fields":{"{n}price":${text}}}`)
    const reading = { schema: types.schema, namespaces: new NameReader() }
    return recordFromJson(json, reading).fields!['{n}price']
  }
  t.equal(price('1.10'), '1.10')
  t.equal(price('12345678901234567890.123456'), '12345678901234567890.123456')
  t.equal(price('-1.5e3'), '-1500')
  t.equal(price('1.25E-4'), '0.000125')
  t.equal(price('12e0'), '12')
  t.equal(price('"7.0"'), '7.0')
  t.throws(() => price('1e999999999'), { code: 'ERR_INVALID_RECORD' })
})

void t.test('namespaces are inherited and overridden', async (t) => {
  const { types } = await open()
  const json = parseJson(`{namespaces: {n: 'a'}, type: 'a$page', fields: {
    a$title: 'x', a$inner: {namespaces: {n: 'b'}, fields: {b$title: 'y', a$tags: ['z']}}}}`)
  const reading = { schema: types.schema, namespaces: new NameReader() }
  t.same(recordFromJson(json, reading).fields, {
    '{n}title': 'x',
    '{n}inner': { type: '{n}inner', fields: { '{n}title': 'y', '{n}tags': ['z'] } },
  })
  const outer = parseJson(`{fields: {b$title: 'y'}, namespaces: {n: 'a'}}`)
  t.throws(() => recordFromJson(outer, reading), { code: 'ERR_INVALID_ARGUMENT' })
})

void t.test('scans and filters there and back', async (t) => {
  const { schema } = (await open()).types
  const scans: RecordScan[] = [
    { startId: 'USER.a', stopId: 'USER.b', fields: 'none', limit: 5 },
    { startId: Buffer.of(0, 65), fields: ['{n}title', '{n}size'] },
    { filter: { idPrefix: 'USER.a' }, fields: 'all' },
    { filter: { recordType: '{n}page', version: 1 } },
    { filter: { instanceOf: '{n}base' } },
    { filter: { variantsOf: 'USER.a', dimensions: { lang: 'en', country: null } } },
    {
      filter: {
        all: [
          { any: [{ field: '{n}size', operator: 'LESS', value: 2n ** 60n }] },
          { field: '{n}title', operator: 'EQUAL', value: 'x', filterIfMissing: false },
        ],
      },
    },
  ]
  const plain = (value: unknown): unknown =>
    JSON.parse(
      JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? `${each}n` : each)),
    )
  const form = (scan: RecordScan): unknown =>
    plain({ ...scan, startId: String(scan.startId), stopId: String(scan.stopId) })
  for (const prefixes of [true, false]) {
    for (const scan of scans) {
      const json = JSON.stringify(scanToJson(scan, { schema, names: new NameWriter({ prefixes }) }))
      const read = scanFromJson(parseJson(json), { schema, namespaces: new NameReader() })
      t.match(form(read), form(scan), json)
    }
  }
})

void t.test('metadata, deletes and attributes', async (t) => {
  const manager = await open()
  const { schema } = manager.types
  const metadata: Metadata = {
    text: 'a',
    number: 1.5,
    nan: NaN,
    long: 2n ** 62n,
    flag: false,
    bytes: Buffer.of(1, 2),
    time: new Date(5),
  }
  const json = JSON.stringify(metadataToJson(metadata))
  t.same(metadataFromJson(parseJson(json), 'metadata'), metadata)
  t.same(metadataFromJson(parseJson('{"a": 9007199254740993}'), 'm'), { a: 9007199254740993n })
  const reading = { schema, namespaces: new NameReader() }
  const text = `{"id":"USER.a","type":{"name":"x$page","version":1},"fieldsToDelete":["x$size"],
    "metadata":{"x$title":{"k":1}},"metadataToDelete":{"x$title":["old"]},
    "attributes":{"lily.mq":"false"},"namespaces":{"n":"x"}}`
  const input = recordFromJson(parseJson(text), reading)
  t.match(input, {
    id: 'USER.a',
    type: { name: '{n}page', version: 1 },
    fieldsToDelete: ['{n}size'],
    metadata: { '{n}title': { k: 1 } },
    metadataToDelete: { '{n}title': ['old'] },
    attributes: { 'lily.mq': 'false' },
  })
  const table = manager.repository().table()
  const { record } = await table.create({ ...input, fields: { '{n}title': 'a' } })
  const answer = recordToJson(record, { schema, names: new NameWriter(), withSchema: true })
  t.match(answer['metadata'], { ns1$title: { k: 1 } })
  // A record that was read can be sent back as it is.
  const back = recordFromJson(parseJson(JSON.stringify(answer)), reading)
  t.equal((await table.update(back)).status, 'UP_TO_DATE')
  await manager.close()
})

void t.test('imports', async (t) => {
  const manager = await open()
  const table = manager.repository().table()
  const fields = '{"x$title":"","x$tags":[],"x$size":1,"x$inner":{"fields":{"x$title":""}}}'
  const record = `{"id":"USER.a","type":"x$page","fields":${fields}}`
  const one = `{"namespaces":{"n":"x"},"records":[${record}]}`
  const ignoring = { ignoreEmptyFields: true }
  t.match(await importRecords(manager.types, table, one, ignoring), { created: 1 })
  t.same((await table.read('USER.a')).fields, { '{n}size': 1n })
  await table.update({ id: 'USER.a', fields: { '{n}tags': ['x'], '{n}title': 'old' } })
  t.match(await importRecords(manager.types, table, one, ignoring), { unchanged: 1 })
  const deleting = { ignoreAndDeleteEmptyFields: true }
  t.match(await importRecords(manager.types, table, one, deleting), { updated: 1 })
  t.same((await table.read('USER.a')).fields, { '{n}size': 1n })

  const lines = ['{"namespaces":{"n":"x"}}']
  for (let i = 0; i < 50; i++) {
    lines.push(`{"id":"USER.${i}","type":"x$page","fields":{"x$title":"${i}"}}`)
  }
  lines.push('', '{"id":', '{"id":"USER.bad","fields":{"x$none":1}}', '{"fields":{}}')
  const failures: ImportFailure[] = []
  const pieces = Buffer.from(lines.join('\n'))
  const cut = [pieces.subarray(0, 100), pieces.subarray(100, 101), pieces.subarray(101)]
  const counts = await importRecords(manager.types, table, cut, {
    format: 'lines',
    failuresMax: 10,
    failed: (failure) => failures.push(failure),
  })
  t.match(counts, { created: 50, failed: 3, isStopped: false })
  t.same(failures.map(({ place, id, code }) => [place, id, code]).sort(), [
    [53, undefined, 'ERR_INVALID_ARGUMENT'],
    [54, undefined, 'ERR_FIELD_TYPE_NOT_FOUND'],
    [55, undefined, 'ERR_INVALID_RECORD'],
  ])
  const stopped = await importRecords(manager.types, table, '{}\n{}\n{}\n', {
    format: 'lines',
    workers: 1,
    failuresMax: 2,
  })
  t.match(stopped, { failed: 2, isStopped: true })
  const conflict = '{"fieldTypes":[{"name":"{n}title","valueType":"LONG"}],"records":[]}'
  const run = importRecords(manager.types, table, conflict)
  await t.rejects(run, { code: 'ERR_FIELD_TYPE_UPDATE' })
  const missing = '{"recordTypes":[{"name":"{n}c","supertypes":[{"name":"{n}none"}]}]}'
  const without = importRecords(manager.types, table, missing)
  await t.rejects(without, { code: 'ERR_RECORD_TYPE_NOT_FOUND' })
  t.match(await importRecords(manager.types, table, one, { schemaOnly: true }), { unchanged: 0 })
  await manager.close()
})
