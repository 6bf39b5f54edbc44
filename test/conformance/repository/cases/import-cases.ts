/** Imports, and the JSON form of records, scans and metadata. */
import assert from 'node:assert/strict'
import {
  importRecords,
  NameReader,
  NameWriter,
  parseJson,
  recordToJson,
  scanFromJson,
  scanToJson,
  type RecordScan,
} from '../../../../src/systems/repository/index.js'
import { ns, q, type RepositoryCase } from '../case.js'

const declared = `"namespaces":{"${ns}":"s"}`

/** The cases. */
export const importCases: readonly RepositoryCase[] = [
  {
    name: 'imports: inherited namespaces, empty fields, lines; scans, metadata and attributes',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      const { types } = manager
      const table = manager.repository().table()
      const reasons: (string | undefined)[] = []
      const told = await manager.subscribe('import', async ({ event }) => {
        reasons.push(event.attributes?.['why'])
      })
      const schema = `{${declared},
        "fieldTypes":[{"name":"s$tags","valueType":"LIST<STRING>"},
          {"name":"o$inner","valueType":"RECORD<o$part>","namespaces":{"other":"o"}}],
        "recordTypes":[{"name":"o$part","fields":[{"name":"s$f1"}],"namespaces":{"other":"o"}}]}`
      await importRecords(types, table, schema)
      const inner = `{"fields":{"s$f1":""}}`
      const fields = `{"s$f1":"","s$f2":7,"s$tags":[],"{other}inner":${inner}}`
      const text = `{${declared},"records":[{"id":"USER.a","type":"s$RT1","fields":${fields}}]}`
      await importRecords(types, table, text, { ignoreEmptyFields: true })
      assert.deepEqual((await table.read('USER.a')).fields, { [q('f2')]: 7 })
      await table.update({ id: 'USER.a', fields: { [q('f1')]: 'x', [q('tags')]: ['t'] } })
      await importRecords(types, table, text, { ignoreEmptyFields: true })
      assert.equal((await table.read('USER.a')).fields[q('f1')], 'x')
      await importRecords(types, table, text, { ignoreAndDeleteEmptyFields: true })
      assert.deepEqual((await table.read('USER.a')).fields, { [q('f2')]: 7 })

      const line = `{"id":"USER.b","type":"p$RT1","namespaces":{"${ns}":"p"},
        "fields":{"p$f1":"b"},"metadata":{"p$f1":{"kept":1,"gone":{"type":"datetime",
        "value":"2024-01-01T00:00:00.000Z"}}},"attributes":{"why":"import"}}`
      const more = `{"id":"USER.b","metadataToDelete":{"s$f1":["gone"]}}`
      const lines = `{${declared}}\n${line.replaceAll('\n', ' ')}\n${more}\n`
      const counts = await importRecords(types, table, lines, { format: 'lines', workers: 1 })
      assert.equal(counts.failed, 0)
      const record = await table.read('USER.b')
      assert.deepEqual(record.metadata, { [q('f1')]: { kept: 1 } })
      await told.caughtUp()
      assert.ok(reasons.includes('import'), 'the attributes are in the event')
      const { metadata } = recordToJson(record, { schema: types.schema, names: new NameWriter() })
      assert.deepEqual(metadata, { ns1$f1: { kept: 1 } })

      const scan: RecordScan = {
        filter: { any: [{ recordType: q('RT1') }, { field: q('f2'), value: 7 }] },
        fields: [q('f1')],
      }
      const json = scanToJson(scan, { schema: types.schema, names: new NameWriter() })
      const input = { schema: types.schema, namespaces: new NameReader() }
      const read = scanFromJson(parseJson(JSON.stringify(json)), input)
      const ids: string[] = []
      for await (const { id } of table.scan(read)) ids.push(id.text)
      assert.deepEqual(ids, ['USER.a', 'USER.b'])
    },
  },
]
