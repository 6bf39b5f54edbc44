/** The repository over HTTP, in all forms of its addresses. */
import assert from 'node:assert/strict'
import { ns, q, type Fixture, type RepositoryCase } from '../case.js'
import {
  inAllForms,
  namespaces,
  served,
  serving,
  type AnswerJson,
  type Rest,
} from '../rest-fixture.js'

/** Names of the suite in answers without prefixes. */
const plain = 'nsprefixes=false'

function record(fields: object, type: string | object = 's$RT1'): object {
  return { type, fields, namespaces }
}

function named(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`s$${name}`, value]))
}

async function put(rest: Rest, id: string, values: Record<string, unknown>): Promise<AnswerJson> {
  const { status, json } = await rest.send('PUT', `/record/${id}?${plain}`, record(named(values)))
  assert.ok(status === 200 || status === 201, JSON.stringify(json))
  return json
}

const recordCases: readonly RepositoryCase[] = [
  {
    name: 'REST: types are made, read, changed and renamed, and records of them',
    run: (fixture) =>
      served(fixture, async (rest) => {
        const field = { name: 'n$title', valueType: 'STRING', scope: 'versioned' }
        const declared = { ...field, namespaces: { news: 'n' } }
        const made = await rest.send('POST', '//schema/fieldType', {
          action: 'create',
          fieldType: declared,
        })
        assert.equal(made.status, 201)
        assert.equal(made.headers.get('location'), `/repository/schema/fieldType/%7Bnews%7Dtitle`)
        const { code } = await rest.expect(409, 'POST', '//schema/fieldType', declared)
        assert.equal(code, 'ERR_FIELD_TYPE_EXISTS')
        const read = await rest.expect(200, 'GET', '//schema/fieldType/n$title?ns.n=news')
        assert.deepEqual([read['id'], read['scope']], [made.json['id'], 'VERSIONED'])
        const byId = `//schema/fieldTypeById/${String(made.json['id'])}`
        assert.equal((await rest.expect(200, 'GET', byId))['name'], 'ns1$title')
        const path = '//schema/fieldType/n$title?ns.n=news'
        await rest.expect(409, 'PUT', path, { valueType: 'LONG' })
        await rest.expect(404, 'GET', '//schema/fieldType/n$none?ns.n=news')
        await rest.expect(400, 'GET', '//schema/fieldType/n$title')
        await rest.expect(201, 'PUT', '//schema/fieldType/n$second?ns.n=news', {
          scope: 'VERSIONED',
        })
        const renamed = await rest.send('PUT', path, { name: '{news}headline' })
        assert.equal(renamed.status, 301)
        await rest.expect(200, 'GET', '//schema/fieldType/%7Bnews%7Dheadline')
        const type = { name: 'n$article', fields: [{ name: 'n$headline', mandatory: true }] }
        const typeBody = { ...type, namespaces: { news: 'n' } }
        await rest.expect(201, 'POST', '//schema/recordType', typeBody)
        const typePath = '//schema/recordType/%7Bnews%7Darticle'
        assert.equal((await rest.expect(200, 'PUT', typePath, { fields: [] }))['version'], 2)
        const { fields } = await rest.expect(200, 'GET', `${typePath}/version/1`)
        const entry = { id: made.json['id'], name: 'ns1$headline', mandatory: true }
        assert.deepEqual(fields, [entry])
        await rest.expect(404, 'GET', `${typePath}/version/3`)
        await rest.expect(404, 'GET', '//schema/recordType/%7Bnews%7Dnone')
        const all = await rest.expect(200, 'GET', '//schema/recordType')
        assert.ok(all.results!.length >= 4)
        const body = { fields: { '{news}headline': 'x' }, type: '{news}article' }
        assert.equal((await rest.expect(201, 'PUT', '/record/USER.a', body)).version, 1)
      }),
  },
  {
    name: 'REST: a record is created, read by version, changed and deleted',
    run: inAllForms(async (rest) => {
      const first = await rest.send('PUT', '/record/USER.a', record(named({ f1: 'x', f2: 1 })))
      assert.equal(first.status, 201)
      assert.equal(first.headers.get('location'), `/repository${rest.form}/record/USER.a`)
      await rest.expect(200, 'GET', '/record/USER.a/version/1')
      await rest.expect(404, 'GET', '/record/USER.a/version/10')
      await rest.expect(404, 'GET', '/record/USER.a/version/abc')
      const update = (id: string | undefined, f2: number): object => {
        return { action: 'update', record: { id, fields: named({ f2 }) }, namespaces }
      }
      const changed = await rest.expect(200, 'POST', '/record/USER.a', update(undefined, 2))
      assert.equal(changed.version, 2)
      await rest.expect(200, 'POST', '/record/USER.a', update('USER.a', 3))
      await rest.expect(400, 'POST', '/record/USER.a', update('USER.b', 3))
      await rest.expect(404, 'POST', '/record/USER.none', update(undefined, 3))
      await rest.expect(204, 'DELETE', '/record/USER.a')
      await rest.expect(404, 'DELETE', '/record/USER.a')
      await rest.expect(404, 'GET', '/record/USER.a')
      const uuid = '2a1b1d9e-4c57-4b3f-9e0e-b4a01c5d9b11'
      const create = {
        action: 'create',
        record: { id: `UUID.${uuid}`, ...record(named({ f1: 'y' })) },
      }
      await rest.expect(201, 'POST', '/record', create)
      assert.equal((await rest.expect(409, 'POST', '/record', create)).code, 'ERR_RECORD_EXISTS')
      await rest.expect(204, 'DELETE', `/record/UUID.${uuid}`)
      await rest.expect(201, 'PUT', `/record/UUID.${uuid}`, record(named({ f1: 'z' })))
      const chosen = await rest.expect(201, 'POST', '/record', {
        action: 'create',
        record: record(named({ f1: 'y' })),
      })
      assert.match(chosen.id!, /^UUID\./)
    }),
  },
  {
    name: 'REST: the version of a record type is the one given, else the newest',
    run: inAllForms(async (rest) => {
      const values = named({ f1: 'x', f2: 1 })
      const pinned = record(values, { name: 's$RT1', version: 1 })
      assert.equal((await rest.expect(201, 'PUT', '/record/USER.p', pinned)).type!.version, 1)
      const newest = record(named({ f2: 2 }))
      assert.equal((await rest.expect(200, 'PUT', '/record/USER.p', newest)).type!.version, 2)
    }),
  },
  {
    name: 'REST: fields that are wanted, prefixes, and the types of fields',
    run: inAllForms(async (rest) => {
      await put(rest, 'USER.a', { f1: 'x', f2: 1, f3: true })
      const few = await rest.expect(
        200,
        'GET',
        `/record/USER.a?fields=s$f1,%7B${ns}%7Df2&ns.s=${ns}`,
      )
      assert.deepEqual(few.fields, { ns1$f1: 'x', ns1$f2: 1 })
      assert.deepEqual(few['namespaces'], { [ns]: 'ns1' })
      const full = await rest.expect(200, 'GET', `/record/USER.a?${plain}&schema=true`)
      assert.deepEqual(full.fields, { [q('f1')]: 'x', [q('f2')]: 1, [q('f3')]: true })
      const schema = full['schema'] as Record<string, { valueType: string; scope: string }>
      assert.equal(schema[q('f2')].valueType, 'INTEGER')
      await rest.expect(400, 'GET', '/record/USER.a?fields=f1')
      await rest.expect(400, 'GET', `/record/USER.a?fields=s$none&ns.s=${ns}`)
    }),
  },
  {
    name: 'REST: the list of versions in parts, and with fewer fields',
    run: inAllForms(async (rest) => {
      await put(rest, 'USER.v', { f2: 1 })
      await put(rest, 'USER.v', { f3: true })
      await put(rest, 'USER.v', { f6: 'x' })
      const list = async (query: string): Promise<(readonly [number, number])[]> => {
        const { results } = await rest.expect(200, 'GET', `/record/USER.v/version?${query}`)
        return results!.map(
          ({ version, fields }) => [version!, Object.keys(fields!).length] as const,
        )
      }
      assert.deepEqual(await list(''), [
        [1, 1],
        [2, 2],
        [3, 3],
      ])
      assert.deepEqual(await list('max-results=1'), [[1, 1]])
      assert.deepEqual(await list('start-index=2'), [
        [2, 2],
        [3, 3],
      ])
      assert.deepEqual(await list('start-index=9'), [])
      assert.deepEqual(await list(`fields=s$f2&ns.s=${ns}&start-index=3`), [[3, 1]])
      await rest.expect(400, 'GET', '/record/USER.v/version?max-results=x')
    }),
  },
  {
    name: 'REST: variants in their order, and versions by tag',
    run: inAllForms(async (rest) => {
      const active = '{org.lilyproject.vtag}active'
      await rest.manager.types.createOrUpdateFieldType({ name: active, valueType: 'LONG' })
      for (const id of ['USER.m', 'USER.m.lang=nl', 'USER.m.lang=en', 'USER.ma']) {
        await put(rest, id, { f2: 1 })
      }
      const { results } = await rest.expect(200, 'GET', '/record/USER.m.lang=nl/variant')
      assert.deepEqual(results, ['USER.m', 'USER.m.lang=en', 'USER.m.lang=nl'])
      await put(rest, 'USER.m', { f2: 2 })
      const tag = { action: 'update', record: { fields: { [active]: 1 } } }
      await rest.expect(200, 'POST', '/record/USER.m', tag)
      const tagged = await rest.expect(200, 'GET', '/record/USER.m/vtag/active')
      assert.equal(tagged.version, 1)
      assert.equal((await rest.expect(200, 'GET', '/record/USER.m/vtag/last')).version, 2)
      await rest.expect(404, 'GET', '/record/USER.m/vtag/unknown')
      await rest.expect(404, 'GET', '/record/USER.ma/vtag/active')
    }),
  },
]

const writeCases: readonly RepositoryCase[] = [
  {
    name: 'REST: mutable fields of an old version',
    run: inAllForms(async (rest) => {
      await put(rest, 'USER.m', { f2: 1, f3: true })
      await put(rest, 'USER.m', { f2: 2 })
      const body = { fields: named({ f2: 9, f3: false }), namespaces }
      const changed = await rest.expect(200, 'PUT', '/record/USER.m/version/1', body)
      assert.equal(changed.version, 1)
      const old = await rest.expect(200, 'GET', `/record/USER.m/version/1?${plain}`)
      assert.deepEqual(old.fields, { [q('f2')]: 1, [q('f3')]: false })
      const newest = await rest.expect(200, 'GET', `/record/USER.m?${plain}`)
      assert.deepEqual(newest.fields, { [q('f2')]: 2, [q('f3')]: true })
      await rest.expect(404, 'PUT', '/record/USER.m/version/7', body)
      await rest.expect(400, 'PUT', '/record/USER.m/version/1', { ...body, version: 2 })
      await rest.expect(400, 'PUT', '/record/USER.m/version/1', { ...body, id: 'USER.n' })
    }),
  },
  {
    name: 'REST: conditions of updates and deletes',
    run: inAllForms(async (rest) => {
      await put(rest, 'USER.c', { f1: 'x', f2: 1 })
      const update = (...conditions: object[]): Promise<AnswerJson | undefined> => {
        return tryUpdate(rest, conditions)
      }
      const f2 = 's$f2'
      const absent = 's$f6'
      assert.equal(await update({ field: f2, value: 2 }), undefined)
      assert.ok(await update({ field: f2, value: 1 }))
      assert.ok(await update({ field: f2, value: '1', operator: 'greater_or_equal' }))
      assert.equal(await update({ field: f2, value: 1, operator: 'GREATER' }), undefined)
      assert.equal(await update({ field: absent, value: 'a' }), undefined)
      assert.ok(await update({ field: absent, value: 'a', allowMissing: true }))
      assert.ok(await update({ field: absent, value: null }))
      assert.equal(await update({ field: absent, value: null, operator: 'NOT_EQUAL' }), undefined)
      assert.ok(await update({ field: f2, value: null, operator: 'not_equal' }))
      const version = '{org.lilyproject.system}version'
      assert.ok(await update({ field: version, value: 1 }))
      assert.equal(await update({ field: version, value: 2 }), undefined)
      const body = { action: 'update', record: {}, conditions: [{ field: f2 }], namespaces }
      await rest.expect(400, 'POST', '/record/USER.c', body)
      const remove = (value: number): object => {
        return { action: 'delete', conditions: [{ field: f2, value }], namespaces }
      }
      const stored = await rest.expect(409, 'POST', `/record/USER.c?${plain}`, remove(2))
      assert.deepEqual(stored.fields, { [q('f2')]: 1 })
      await rest.expect(204, 'POST', '/record/USER.c', remove(1))
      await rest.expect(404, 'POST', '/record/USER.c', remove(1))
    }),
  },
  {
    name: 'REST: scanners, their leases, and what outlives a restart',
    run: async (fixture) => {
      await inAllForms((rest) => scanWithLeases(rest, fixture))(fixture)
      const path = await serving(await fixture.manager(), async (rest) => {
        const { headers } = await rest.send('POST', '//scan', '{}')
        const location = headers.get('location')!.replace('/repository', '/')
        assert.equal((await rest.expect(200, 'GET', location)).results![0].id, 'USER.s1')
        return location
      })
      await fixture.reopen()
      await serving(await fixture.manager(), async (rest) => {
        assert.equal((await rest.expect(200, 'GET', path)).results![0].id, 'USER.s2')
      })
    },
  },
]

async function tryUpdate(rest: Rest, conditions: object[]): Promise<AnswerJson | undefined> {
  const body = { action: 'update', record: { fields: named({ f2: 1 }) }, conditions, namespaces }
  const { status, json } = await rest.send('POST', `/record/USER.c?${plain}`, body)
  assert.ok(status === 200 || status === 409, JSON.stringify(json))
  if (status === 409) assert.deepEqual(json.fields, { [q('f2')]: 1 })
  return status === 200 ? json : undefined
}

async function scanWithLeases(rest: Rest, { clock }: Fixture): Promise<void> {
  for (const id of ['USER.s1', 'USER.s2', 'USER.s3']) await put(rest, id, { f1: 'x' })
  const begin = async (): Promise<string> => {
    const scan = { recordFilter: { '@class': 'RecordIdPrefixFilter', recordId: 'USER.s' } }
    const { status, headers } = await rest.send('POST', '/scan', scan)
    assert.equal(status, 201)
    return headers.get('location')!.replace('/repository', '').replace(rest.form, '')
  }
  const ids = async (path: string): Promise<string[]> => {
    return (await rest.expect(200, 'GET', path)).results!.map(({ id }) => id!)
  }
  const first = await begin()
  assert.deepEqual(await ids(first), ['USER.s1'])
  assert.deepEqual(await ids(`${first}?batch=2`), ['USER.s2', 'USER.s3'])
  await rest.expect(204, 'GET', first)
  await rest.expect(204, 'GET', first)
  await rest.expect(404, 'GET', '/scan/unknown')
  await rest.expect(400, 'GET', `${first}?batch=0`)
  await rest.expect(200, 'DELETE', first)
  await rest.expect(404, 'DELETE', first)
  await rest.expect(404, 'GET', first)
  const second = await begin()
  clock.milliseconds += 50_000
  assert.deepEqual(await ids(second), ['USER.s1'])
  clock.milliseconds += 50_000
  assert.deepEqual(await ids(second), ['USER.s2'])
  clock.milliseconds += 60_001
  await rest.expect(404, 'GET', second)
}

/** All value types: the type, and values that come back as they were sent. */
const values: readonly (readonly [string, unknown])[] = [
  ['STRING', 'a "quoted" \u{1f600} text'],
  ['INTEGER', -2147483648],
  ['LONG', '9223372036854775807'],
  ['LONG', '-9223372036854775808'],
  ['LONG', 9007199254740991],
  ['DOUBLE', 1.5e-300],
  ['DOUBLE', 'NaN'],
  ['DECIMAL', '12345678901234567890.123456'],
  ['DECIMAL', '1.00'],
  ['BOOLEAN', false],
  ['DATE', '2024-02-29'],
  ['DATETIME', '2024-02-29T12:34:56.789Z'],
  ['URI', 'http://example.org/?a=b'],
  ['BYTEARRAY', 'AAEC/w=='],
  ['LINK', 'other:USER.a.!*,lang=en'],
  ['LINK', '.-country,+lang'],
  ['BLOB', { value: 'aGVsbG8ASU5MSU5FAAAABg', mediaType: 'text/plain', size: 6, name: 'a' }],
  ['LIST<STRING>', ['a', 'b']],
  ['LIST<STRING>', []],
  ['PATH<LONG>', [1, '9007199254740993']],
  ['LIST<PATH<DATE>>', [['2024-01-01'], ['2024-01-02', '2024-01-03']]],
  ['RECORD', { type: { name: q('RT1') }, fields: { [q('f1')]: 'inside' } }],
  ['LIST<RECORD<{org.example}RT1>>', [{ type: { name: q('RT1') }, fields: { [q('f2')]: 7 } }]],
]

const valueCases: readonly RepositoryCase[] = [
  {
    name: 'REST: record tables are listed, created and dropped',
    run: (fixture) =>
      served(fixture, async (rest) => {
        assert.deepEqual(await rest.expect(200, 'GET', '//table'), [{ name: 'record' }])
        await rest.expect(200, 'POST', '//table', { name: 'notes' })
        await rest.expect(409, 'POST', '//table', { name: 'notes' })
        await rest.expect(400, 'POST', '//table', { name: 'a__b' })
        await rest.expect(400, 'POST', '//table', { name: 'split', splitKeys: ['a'] })
        await rest.expect(200, 'DELETE', '//table/notes')
        await rest.expect(404, 'DELETE', '//table/notes')
        await rest.expect(400, 'DELETE', '//table/record')
        await rest.expect(404, 'GET', '//nowhere/table')
        await rest.expect(200, 'POST', '//repositories', { name: 'here' })
        assert.deepEqual(await rest.expect(200, 'GET', '//here/table'), [{ name: 'record' }])
        await rest.expect(409, 'POST', '//repositories', { name: 'here' })
        await rest.expect(200, 'DELETE', '//repositories/here')
        await rest.expect(404, 'GET', '//here/record/USER.a')
      }),
  },
  {
    name: 'REST: values of all types go through JSON and back, exactly',
    run: inAllForms(async (rest) => {
      const { types } = rest.manager
      for (const [index, [valueType, value]] of values.entries()) {
        const name = q(`value${index}`)
        await types.createOrUpdateFieldType({ name, valueType })
        const body = { type: 's$RT1', fields: { [name]: value }, namespaces }
        await rest.expect(201, 'PUT', `/record/USER.v${index}`, body)
        const { fields } = await rest.expect(200, 'GET', `/record/USER.v${index}?${plain}`)
        assert.deepEqual(fields, { [name]: value }, valueType)
      }
      const lenient = `{/* comments */ type: 's$RT1', namespaces: {'${ns}': 's'}, // and names
        fields: { 's$f2': '12', s$f3: 't', 's$value2': 9223372036854775807, 's$value7': 1.10 } }`
      await rest.expect(201, 'PUT', '/record/USER.lenient', lenient)
      const { fields } = await rest.expect(200, 'GET', `/record/USER.lenient?${plain}`)
      assert.deepEqual(fields, {
        [q('f2')]: 12,
        [q('f3')]: true,
        [q('value2')]: '9223372036854775807',
        [q('value7')]: '1.10',
      })
    }),
  },
]

/** The cases. */
export const restCases: readonly RepositoryCase[] = [...recordCases, ...writeCases, ...valueCases]
