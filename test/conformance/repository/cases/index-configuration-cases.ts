/** Configurations, formats, extraction and builds of indexes. */
import assert from 'node:assert/strict'
import type { IndexConfiguration, RecordMatch } from '../../../../src/systems/repository/index.js'
import { failsWith } from '../../../suites/kit.js'
import { fieldsOf, ns, q, type Fixture, type RepositoryCase } from '../case.js'
import {
  createIndexTypes,
  everyDoc,
  findIn,
  indexed,
  linkTo,
  openIndexes,
} from '../index-fixture.js'

/** A configuration in XML whose records are those of the type `doc`. */
const xmlOf = (inner: string): string => `<?xml version="1.0"?>
<indexer xmlns:n="${ns}" xmlns:sys="org.lilyproject.system">
  <recordFilter><includes><include recordType="n:doc" vtags="last"/></includes></recordFilter>
  ${inner}
</indexer>`

const decode = async (content: AsyncIterable<Uint8Array>, mediaType: string): Promise<string> => {
  if (mediaType === 'application/broken') throw new Error('it cannot be read')
  const pieces: Uint8Array[] = []
  for await (const piece of content) pieces.push(piece)
  return Buffer.concat(pieces).toString('utf8')
}

const formatCases: readonly RepositoryCase[] = [
  {
    name: 'the text of blobs, also inside lists and paths',
    run: async (fixture) => {
      const fields = [
        { name: 'one', value: q('blob'), extractContent: true },
        { name: 'nested', value: q('blobs'), extractContent: true },
        { name: 'linked', value: `${q('to')}=>${q('blob')}`, extractContent: true },
        { name: 'name', value: q('name') },
      ]
      const { manager, index, find, create, values } = await indexed(
        fixture,
        { ...everyDoc, fields },
        { extract: decode },
      )
      const blob = (text: string, mediaType = 'text/plain'): Promise<unknown> => {
        return manager.blobs.upload(Buffer.from(text), { mediaType })
      }
      await create('a', { blob: await blob('the quick brown fox') })
      const blobs = [[await blob('first words')], [await blob('second'), await blob('third')]]
      await create('b', { blobs, to: linkTo('a') })
      await create('c', { name: 'kept', blob: await blob('lost', 'application/broken') })
      assert.deepEqual(await find('one:"quick brown"'), ['a@last'])
      assert.deepEqual(await find('one:"brown quick"'), [])
      assert.deepEqual(await find('nested:third'), ['b@last'])
      assert.deepEqual(await find('linked:fox'), ['b@last'])
      assert.deepEqual(await find('name:kept'), ['c@last'], 'a failure leaves the field out')
      assert.equal(index.counts.extractionFailures, 1)
      await create('d', { blob: await blob('x'.repeat(600_000)) })
      await index.waitFor()
      const [text] = await values('lily.id:"USER.d"', 'one')
      assert.equal(text.length, 500_000, 'cut, and used')
    },
  },
  {
    name: 'formatters, and values as text',
    run: async (fixture) => {
      const fields = `<formatters><formatter name="year" class="my.Year"/></formatters><fields>
        <field name="year" value="n:day" formatter="year"/>
        <field name="first" value="n:list" formatter="firstValue"/>
        <field name="path" value="n:path"/><field name="day" value="n:day"/>
        <field name="time" value="n:time"/><field name="lists" value="n:lists"/></fields>`
      const formatters = {
        Year: (found: readonly { readonly value: unknown }[]) => {
          return found.map(({ value }) => String(value).slice(0, 4))
        },
      }
      const { create, values } = await indexed(fixture, xmlOf(fields), { formatters })
      await create('a', {
        day: '2011-03-05',
        time: new Date(Date.UTC(2011, 2, 5, 6, 7, 8, 9)),
        list: ['x', 'y'],
        path: ['a', 'b'],
        lists: [['p', 'q'], ['r']],
      })
      const shown = async (name: string): Promise<readonly string[]> => values('*:*', name)
      assert.deepEqual(await shown('year'), ['2011'])
      assert.deepEqual(await shown('first'), ['x'])
      assert.deepEqual(await shown('path'), ['/a/b'])
      assert.deepEqual(await shown('day'), ['2011-03-05T00:00:00Z/DAY'])
      assert.deepEqual(await shown('time'), ['2011-03-05T06:07:08.009Z'])
      assert.deepEqual(await shown('lists'), ['p q', 'r'])
    },
  },
  {
    name: 'dynamic fields of the version that is indexed',
    run: async (fixture) => {
      const rules = `<dynamicFields>
        <dynamicField matchNamespace="n" matchName="na*" name="\${nameMatch}_s" continue="true"/>
        <dynamicField matchName="name" name="again_\${namespaceMatch}" matchNamespace="org*"/>
        <dynamicField matchScope="versioned_mutable" name="mutable_\${baseType}"/>
        <dynamicField matchType="LIST(*)" name="\${name}_\${nestedBaseType}\${list?_mv:_sv}"/>
        <dynamicField matchType="BLOB" name="text" extractContent="true"/>
        <dynamicField matchType="LIST&lt;++&gt;" name="\${type}_\${deepestNestedBaseType}"/>
        <dynamicField matchType="*" name="rest_\${name}"/></dynamicFields>`
      const { manager, table, create, values } = await indexed(fixture, xmlOf(rules), {
        extract: decode,
      })
      const blob = await manager.blobs.upload(Buffer.from('inside'), { mediaType: 'text/plain' })
      const lists = [['deep']]
      const fields = { name: 'n', note: 'm', list: ['l'], lists, size: 3, blob, path: ['p'] }
      await create('a', fields)
      const shown = async (name: string): Promise<readonly string[]> => values('*:*', name)
      assert.deepEqual(await shown('me_s'), ['n'])
      assert.deepEqual(await shown('again_.example'), ['n'])
      assert.deepEqual(await shown('mutable_string'), ['m'])
      assert.deepEqual(await shown('list_string_mv'), ['l'])
      assert.deepEqual(await shown('list_list_string_string'), ['deep'])
      assert.deepEqual(await shown('text'), ['inside'])
      assert.deepEqual(await shown('rest_size'), ['3'])
      assert.deepEqual(await shown('rest_name'), [], 'the first rule that does not go on')
      await table.update({ id: 'USER.a', fieldsToDelete: [q('note')] })
      assert.deepEqual(await shown('mutable_string'), [])
    },
  },
  {
    name: 'records and lists as text, one field of a record, and shallow JSON',
    run: async (fixture) => {
      const inner = `<fields><field name="all" value="n:inner"/>
        <field name="only" value="n:inner=&gt;n:name"/>
        <field name="json" value="n:inner" formatter="shallowJson"/>
        <field name="list" value="n:inners" formatter="shallowJson"/>
        <field name="through" value="n:inners=&gt;n:to=&gt;n:name"/>
        <forEach expr="n:inners"><match field="n:size=2">
          <field name="each_\${n:name}" value="n:size"/></match></forEach></fields>`
      const { create, update, values } = await indexed(fixture, xmlOf(inner))
      const part = (own: Record<string, unknown>): object => {
        return { type: q('part'), fields: fieldsOf(own) }
      }
      await create('x', { name: 'linked' })
      await create('a', {
        inner: part({ name: 'n', path: ['p', 'q'], inner: part({ name: 'deep' }) }),
        inners: [part({ name: 'one', size: 1, to: linkTo('x') }), part({ name: 'two', size: 2 })],
      })
      const shown = async (name: string): Promise<readonly string[]> => {
        return values('lily.id:"USER.a"', name)
      }
      assert.deepEqual([...(await shown('all'))[0].split(' ')].sort(), ['/p/q', 'deep', 'n'])
      assert.deepEqual(await shown('only'), ['n'])
      assert.deepEqual(JSON.parse((await shown('json'))[0]), { name: 'n', path: ['p', 'q'] })
      assert.deepEqual(
        (await shown('list')).map((each) => JSON.parse(each) as object),
        [
          { name: 'one', size: 1, to: 'USER.x.!*' },
          { name: 'two', size: 2 },
        ],
      )
      assert.deepEqual(await shown('each_two'), ['2'])
      assert.deepEqual(await shown('each_one'), [])
      await update('x', { name: 'moved' })
      assert.deepEqual(await shown('through'), ['moved'])
    },
  },
  {
    name: 'the prefixes of a hierarchical facet',
    run: async (fixture) => {
      const formatter = 'hierarchicalFacetPrefix'
      const fields = [
        { name: 'facet', value: q('path'), formatter },
        { name: 'text', value: q('name'), formatter },
      ]
      const { create, values } = await indexed(fixture, { ...everyDoc, fields })
      await create('a', { path: ['foo', 'bar'], name: 'x/y/z' })
      assert.deepEqual(await values('*:*', 'facet'), ['0/foo', '1/foo/bar'])
      assert.deepEqual(await values('*:*', 'text'), ['0/x', '1/x/y', '2/x/y/z'])
    },
  },
]

const ruleCases: readonly RepositoryCase[] = [
  {
    name: 'a configuration that cannot be is refused with its place',
    run: async (fixture) => {
      const { indexes } = await indexed(fixture, xmlOf('<fields/>'))
      const refused = async (xml: string, place: RegExp): Promise<void> => {
        const work = (): Promise<unknown> => indexes.create({ name: 'bad', xml })
        const { message } = await failsWith('ERR_INDEX_CONFIGURATION', work)
        assert.match(message, place)
      }
      const field = (value: string): string => {
        return xmlOf(`<fields>\n<field name="x" value="${value}"/></fields>`)
      }
      for (const value of [
        'n:inner=>-lang=>n:name',
        'n:inner=>master=>n:name',
        'n:inner=>sys:id',
        'n:name=>n:name',
        'n:to=>-lang',
        'n:to=>+lang',
        '+lang,-branch=>n:name',
        'n:missing',
        'm:name',
        'n:to=>=>n:name',
        'sys:missing',
      ]) {
        await refused(field(value), /line 5/)
      }
      await refused(xmlOf('<fields><field name="${x" value="n:name"/></fields>'), /line 4/)
      await refused(xmlOf('<fields><field value="n:name"/></fields>'), /needs 'name'/)
      await refused(xmlOf('<fields><other/></fields>'), /no <other>/)
      await refused(
        xmlOf('<dynamicFields><dynamicField name="${nameMatch}"/></dynamicFields>'),
        /line 4/,
      )
      await refused(xmlOf('<fields>').replace('</indexer>', ''), /line \d/)
      const bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><indexer>&b;</indexer>'
      await refused(bomb, /document type/)
      await refused(`${'<indexer>'.repeat(50)}`, /deep|no <indexer>/)
      await refused('<indexer/>'.padEnd(3 << 20), /characters/)
      const bad: readonly IndexConfiguration[] = [
        { fields: [{ name: 'x', value: q('missing') }] },
        { fields: [{ name: 'x', value: q('name'), formatter: 'none' }] },
        { recordFilter: { includes: [{ instanceOf: q('none'), versionTags: [] }] } },
        { recordFilter: { includes: [{ versionTags: ['none'] }] } },
        { dynamicFields: [{ name: 'x', matchType: 'LIST<' }] },
        { fields: [{ match: { variant: 'a=,b' }, fields: [] }] },
        { other: 1 } as never,
      ]
      for (const configuration of bad) {
        const work = (): Promise<unknown> => indexes.create({ name: 'bad', configuration })
        await failsWith('ERR_INDEX_CONFIGURATION', work)
      }
      assert.deepEqual(
        (await indexes.list()).map(({ name }) => name),
        ['main'],
      )
      const spaces = [{ name: 'x', value: `-my dim=>+my branch=a value=>${q('name')}` }]
      await indexes.create({ name: 'good', configuration: { ...everyDoc, fields: spaces } })
    },
  },
  {
    name: 'which records match',
    run: async (fixture) => {
      const manager = await fixture.manager()
      await createIndexTypes(manager)
      const table = manager.repository().table()
      const second = await manager.repository().createTable('second')
      for (const [id, type, name] of [
        ['a', 'doc', 'x'],
        ['b.lang=en', 'other', 'y'],
        ['c.branch=dev,lang=en', 'bottom', 'x'],
        ['d', 'left', undefined],
      ] as const) {
        const fields = fieldsOf({ size: 1, ...(name === undefined ? {} : { name }) })
        for (const each of [table, second])
          await each.create({ id: `USER.${id}`, type: q(type), fields })
      }
      const indexes = await openIndexes(fixture, manager)
      fixture.closeLater(indexes)
      let count = 0
      const found = async (includes: RecordMatch, excludes?: RecordMatch): Promise<string> => {
        const recordFilter = {
          includes: [{ tables: ['record'], ...includes, versionTags: ['last'] }],
          excludes: excludes === undefined ? [] : [excludes],
        }
        const configuration = { recordFilter, fields: [{ name: 'size', value: q('size') }] }
        const name = `i${count++}`
        const incremental = 'DO_NOT_SUBSCRIBE'
        const index = await indexes.create({ name, configuration, incremental, build: true })
        await index.built()
        const ids = (await findIn(index, '*:*')).map((each) => each[0]).join('')
        await indexes.delete(name)
        return ids
      }
      assert.equal(await found({}), 'abcd', 'no condition')
      assert.equal(await found({ recordType: q('doc') }), 'a')
      assert.equal(await found({ recordType: `{${ns.slice(0, 3)}*}*t*` }), '', 'ends with t*')
      assert.equal(await found({ recordType: '{*}*t' }), 'd')
      assert.equal(await found({ recordType: `{${ns}}bo*` }), 'c')
      assert.equal(await found({ instanceOf: q('top') }), 'cd', 'over a diamond')
      assert.equal(await found({ field: { name: q('name'), equals: 'x' } }), 'ac')
      assert.equal(await found({ field: { name: q('name'), notEquals: 'x' } }), 'bd')
      assert.equal(await found({ variant: '' }), 'ad')
      assert.equal(await found({ variant: 'lang' }), 'b')
      assert.equal(await found({ variant: 'lang=en,*' }), 'bc')
      assert.equal(await found({ variant: 'lang,branch=dev' }), 'c')
      assert.equal(await found({}, { recordType: q('doc') }), 'bcd', 'excludes win')
      assert.equal(await found({ tables: ['second', 'record'] }, { tables: ['record'] }), 'abcd')
      const all = { instanceOf: q('left'), variant: '*', field: { name: q('name'), equals: 'x' } }
      assert.equal(await found(all), 'c')
    },
  },
  {
    name: 'patterns of value types',
    run: async (fixture) => {
      const manager = await fixture.manager()
      const types = [
        'STRING',
        'LIST<STRING>',
        'LIST<LIST<STRING>>',
        `RECORD<{${ns}}t>`,
        'LIST<LONG>',
      ]
      for (const [i, valueType] of types.entries()) {
        await manager.types.createFieldType({ name: q(`x${i}`), valueType })
      }
      const fields = [{ name: q('x0') }, { name: q('x1') }]
      await manager.types.createRecordType({ name: q('t'), fields })
      const inner = { type: q('t'), fields: fieldsOf({ x0: 's' }) }
      const values = { x0: 's', x1: ['s'], x2: [['s']], x3: inner, x4: [1n] }
      const table = manager.repository().table()
      await table.create({ id: 'USER.a', type: q('t'), fields: fieldsOf(values) })
      const indexes = await openIndexes(fixture, manager)
      fixture.closeLater(indexes)
      let count = 0
      const matched = async (matchType: string): Promise<string> => {
        const includes = [{ versionTags: ['last'] }]
        const dynamicFields = [{ matchType, name: '${name}' }]
        const configuration = { recordFilter: { includes }, dynamicFields }
        const name = `i${count++}`
        const incremental = 'DO_NOT_SUBSCRIBE'
        const index = await indexes.create({ name, configuration, incremental, build: true })
        await index.built()
        const { hits } = await index.search({ query: '*:*' })
        await indexes.delete(name)
        const names = hits.flatMap((hit) => Object.keys(hit.fields))
        return names
          .filter((name) => name.startsWith('x'))
          .sort()
          .join('')
      }
      assert.equal(await matched('STRING'), 'x0')
      assert.equal(await matched('STR*'), 'x0')
      assert.equal(await matched('*'), 'x0')
      assert.equal(await matched('LIST<*>'), 'x1x4')
      assert.equal(await matched('LIST(+)'), 'x1x4')
      assert.equal(await matched('LIST<**>'), 'x1x2x4')
      assert.equal(await matched('LIST<++>'), 'x1x2x4')
      assert.equal(await matched('*<**>'), 'x0x1x2x3x4')
      assert.equal(await matched('LIST<LIST<STRING>>,STRING'), 'x0x2')
      assert.equal(await matched('LIST<L*>'), 'x4')
      assert.equal(await matched(`RECORD<{${ns}}*>`), 'x3')
    },
  },
]

async function buildCase(fixture: Fixture): Promise<void> {
  const fields = [{ name: 'name', value: q('name') }]
  const { manager, table, indexes, create, index } = await indexed(
    fixture,
    { ...everyDoc, fields },
    {},
    { incremental: 'DO_NOT_SUBSCRIBE', defaultBuild: { startId: 'USER.b' } },
  )
  for (const id of ['a', 'b', 'c', 'd']) await create(id, { name: id })
  const found = async (): Promise<string> => {
    const lines = await findIn(indexes.index('main'), '*:*')
    return lines.map((each) => each[0]).join('')
  }
  assert.equal(await found(), '')
  await failsWith('ERR_INVALID_ARGUMENT', () => index.waitFor())
  const build = async (buildArguments?: object): Promise<number | undefined> => {
    await indexes.update('main', {
      build: true,
      ...(buildArguments === undefined ? {} : { buildArguments }),
    })
    return (await indexes.index('main').built())?.records
  }
  assert.equal(await build(), 3, 'the default arguments')
  assert.equal(await found(), 'bcd')
  await table.delete('USER.d')
  assert.equal(await build({}), 3, 'all records, once')
  assert.equal(await found(), 'abc', 'what is gone is removed')
  assert.equal(await build(), 2, 'the default arguments again')
  assert.equal(await build({ clear: true, stopId: 'USER.b' }), 1)
  assert.equal(await found(), 'a')
  const args = { buildArguments: {} }
  await failsWith('ERR_INVALID_ARGUMENT', () => indexes.update('main', args))
  const { version, lastBuild } = await indexes.get('main')
  assert.deepEqual(lastBuild?.arguments, { clear: true, stopId: 'USER.b' })
  await indexes.update('main', { version, incremental: 'SUBSCRIBE_AND_CONSUME' })
  await failsWith('ERR_INDEX_STATE', () => indexes.update('main', { version, backend: 1 }))
  await failsWith('ERR_INDEX_EXISTS', () => indexes.create({ name: 'main', configuration: {} }))
  await create('e', { name: 'e' })
  await indexes.index('main').waitFor()
  assert.equal(await found(), 'ae')
  await indexes.update('main', { incremental: 'SUBSCRIBE_DO_NOT_CONSUME' })
  await create('f', { name: 'f' })
  assert.equal(await found(), 'ae')
  await indexes.update('main', { incremental: 'SUBSCRIBE_AND_CONSUME' })
  await indexes.index('main').waitFor()
  assert.equal(await found(), 'aef', 'what was written meanwhile comes')
  await manager.createRepository('guest')
  const configuration = { ...everyDoc, fields }
  await indexes.create({ name: 'guest', repository: 'guest', configuration })
  const hasRows = async (): Promise<boolean> =>
    fixture.database.admin.tableExists('repository.x.guest')
  assert.equal(await hasRows(), true)
  await manager.deleteRepository('guest')
  assert.equal(await hasRows(), false)
  await failsWith('ERR_INDEX_NOT_FOUND', () => indexes.get('guest'))
  await indexes.delete('main')
  await failsWith('ERR_INDEX_NOT_FOUND', () => indexes.delete('main'))
  const again = await indexes.create({ name: 'main', configuration })
  assert.deepEqual(await findIn(again, '*:*'), [], 'a new index is empty')
  assert.deepEqual(await again.storedRows(), [])
}

const managerCases: readonly RepositoryCase[] = [
  {
    name: 'builds: default and own arguments, clearing, states, deletion',
    run: buildCase,
  },
  {
    name: 'an index gets the events of its repository, whatever others do',
    run: async (fixture) => {
      const fields = [{ name: 'name', value: q('name') }]
      const configuration = { ...everyDoc, fields }
      const { manager, indexes, find, create } = await indexed(fixture, configuration)
      const guest = await manager.createRepository('guest')
      const theirs = await indexes.create({ name: 'theirs', repository: 'guest', configuration })
      const type = q('doc')
      await guest.table().create({ id: 'USER.g', type, fields: fieldsOf({ name: 'guest' }) })
      await create('a', { name: 'ours' })
      assert.deepEqual(await find('*:*'), ['a@last'])
      await theirs.waitFor()
      assert.deepEqual(await findIn(theirs, '*:*'), ['g@last'])
    },
  },
]

/** Cases about configurations and builds of indexes. */
export const indexConfigurationCases: readonly RepositoryCase[] = [
  ...formatCases,
  ...ruleCases,
  ...managerCases,
]
