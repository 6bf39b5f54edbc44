/** Subscriptions to events, and the link index. */
import assert from 'node:assert/strict'
import {
  Link,
  RecordId,
  type FoundLink,
  type RecordEvent,
  type RecordTable,
  type RepositoryManager,
  type Subscription,
} from '../../../../src/systems/repository/index.js'
import { failsWith } from '../../../suites/kit.js'
import { createDefault, fieldsOf, q, type Fixture, type RepositoryCase } from '../case.js'

interface Linked {
  readonly manager: RepositoryManager
  readonly table: RecordTable
  readonly following: Subscription
}

const live = '{org.lilyproject.vtag}live'

async function linked(fixture: Fixture): Promise<Linked> {
  const manager = await fixture.withTypes()
  const { types } = manager
  for (const [local, valueType, scope] of [
    ['to', 'LINK', 'NON_VERSIONED'],
    ['many', 'LIST<LINK>', 'VERSIONED'],
    ['inner', 'RECORD', 'NON_VERSIONED'],
  ] as const) {
    await types.createFieldType({ name: q(local), valueType, scope })
  }
  await types.createRecordType({ name: q('links'), fields: [{ name: q('to') }] })
  await types.createFieldType({ name: live, valueType: 'LONG' })
  const table = manager.repository().table()
  const following = await manager.followLinks({ retryMilliseconds: 0 })
  return { manager, table, following }
}

const textsOf = (links: readonly FoundLink[]): string[] => links.map(({ id }) => id.text).sort()

const to = (id: string): Link => Link.to(id)

async function create(table: RecordTable, id: string, values: object): Promise<void> {
  const fields = fieldsOf(values as Record<string, unknown>)
  await table.create({ id, type: q('links'), fields })
}

const linkCases: readonly RepositoryCase[] = [
  {
    name: 'links both ways, across tables, for short and long ids',
    run: async (fixture) => {
      const { manager, table, following } = await linked(fixture)
      const other = await manager.repository().createTable('other')
      for (const long of ['', '-of-more-than-ten-bytes']) {
        const [A, B, C, one, two] = ['A', 'B', 'C', '1', '2'].map((id) => `USER.${id}${long}`)
        await create(table, A, { many: [to(one), to(two)] })
        await create(table, B, { many: [to(one), to(two)] })
        await create(other, C, { many: [Link.to(`${one}-x`, 'record')] })
        await following.caughtUp()
        assert.deepEqual(textsOf(await manager.links.linksOf(table, A)), [one, two])
        assert.deepEqual(textsOf(await manager.links.referrers(table, one)), [A, B])
        const [found] = await manager.links.referrers(table, `${one}-x`)
        assert.deepEqual([found.table, found.id.text, found.field], ['other', C, q('many')])
        const more = fieldsOf({ many: [to(one), to(two), to(`${two}a`)] })
        await table.update({ id: A, fields: more })
        await following.caughtUp()
        assert.equal((await manager.links.linksOf(table, A)).length, 3)
        assert.deepEqual(textsOf(await manager.links.referrers(table, `${two}a`)), [A])
        const ofField = await manager.links.referrers(table, one, { field: q('to') })
        assert.deepEqual(ofField, [])
      }
    },
  },
  {
    name: 'a record without versions has its links under last',
    run: async (fixture) => {
      const { manager, table, following } = await linked(fixture)
      await create(table, 'USER.a', { to: to('USER.x') })
      await following.caughtUp()
      assert.deepEqual(textsOf(await manager.links.referrers(table, 'USER.x')), ['USER.a'])
      const fields = fieldsOf({ many: [to('USER.y'), Link.parse('.')] })
      await table.update({ id: 'USER.a', fields })
      await following.caughtUp()
      const links = await manager.links.linksOf(table, 'USER.a', { tag: 'last' })
      assert.deepEqual(textsOf(links), ['USER.a', 'USER.x', 'USER.y'])
      const variant = RecordId.parse('USER.a.lang=en')
      await create(table, variant.text, { to: Link.parse('USER.x') })
      await following.caughtUp()
      assert.deepEqual(textsOf(await manager.links.linksOf(table, variant)), ['USER.x.lang=en'])
    },
  },
  {
    name: 'links follow version tags',
    run: async (fixture) => {
      const { manager, table, following } = await linked(fixture)
      const id = 'USER.a'
      await create(table, id, { many: [to('USER.1')] })
      await table.tag(id, live)
      await table.update({ id, fields: fieldsOf({ many: [to('USER.2')] }) })
      const links = async (tag: string): Promise<string[]> => {
        await following.caughtUp()
        return textsOf(await manager.links.linksOf(table, id, { tag }))
      }
      assert.deepEqual([await links('live'), await links('last')], [['USER.1'], ['USER.2']])
      await table.tag(id, live, 2)
      assert.deepEqual(await links('live'), ['USER.2'])
      assert.deepEqual(await manager.links.referrers(table, 'USER.1', { tag: 'live' }), [])
      await table.tag(id, live, 9)
      assert.deepEqual(await links('live'), [], 'the version does not exist')
      await table.tag(id, live, 1)
      assert.deepEqual(await links('live'), ['USER.1'])
      await table.untag(id, live)
      assert.deepEqual([await links('live'), await links('last')], [[], ['USER.2']])
      await table.delete(id)
      assert.deepEqual(await links('last'), [])
      assert.deepEqual(await manager.links.rows(), [])
    },
  },
  {
    name: 'a link inside a record is followed as one of the field',
    run: async (fixture) => {
      const { manager, table, following } = await linked(fixture)
      const inner = (id: string): object => {
        return { inner: { type: q('links'), fields: fieldsOf({ to: to(id) }) } }
      }
      await create(table, 'USER.a', inner('USER.x'))
      const fields = fieldsOf(inner('USER.y') as Record<string, unknown>)
      await table.update({ id: 'USER.a', fields })
      await following.caughtUp()
      assert.deepEqual(await manager.links.referrers(table, 'USER.x'), [])
      const [found] = await manager.links.referrers(table, 'USER.y', { field: q('inner') })
      assert.equal(found.field, q('inner'))
    },
  },
]

async function subscribed(
  manager: RepositoryManager,
  handler: (event: RecordEvent) => void | Promise<void>,
  options: object = {},
): Promise<Subscription> {
  return manager.subscribe('mine', handler, { retryMilliseconds: 0, ...options })
}

const subscriptionCases: readonly RepositoryCase[] = [
  {
    name: 'one write of two records is two events, with one sequence',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      const table = manager.repository().table()
      const events: RecordEvent[] = []
      const own = await subscribed(manager, (event) => void events.push(event))
      await own.caughtUp()
      const fields = fieldsOf({ f1: 'x', f2: 1 })
      const [{ sequence }] = await table.batch([
        { create: { id: 'USER.a', type: q('RT1'), fields, attributes: { by: 'me' } } },
        { create: { id: 'USER.b', type: q('RT1'), fields } },
      ])
      await table.update({ id: 'USER.a', fields: fieldsOf({ f2: 2 }) })
      await table.update({ id: 'USER.a', fields: fieldsOf({ f2: 2 }) })
      await table.delete('USER.b')
      await own.caughtUp()
      const told = events.map(({ event }) => `${event.type} ${event.id} ${event.versionCreated}`)
      assert.deepEqual(told, [
        'record-created USER.a 1',
        'record-created USER.b 1',
        'record-updated USER.a 2',
        'record-deleted USER.b undefined',
      ])
      assert.deepEqual([events[0].sequence, events[1].sequence], [sequence, sequence])
      assert.deepEqual(events[0].event.attributes, { by: 'me' })
      const f2 = manager.types.getFieldType(q('f2')).id
      assert.deepEqual(events[2].event.updatedFields, [f2])
      assert.ok(events.every(({ isReplay }) => !isReplay))
    },
  },
  {
    name: 'lanes run side by side and keep the order of each record',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      const table = manager.repository().table()
      const seen = new Map<string, number[]>()
      let running = 0
      let most = 0
      const own = await subscribed(
        manager,
        async ({ event, sequence }) => {
          most = Math.max(most, ++running)
          for (let turn = 0; turn < 20; turn++) await Promise.resolve()
          seen.set(event.id, [...(seen.get(event.id) ?? []), sequence])
          running--
        },
        { lanes: 4 },
      )
      const ids = Array.from({ length: 10 }, (_, i) => `USER.${i}`)
      for (const id of ids) await createDefault(table, id)
      await Promise.all(
        ids.map(async (id) => {
          for (let f2 = 0; f2 < 5; f2++) await table.update({ id, fields: fieldsOf({ f2 }) })
        }),
      )
      await own.caughtUp()
      for (const id of ids) {
        const sequences = seen.get(id)!
        assert.deepEqual(
          sequences,
          [...sequences].sort((a, b) => a - b),
        )
        assert.equal(sequences.length, 6)
      }
      assert.ok(most <= 4)
    },
  },
  {
    name: 'only the event column of a record table makes events',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      const table = manager.repository().table()
      const { sequence } = await createDefault(table, 'USER.a')
      const { database } = fixture
      const families = { families: { r: {}, x: {} } }
      await database.createTable('foreign', families)
      const events: RecordEvent[] = []
      const own = await subscribed(manager, (event) => void events.push(event), { from: 'now' })
      const cells = { 'r:e': '{"type":"record-created","id":"USER.z"}' }
      await database.table('foreign').put({ row: '\0a', cells })
      await database.table('repository.links').put({ row: '\0a', cells: { 'l:e': 'no JSON' } })
      const record = database.table('repository.r.default..record')
      await record.put({ row: '\0a', cells: { 'r:ee': 'no JSON', 'r:': 'no JSON' } })
      await own.caughtUp()
      assert.equal(events.length, 0)
      await table.update({ id: 'USER.a', fields: fieldsOf({ f1: 'now' }) })
      await own.caughtUp()
      assert.deepEqual(
        events.map(({ event }) => event.id),
        ['USER.a'],
      )
      assert.ok(events[0].sequence > sequence!)
    },
  },
  {
    name: 'an event is published for a record that exists, and for no other',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      const table = manager.repository().table()
      await createDefault(table, 'USER.a')
      await createDefault(table, 'USER.b')
      await table.delete('USER.b')
      const events: RecordEvent[] = []
      const own = await subscribed(manager, (event) => void events.push(event), { from: 'now' })
      const before = await table.read('USER.a')
      const sequence = await table.publish('USER.a', { why: 'again' })
      assert.equal(await table.publish('USER.b'), undefined, 'it was deleted')
      assert.equal(await table.publish('USER.c'), undefined, 'there is none')
      await own.caughtUp()
      const [told, ...more] = events
      assert.deepEqual(more, [])
      assert.equal(told.sequence, sequence)
      assert.deepEqual(
        [told.event.type, told.event.id, told.event.updatedFields, told.event.attributes],
        ['record-index', 'USER.a', [], { why: 'again' }],
      )
      assert.deepEqual(await table.read('USER.a'), before, 'the record is as it was')
      assert.equal(await table.exists('USER.c'), false)
    },
  },
  {
    name: 'a failed event comes again, and a stopped subscription goes on where it was',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      const table = manager.repository().table()
      const seen: string[] = []
      let failures = 2
      const own = await subscribed(manager, ({ event }) => {
        if (event.id === 'USER.b' && failures-- > 0) throw new Error('not now')
        seen.push(event.id)
      })
      for (const id of ['USER.a', 'USER.b', 'USER.c']) await createDefault(table, id)
      await own.caughtUp()
      assert.deepEqual(seen, ['USER.a', 'USER.b', 'USER.c'])
      await failsWith('ERR_INVALID_ARGUMENT', () => subscribed(manager, () => undefined))
      await own.close()
      await createDefault(table, 'USER.d')
      await fixture.reopen()
      const again = await fixture.manager()
      const later: string[] = []
      const next = await subscribed(again, ({ event }) => void later.push(event.id))
      await next.caughtUp()
      assert.deepEqual(later.slice(-1), ['USER.d'], 'what was missed comes')
      assert.equal(next.lag, 0)
    },
  },
  {
    name: 'an event that fails for good is set aside, and can be tried again',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      const table = manager.repository().table()
      const seen: string[] = []
      let isBroken = true
      const own = await subscribed(
        manager,
        ({ event }) => {
          if (event.id === 'USER.b' && isBroken) throw new Error('never')
          seen.push(event.id)
        },
        { retriesMax: 2 },
      )
      for (const id of ['USER.a', 'USER.b', 'USER.c']) await createDefault(table, id)
      await own.caughtUp()
      assert.deepEqual(seen, ['USER.a', 'USER.c'])
      const [letter] = await own.deadLetters()
      assert.deepEqual([letter.event.id, letter.error], ['USER.b', 'never'])
      assert.equal(await own.retryDeadLetters(), 0)
      isBroken = false
      assert.equal(await own.retryDeadLetters(), 1)
      assert.deepEqual(await own.deadLetters(), [])
      assert.deepEqual(seen, ['USER.a', 'USER.c', 'USER.b'])
    },
  },
  {
    name: 'a new subscription is told of what exists, unless it begins now',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      const table = manager.repository().table()
      await createDefault(table, 'USER.a')
      await createDefault(table, 'USER.b')
      await table.delete('USER.b')
      const replayed: string[] = []
      const first = await subscribed(manager, ({ event, isReplay }) => {
        replayed.push(`${event.type} ${event.id} ${isReplay}`)
      })
      await first.caughtUp()
      assert.deepEqual(replayed, ['record-created USER.a true', 'record-deleted USER.b true'])
      const later: string[] = []
      const second = await manager.subscribe('other', ({ event }) => void later.push(event.id), {
        from: 'now',
      })
      await createDefault(table, 'USER.c')
      await second.caughtUp()
      assert.deepEqual(later, ['USER.c'])
      const bad = { from: 'then' } as never
      await failsWith('ERR_INVALID_ARGUMENT', () => manager.subscribe('x', () => undefined, bad))
      await failsWith('ERR_INVALID_ARGUMENT', () => manager.subscribe('a/b', () => undefined))
    },
  },
  {
    name: 'the links of a dropped table go with it',
    run: async (fixture) => {
      const { manager, following } = await linked(fixture)
      const table = await manager.repository().createTable('gone')
      await create(table, 'USER.a', { to: Link.to('USER.x', 'record') })
      await following.caughtUp()
      assert.equal((await manager.links.rows()).length, 2)
      await manager.repository().dropTable('gone')
      assert.deepEqual(await manager.links.rows(), [])
    },
  },
]

/** Cases about events and links. */
export const eventCases: readonly RepositoryCase[] = [...linkCases, ...subscriptionCases]
