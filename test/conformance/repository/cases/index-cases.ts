/** Documents follow records, versions, variants and links. */
import assert from 'node:assert/strict'
import { Link } from '../../../../src/systems/repository/index.js'
import { fieldsOf, q, type RepositoryCase } from '../case.js'
import { everyDoc, indexed, linkTo, sys, tag } from '../index-fixture.js'

const tagsOf = (...versionTags: string[]): object => ({
  recordFilter: { includes: [{ recordType: q('doc'), versionTags }] },
})

const followingCases: readonly RepositoryCase[] = [
  {
    name: 'a document follows its record',
    run: async (fixture) => {
      const fields = [{ name: 'name', value: q('name') }]
      const { table, find, create, update } = await indexed(fixture, { ...everyDoc, fields })
      await create('a', { name: 'michelle' })
      assert.deepEqual(await find('name:michelle'), ['a@last'])
      await update('a', { name: 'pierre' })
      assert.deepEqual(await find('name:michelle'), [])
      assert.deepEqual(await find('name:pierre'), ['a@last'])
      await table.tag('USER.a', tag('live'), 0)
      assert.deepEqual(await find('*:*'), ['a@last'], 'a tag changes nothing')
      await table.update({
        id: 'USER.a',
        fieldsToDelete: [q('name')],
        fields: fieldsOf({ size: 1 }),
      })
      assert.deepEqual(await find('*:*'), [], 'an empty document is not indexed')
      await update('a', { name: 'again' })
      await table.delete('USER.a')
      assert.deepEqual(await find('*:*'), [])
      await create('a', { name: 'reborn' })
      assert.deepEqual(await find('name:reborn'), ['a@last'])
    },
  },
  {
    name: 'a document for each version tag, of the version that it points to',
    run: async (fixture) => {
      const fields = [{ name: 'body', value: q('body') }]
      const tags = tagsOf('live', 'preview', 'latest')
      const { table, find, create, update } = await indexed(fixture, { ...tags, fields })
      await create('a', { body: 'one' })
      assert.deepEqual(await find('*:*'), [])
      await table.tag('USER.a', tag('live'))
      await update('a', { body: 'two' })
      assert.deepEqual(await find('body:one'), ['a@live'])
      assert.deepEqual(await find('body:two'), [])
      await table.tag('USER.a', tag('live'), 2)
      assert.deepEqual(await find('body:two'), ['a@live'])
      await table.untag('USER.a', tag('live'))
      assert.deepEqual(await find('*:*'), [])
      const tagged = { [tag('live')]: 1n, [tag('preview')]: 2n, [tag('latest')]: 2n }
      await table.update({ id: 'USER.a', fields: tagged })
      assert.deepEqual(await find('body:one'), ['a@live'])
      assert.deepEqual(await find('body:two'), ['a@latest', 'a@preview'])
      assert.deepEqual(await find('lily.version:2'), ['a@latest', 'a@preview'])
      assert.deepEqual(await find('lily.vtag:live AND lily.id:"USER.a"'), ['a@live'])
      await table.tag('USER.a', tag('live'), 7)
      assert.deepEqual(await find('lily.vtag:live'), [], 'there is no version 7')
    },
  },
  {
    name: 'the version 0 shows fields without versions only',
    run: async (fixture) => {
      const fields = [
        { name: 'name', value: q('name') },
        { name: 'body', value: q('body') },
        { name: 'far', value: `${q('to')}=>${q('toV')}=>${q('name')}` },
      ]
      const { table, find, create } = await indexed(fixture, { ...tagsOf('live'), fields })
      await create('c', { name: 'end' })
      await create('b', { name: 'middle', toV: linkTo('c') })
      await create('a', { name: 'start', body: 'hidden', to: linkTo('b') })
      for (const id of ['a', 'b', 'c']) await table.tag(`USER.${id}`, tag('live'), 0)
      assert.deepEqual(await find('*:*'), ['a@live', 'b@live', 'c@live'])
      assert.deepEqual(await find('body:hidden'), [])
      assert.deepEqual(await find('far:end'), [], 'a versioned field is not passed')
      await table.tag('USER.a', tag('live'), 1)
      await table.tag('USER.b', tag('live'), 1)
      assert.deepEqual(await find('far:end'), ['a@live'])
    },
  },
  {
    name: 'many documents show one record and follow it',
    run: async (fixture) => {
      const fields = [{ name: 'linked', value: `${q('to')}=>${q('name')}` }]
      const { index, table, find, create, update } = await indexed(fixture, { ...everyDoc, fields })
      await create('target', { name: 'one', size: 1 })
      const ids = Array.from({ length: 60 }, (_, i) => `d${i}`)
      for (const id of ids) await create(id, { to: linkTo('target') })
      assert.equal((await find('linked:one')).length, 60)
      await update('target', { name: 'two' })
      assert.equal((await find('linked:one')).length, 0)
      assert.equal((await find('linked:two')).length, 60)
      const before = index.counts.dependantsUpdated
      await update('target', { size: 2 })
      await index.waitFor()
      assert.equal(index.counts.dependantsUpdated, before, 'they do not show the size')
      await table.delete('USER.target')
      assert.equal((await find('linked:two')).length, 0)
      await create('target', { name: 'three' })
      assert.equal((await find('linked:three')).length, 60)
    },
  },
  {
    name: 'a version that is made or changed is indexed where tags point to it',
    run: async (fixture) => {
      const fields = [{ name: 'note', value: q('note') }]
      const { table, find, create, update } = await indexed(fixture, {
        ...tagsOf('last', 'live'),
        fields,
      })
      await create('b', { note: 'one' })
      await table.tag('USER.b', tag('live'), 2)
      assert.deepEqual(await find('note:one'), ['b@last'])
      await update('b', { note: 'two' })
      assert.deepEqual(await find('note:two'), ['b@last', 'b@live'])
      await update('b', { note: 'three' })
      await table.update({ id: 'USER.b', fields: fieldsOf({ note: 'new' }) }, { version: 2 })
      assert.deepEqual(await find('note:new'), ['b@live'])
      assert.deepEqual(await find('note:three'), ['b@last'])
    },
  },
  {
    name: 'writes with lily.mq=false are kept away from indexes',
    run: async (fixture) => {
      const fields = [{ name: 'name', value: q('name') }]
      const { table, index, find, create } = await indexed(fixture, { ...everyDoc, fields })
      const attributes = { 'lily.mq': 'false' }
      const silent = { type: q('doc'), fields: fieldsOf({ name: 'silent' }), attributes }
      await table.create({ id: 'USER.a', ...silent })
      await create('b', { name: 'loud' })
      assert.deepEqual(await find('name:loud'), ['b@last'])
      await table.update({ id: 'USER.b', ...silent })
      assert.deepEqual(await find('name:silent'), [])
      assert.deepEqual(await find('name:loud'), ['b@last'])
      await table.delete('USER.b', { attributes })
      assert.deepEqual(await find('name:loud'), ['b@last'])
      assert.equal(index.counts.eventsSkipped, 3)
      await index.reindex('record', ['USER.a', 'USER.b'])
      assert.deepEqual(await find('*:*'), ['a@last'])
    },
  },
  {
    name: 'links lead to other tables, and an index may have several',
    run: async (fixture) => {
      const fields = [
        { name: 'name', value: q('name') },
        { name: 'linked', value: `${q('to')}=>${q('name')}` },
      ]
      const includes = [{ tables: ['record', 'second'], versionTags: ['last'] }]
      const configuration = { recordFilter: { includes }, fields }
      const { manager, find, create } = await indexed(fixture, configuration)
      const second = await manager.repository().createTable('second')
      const third = await manager.repository().createTable('third')
      const type = q('doc')
      await third.create({ id: 'USER.t', type, fields: fieldsOf({ name: 'apart' }) })
      await second.create({ id: 'USER.s', type, fields: fieldsOf({ name: 'near' }) })
      await create('a', { to: linkTo('t', 'third') })
      const near = fieldsOf({ to: Link.parse('USER.s') })
      await second.create({ id: 'USER.b', type, fields: near })
      assert.deepEqual(await find('linked:apart'), ['a@last'])
      assert.deepEqual(await find('linked:near'), ['b@last'], 'in the table of the link')
      assert.deepEqual(await find('name:apart'), [], 'the third table is not indexed')
      await third.update({ id: 'USER.t', fields: fieldsOf({ name: 'moved' }) })
      await second.update({ id: 'USER.s', fields: fieldsOf({ name: 'closer' }) })
      assert.deepEqual(await find('linked:moved'), ['a@last'])
      assert.deepEqual(await find('linked:closer'), ['b@last'])
      await manager.repository().dropTable('third')
      assert.deepEqual(await find('linked:moved'), [], 'what the table had is shown no more')
      await manager.repository().dropTable('second')
      assert.deepEqual(await find('*:*'), [])
    },
  },
]

const variantCases: readonly RepositoryCase[] = [
  {
    name: 'variants up and down',
    run: async (fixture) => {
      const name = q('name')
      const fields = [
        { name: 'master', value: `master=>${name}` },
        { name: 'less_both', value: `-lang,-branch=>${name}` },
        { name: 'less_branch', value: `-branch=>${name}` },
        { name: 'more_branch', value: `+branch=>${name}` },
        { name: 'more_both', value: `+branch,+lang=>${name}` },
        { name: 'more_dev', value: `+branch=dev=>${name}` },
      ]
      const { table, find, create } = await indexed(fixture, { ...everyDoc, fields })
      await create('m', { name: 'root' })
      await create('m.lang=en', { name: 'english' })
      await create('m.branch=dev,lang=en', { name: 'deep' })
      await create('m.branch=main,lang=nl', { name: 'other' })
      assert.deepEqual(await find('master:root'), [
        'm.branch=dev,lang=en@last',
        'm.branch=main,lang=nl@last',
        'm.lang=en@last',
      ])
      const deep = ['m.branch=dev,lang=en@last']
      assert.deepEqual(await find('less_both:root AND less_branch:english'), deep)
      assert.deepEqual(await find('less_branch:english'), deep)
      assert.deepEqual(await find('more_branch:deep'), ['m.lang=en@last'])
      assert.deepEqual(await find('more_branch:other'), [])
      assert.deepEqual(await find('more_both:deep AND more_both:other'), ['m@last'])
      assert.deepEqual(await find('more_dev:deep'), ['m.lang=en@last'])
      assert.deepEqual(await find('more_dev:other'), [])
      await create('m.branch=dev,lang=nl', { name: 'late' })
      assert.deepEqual(await find('more_both:late'), ['m@last'], 'a new variant wakes others')
      await table.update({ id: 'USER.m', fields: fieldsOf({ name: 'trunk' }) })
      assert.equal((await find('master:trunk')).length, 4)
      await table.delete('USER.m.branch=dev,lang=en')
      assert.deepEqual(await find('more_branch:deep'), [])
    },
  },
  {
    name: 'what documents depend on is known record by record and field by field',
    run: async (fixture) => {
      const fields = [
        { name: 'linked', value: `${q('to')}=>${q('name')}` },
        { name: 'far', value: `${q('to')}=>${q('to')}=>${q('body')}` },
        { name: 'version', value: `${q('to')}=>${sys('version')}` },
        { name: 'near', value: `+lang=>${q('name')}` },
      ]
      const { table, index, find, create, update } = await indexed(fixture, {
        ...everyDoc,
        fields,
      })
      const woken = async (write: () => Promise<unknown>): Promise<number> => {
        await index.waitFor()
        const before = index.counts.dependantsUpdated
        await write()
        await index.waitFor()
        return index.counts.dependantsUpdated - before
      }
      assert.equal(await woken(() => create('a', { name: 'none' })), 0)
      await create('x', { name: 'x' })
      await create('y', { body: 'y' })
      await update('a', { to: linkTo('x') })
      assert.equal(await woken(() => update('x', { name: 'xx' })), 1)
      assert.equal(await woken(() => update('x', { size: 1 })), 0)
      assert.equal(await woken(() => update('y', { body: 'y2' })), 0)
      await update('x', { to: linkTo('y') })
      assert.equal(await woken(() => update('y', { body: 'deep' })), 2, 'a by far, x by version')
      assert.deepEqual(await find('far:deep'), ['a@last'])
      await update('a', { to: linkTo('y') })
      assert.equal(await woken(() => update('x', { name: 'x3' })), 0, 'no longer shown')
      const misses = ['b.lang=en', 'a.lang=en,branch=x', 'a.branch=x', 'a.Lang=en', 'ab.lang=en']
      for (const id of [...misses, 'aa', 'a.land=en']) {
        assert.equal(await woken(() => create(id, { name: 'miss' })), 0, id)
      }
      assert.equal(await woken(() => create('a.lang=en', { name: 'hit' })), 1)
      assert.deepEqual(await find('near:hit'), ['a@last'])
      await table.delete('USER.a')
      assert.equal(await woken(() => update('a.lang=en', { name: 'alone' })), 0)
    },
  },
]

/** Cases about documents that follow records. */
export const indexCases: readonly RepositoryCase[] = [...followingCases, ...variantCases]
