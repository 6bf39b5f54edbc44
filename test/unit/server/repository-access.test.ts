/**
 * What a principal may see, through every way by which a search or a new name could tell more.
 *
 * @runs long
 */
import t from 'tap'
import { MemoryFileSystem } from '../../../src/entries/index.js'
import { Link } from '../../../src/systems/repository/index.js'
import type { Principal } from '../../../src/server/index.js'
import { serveRepository, type Answer, type ServedRepository } from './served-repository.js'

const live = '{org.lilyproject.vtag}live'
const draft = '{org.lilyproject.vtag}draft'

function principal(name: string, more: Omit<Principal, 'name' | 'token'>): Principal {
  return { name, token: `token-of-${name}`, ...more }
}

const root = principal('root', { administrator: true })

async function withTypes(
  fileSystem: MemoryFileSystem,
  principals: readonly Principal[],
): Promise<ServedRepository> {
  const served = await serveRepository(fileSystem, [root, ...principals])
  const { types } = served.manager
  for (const [name, valueType, scope] of [
    ['{x}title', 'STRING', 'VERSIONED'],
    ['{x}salary', 'LONG', 'NON_VERSIONED'],
    ['{x}grade', 'STRING', 'NON_VERSIONED'],
    ['{x}job', 'RECORD', 'VERSIONED'],
    ['{x}jobs', 'LIST<RECORD<{x}work>>', 'NON_VERSIONED'],
    ['{x}boss', 'LINK', 'NON_VERSIONED'],
    [live, 'LONG', 'NON_VERSIONED'],
    [draft, 'LONG', 'NON_VERSIONED'],
  ] as const) {
    await types.createOrUpdateFieldType({ name, valueType, scope })
  }
  const fields = ['title', 'salary', 'grade', 'job'].map((local) => ({ name: `{x}${local}` }))
  await types.createOrUpdateRecordType({ name: '{x}work', fields })
  return served
}

async function found(
  { as }: ServedRepository,
  name: string,
  query: string,
  index = 'people',
): Promise<unknown> {
  const path = `/index/${index}/search?wait=true&q=${encodeURIComponent(query)}`
  const { status, json } = await as(name, 'GET', path)
  if (status !== 200) return json['code']
  return (json['results'] as { id: string }[]).map(({ id }) => id).sort()
}

const everything = { includes: [{ versionTags: ['last'] }] }

void t.test('hidden fields inside of shown records are not searchable', async (t) => {
  const served = await withTypes(new MemoryFileSystem(), [
    principal('reader', {
      search: ['people'],
      rules: [{ table: 'record', read: { except: ['{x}salary'] } }],
    }),
    principal('payer', { search: ['people'], rules: [{ read: true }] }),
  ])
  const { as, manager } = served
  const configuration = {
    recordFilter: everything,
    fields: [
      { name: 'job_t', value: '{x}job' },
      { name: 'title_t', value: '{x}job=>{x}title' },
      { name: 'boss_t', value: '{x}boss=>{x}jobs' },
      { name: 'json_t', value: '{x}jobs', formatter: 'shallowJson' },
      { name: 'of_${{x}job}_t', value: '{x}title' },
    ],
    dynamicFields: [{ matchNamespace: 'x', matchName: 'j*', name: 'all_${name}_t' }],
  }
  t.equal((await as('root', 'POST', '/index', { name: 'people', configuration })).status, 201)
  const table = manager.repository().table()
  const inner = { type: '{x}work', fields: { '{x}title': 'baker', '{x}grade': 'b' } }
  const hiding = { type: '{x}work', fields: { '{x}title': 'cook', '{x}salary': 4711n } }
  const plain = { '{x}title': 'plain', '{x}job': inner, '{x}jobs': [inner] }
  await table.create({ id: 'USER.plain', type: '{x}work', fields: plain })
  const refused = 'ERR_FORBIDDEN'
  t.same(await found(served, 'reader', 'job_t:baker'), ['USER.plain'], 'nothing hidden is shown')
  t.same(await found(served, 'reader', 'all_jobs_t:baker'), ['USER.plain'])
  const nested = { type: '{x}work', fields: { '{x}job': hiding } }
  await table.create({
    id: 'USER.paid',
    type: '{x}work',
    fields: { '{x}title': 'paid', '{x}job': nested, '{x}jobs': [hiding] },
  })
  await table.create({
    id: 'USER.clerk',
    type: '{x}work',
    fields: { '{x}boss': Link.to('USER.paid') },
  })
  for (const query of ['job_t:4711', 'job_t:4712', 'job_t:47*', '*:* AND NOT job_t:4711']) {
    t.same(await found(served, 'reader', query), refused, query)
  }
  for (const field of ['all_job_t', 'all_jobs_t', 'boss_t', 'json_t', 'of_cook_t', 'of_none_t']) {
    t.same(await found(served, 'reader', `${field}:4711`), refused, field)
    t.same(await found(served, 'reader', `${field}:*`), refused, field)
  }
  t.same(await found(served, 'reader', 'title_t:baker'), ['USER.plain'], 'one field of the record')
  t.same(await found(served, 'payer', 'job_t:4711'), ['USER.paid'])
  t.same(await found(served, 'payer', 'boss_t:4711'), ['USER.clerk'])

  // Documents of an earlier configuration show what they showed.
  const update = { fields: [{ name: 'job_t', value: '{x}title' }], recordFilter: everything }
  await as('root', 'PUT', '/index/people', { configuration: update })
  t.same(await found(served, 'root', 'job_t:4711'), ['USER.paid'], 'not built again as yet')
  t.same(await found(served, 'reader', 'job_t:4711'), refused)
  const build = { build: true, buildArguments: { clear: true } }
  t.equal((await as('root', 'PUT', '/index/people', build)).status, 200)
  for (;;) {
    const { json } = await as('root', 'GET', '/index/people')
    if (json['build'] === 'INACTIVE') break
  }
  t.same(await found(served, 'reader', 'job_t:plain'), ['USER.plain'], 'built without it')

  // Nor does a comparison with a whole record tell of what is inside.
  const filter = {
    '@class': 'FieldValueFilter',
    field: '{x}job',
    fieldValue: { type: '{x}work', fields: { '{x}title': 'cook' } },
  }
  t.equal((await as('reader', 'POST', '/scan', { recordFilter: filter })).status, 403)
  t.equal((await as('payer', 'POST', '/scan', { recordFilter: filter })).status, 201)
  await served.close()
})

void t.test('what texts were made of is known after a restart', async (t) => {
  const reader = principal('reader', {
    search: ['people'],
    rules: [{ read: { except: ['{x}salary'] } }],
  })
  const fileSystem = new MemoryFileSystem()
  const first = await withTypes(fileSystem, [reader])
  const fields = [{ name: 'job_t', value: '{x}job' }]
  const configuration = { recordFilter: everything, fields }
  await first.as('root', 'POST', '/index', { name: 'people', configuration })
  const hiding = { type: '{x}work', fields: { '{x}salary': 4711n } }
  const table = first.manager.repository().table()
  await table.create({ id: 'USER.paid', type: '{x}work', fields: { '{x}job': hiding } })
  t.same(await found(first, 'root', 'job_t:4711'), ['USER.paid'])
  await first.close()
  const second = await serveRepository(fileSystem, [root, reader])
  t.same(await found(second, 'reader', 'job_t:4711'), 'ERR_FORBIDDEN')
  await second.close()
})

void t.test('a hit is the version that was indexed', async (t) => {
  const served = await withTypes(new MemoryFileSystem(), [])
  const { as, manager } = served
  const configuration = {
    recordFilter: { includes: [{ versionTags: ['live', 'last'] }] },
    fields: [
      { name: 'title_t', value: '{x}title' },
      { name: 'grade_t', value: '{x}grade' },
    ],
  }
  await as('root', 'POST', '/index', { name: 'people', configuration })
  const table = manager.repository().table()
  const type = '{x}work'
  await table.create({ id: 'USER.a', type, fields: { '{x}title': 'sold', '{x}grade': 'old' } })
  await table.tag('USER.a', live, 1)
  await table.update({ id: 'USER.a', fields: { '{x}title': 'drafted', '{x}grade': 'new' } })
  const hits = async (query: string): Promise<unknown[]> => {
    const path = `/index/people/search?wait=true&nsprefixes=false&q=${encodeURIComponent(query)}`
    const { json } = await as('root', 'GET', path)
    const results = json['results'] as {
      versionTag: string
      version: number
      record?: { version?: number; fields: Record<string, unknown> }
    }[]
    return results
      .map(({ versionTag, version, record }) => {
        const { '{x}title': title, '{x}grade': grade } = record?.fields ?? {}
        return [versionTag, version, record?.version, title, grade]
      })
      .sort()
  }
  t.same(await hits('title_t:sold'), [['live', 1, 1, 'sold', 'new']], 'the live version')
  t.same(await hits('title_t:drafted'), [['last', 2, 2, 'drafted', 'new']])
  await table.pruneVersions('USER.a', { keep: 1, keepTagged: false })
  t.same(await hits('grade_t:new AND lily.vtag:last'), [['last', 2, 2, 'drafted', 'new']])
  // Indexed before it had versions, or at version 0: what is versioned is not shown.
  await table.create({ id: 'USER.b', type, fields: { '{x}grade': 'bare' } })
  await table.tag('USER.b', live, 0)
  await table.update({ id: 'USER.b', fields: { '{x}title': 'later' } })
  t.same(await hits('grade_t:bare AND lily.vtag:live'), [['live', 0, undefined, undefined, 'bare']])
  await served.close()
})

void t.test('documents at a version tag that is hidden are not there', async (t) => {
  const served = await withTypes(new MemoryFileSystem(), [
    principal('reader', {
      search: ['people'],
      rules: [{ table: 'record', read: { except: [draft] } }],
    }),
    principal('half', {
      search: ['people'],
      rules: [
        { table: 'record', read: true },
        { table: 'other', read: { except: [draft] } },
      ],
    }),
  ])
  const { as, manager } = served
  const other = await manager.repository().createTable('other')
  const configuration = {
    recordFilter: { includes: [{ versionTags: ['draft', 'live'] }] },
    fields: [
      { name: 'title_t', value: '{x}title' },
      { name: 'boss_t', value: '{x}boss=>{x}title' },
    ],
  }
  await as('root', 'POST', '/index', { name: 'people', configuration })
  for (const [table, id] of [
    [manager.repository().table(), 'USER.a'],
    [other, 'USER.o'],
  ] as const) {
    const boss = Link.to('USER.o', 'other')
    const fields = { '{x}title': 'first', '{x}boss': boss }
    await table.create({ id, type: '{x}work', fields })
    await table.tag(id, live, 1)
    await table.update({ id, fields: { '{x}title': 'second' } })
    await table.tag(id, draft, 2)
  }
  const tags = async (name: string, query: string): Promise<unknown> => {
    const path = `/index/people/search?wait=true&q=${encodeURIComponent(query)}`
    const { json } = await as(name, 'GET', path)
    const results = json['results'] as { id: string; versionTag: string; score?: number }[]
    t.equal(json['total'], results.length)
    if (name !== 'root') t.notOk('score' in results.concat({} as never)[0], 'scores count all')
    return results.map(({ id, versionTag }) => `${id} ${versionTag}`).sort()
  }
  t.same(await tags('root', '*:*'), ['USER.a draft', 'USER.a live', 'USER.o draft', 'USER.o live'])
  t.same(await tags('reader', '*:*'), ['USER.a live'])
  for (const query of ['lily.vtag:draft', 'title_t:second', 'lily.version:2']) {
    t.same(await tags('reader', query), [], query)
  }
  t.same(await tags('reader', '-lily.vtag:live *:*'), [])
  t.same(await tags('half', '*:*'), ['USER.a draft', 'USER.a live', 'USER.o live'])
  t.same(await tags('half', 'boss_t:second OR boss_t:first'), ['USER.a live', 'USER.o live'])
  t.same(await tags('half', 'boss_t:second'), [], 'the linked record at a tag that is hidden there')
  await served.close()
})

void t.test('another name of a field type opens nothing', async (t) => {
  const principals = [
    principal('except', { search: ['people'], rules: [{ read: { except: ['{x}salary'] } }] }),
    principal('some', { rules: [{ read: { fields: ['{x}title', '{y}*'] } }] }),
    principal('space', { rules: [{ read: { except: ['{x}*'] } }] }),
    principal('typo', { rules: [{ read: { except: ['{x}salry'] } }] }),
    principal('unknown', { rules: [{ read: { fields: ['{x}salry', '{x}grade'] } }] }),
    principal('maker', { changeSchema: true, rules: [{ read: { fields: ['{x}title'] } }] }),
  ]
  const fileSystem = new MemoryFileSystem()
  let served = await withTypes(fileSystem, [])
  const { manager } = served
  const fields = { '{x}title': 'cook', '{x}salary': 4711n, '{x}grade': 'b' }
  const dynamicFields = [{ name: '${name}_t', matchNamespace: '*' }]
  const configuration = { recordFilter: everything, dynamicFields }
  await served.as('root', 'POST', '/index', { name: 'people', configuration })
  await manager.repository().table().create({ id: 'USER.a', type: '{x}work', fields })
  const idOf = (name: string): string => served.manager.types.getFieldType(name).id
  const ids = {
    title: idOf('{x}title'),
    salary: idOf('{x}salary'),
    grade: idOf('{x}grade'),
  }
  await served.close()
  const byId = principal('id', { rules: [{ read: { fields: [ids.salary] } }] })
  const open = async (): Promise<void> => {
    served = await serveRepository(fileSystem, [root, ...principals, byId])
  }
  /** Which values somebody reads: t, s and g. */
  const read = async (name: string): Promise<string> => {
    const { status, json } = await served.as(name, 'GET', '/record/USER.a')
    if (status !== 200) return String(json['code'])
    const values = Object.values(json['fields'] as Record<string, unknown>)
    const letters = { cook: 't', 4711: 's', b: 'g' } as Record<string, string>
    return values
      .map((value) => letters[String(value)])
      .sort()
      .join('')
  }
  const names = ['except', 'some', 'space', 'typo', 'unknown', 'maker', 'id']
  const all = async (): Promise<string[]> => Promise.all(names.map(read))
  const rename = async (id: string, name: string): Promise<void> => {
    const { status } = await served.as('maker', 'PUT', `/schema/fieldTypeById/${id}`, { id, name })
    t.equal(status, 200)
  }
  await open()
  const expected = ['gt', 't', '', 'ERR_FORBIDDEN', 'g', 't', 's']
  t.same(await all(), expected)
  await rename(ids.salary, '{y}open')
  t.same(await all(), expected, 'neither out of an exception nor into a namespace')
  await rename(ids.title, '{x}heading')
  t.same(await all(), expected, 'who could read it still can')
  await rename(ids.salary, '{x}title')
  t.same(await all(), expected, 'nor by the name of one that may be read')
  await served.manager.types.createFieldType({ name: '{x}salary', valueType: 'STRING' })
  t.same(await all(), expected, 'nor when another takes its name')
  await rename(ids.salary, '{x}salry')
  t.same(await all(), expected, 'nor by a name that was unknown')
  t.same(await found(served, 'except', 'salary_t:4711'), 'ERR_FORBIDDEN')
  await served.as('root', 'PUT', '/record/USER.a', { fields: { '{x}grade': 'b' } })
  t.same(await found(served, 'except', 'salry_t:4711'), 'ERR_FORBIDDEN')
  await served.close()
  await open()
  t.same(await all(), expected, 'nor after a new start')
  await served.close()
})

void t.test('two field types that change their names do not show one as the other', async (t) => {
  const reader = principal('reader', {
    search: ['people'],
    rules: [{ read: { except: ['{x}grade'] } }],
  })
  const served = await withTypes(new MemoryFileSystem(), [reader])
  const { manager, as } = served
  const { types } = manager
  const dynamicFields = [{ name: '${name}_t', matchNamespace: 'x', matchName: '*' }]
  const configuration = { recordFilter: everything, dynamicFields }
  await as('root', 'POST', '/index', { name: 'people', configuration })
  const table = manager.repository().table()
  const fields = { '{x}title': 'cook', '{x}grade': 'secret' }
  await table.create({ id: 'USER.a', type: '{x}work', fields })
  t.same(await found(served, 'root', 'grade_t:secret'), ['USER.a'])
  t.same(await found(served, 'reader', 'title_t:cook'), ['USER.a'])
  const [title, grade] = ['{x}title', '{x}grade'].map((name) => types.getFieldType(name))
  await types.updateFieldType({ id: grade.id, name: '{x}other' })
  await types.updateFieldType({ id: title.id, name: '{x}grade' })
  t.same(
    await found(served, 'reader', 'grade_t:secret'),
    'ERR_FORBIDDEN',
    'documents are as before',
  )
  await served.close()
})

void t.test('a rule names fields in a form that can be', async (t) => {
  for (const name of ['salary', '{x}', 'x$salary', '*']) {
    for (const rule of [{ read: { except: [name] } }, { read: true, write: { fields: [name] } }]) {
      const rules = [rule]
      await t.rejects(
        serveRepository(new MemoryFileSystem(), [principal('p', { rules })]),
        { code: 'ERR_INVALID_ARGUMENT' },
        name,
      )
    }
  }
})

void t.test('versions that differ in hidden inner fields alone do not differ', async (t) => {
  const served = await withTypes(new MemoryFileSystem(), [
    principal('reader', { rules: [{ read: { except: ['{x}salary'] } }] }),
  ])
  const table = served.manager.repository().table()
  const id = 'USER.a'
  const jobOf = (title: string, salary: bigint): Record<string, unknown> => ({
    type: '{x}work',
    fields: { '{x}job': { type: '{x}work', fields: { '{x}title': title, '{x}salary': salary } } },
  })
  await table.create({ id, type: '{x}work', fields: { '{x}job': jobOf('cook', 1n) } })
  await table.update({ id, fields: { '{x}job': jobOf('cook', 2n) } })
  await table.update({ id, fields: { '{x}job': jobOf('chef', 3n) } })
  await table.update({ id, fields: {}, metadata: { '{x}job': { source: 'a list' } } })
  const diff = async (name: string, from: number, to: number): Promise<Answer> => {
    return served.as(name, 'GET', `/record/${id}/diff?from=${from}&to=${to}`)
  }
  const shown = async (name: string, from: number, to: number): Promise<unknown> => {
    const { json } = await diff(name, from, to)
    return (json['results'] as { field: string }[]).map(({ field }) => field)
  }
  const hidden = await diff('reader', 1, 2)
  t.same([hidden.status, hidden.json], [200, { results: [], namespaces: {} }])
  t.same(await shown('root', 1, 2), ['ns1$job'], 'one who may read the part sees the change')
  t.same(await shown('reader', 2, 3), ['ns1$job'], 'a part that may be read has changed')
  t.notMatch(JSON.stringify(await diff('reader', 2, 3)), /salary/)
  t.same(await shown('reader', 3, 4), ['ns1$job'], 'metadata alone')
  await served.close()
})
