/**
 * The embedded index beyond what all search backends have in common.
 *
 * @runs long
 */
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { deferred } from '../../../../src/base/deferred.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { EmbeddedSearch, type SearchDocument } from '../../../../src/systems/repository/index.js'
import { withTableCalls } from '../../../helpers/planted.js'

const code = 'ERR_INVALID_ARGUMENT'

const numbered = (from: number, count: number, word = 'x'): SearchDocument[] =>
  Array.from({ length: count }, (_, i) => {
    const key = String(from + i).padStart(5, '0')
    return { key, fields: { a_t: [`${word} w${(from + i) % 7}`], n_l: [String(from + i)] } }
  })

async function keysOf(search: EmbeddedSearch, query: string): Promise<string[]> {
  const { hits } = await search.search({ query, limit: 10_000, sort: [{ field: 'lily.key' }] })
  return hits.map(({ key }) => key)
}

void t.test('an index has one writer, and keeps its kinds', async (t) => {
  const database = await openMemoryDatabase()
  const search = await EmbeddedSearch.open(database)
  await t.rejects(EmbeddedSearch.open(database), { code, message: /open already/ })
  await t.rejects(EmbeddedSearch.remove(database), { code, message: /is open/ })
  const other = await EmbeddedSearch.open(database, { name: 'other', otherFields: 'refused' })
  await search.update({ documents: numbered(0, 3) })
  await search.commit()
  t.same((await other.search({ query: '*:*' })).total, 0, 'indexes are apart')
  t.match(await other.update({ documents: [{ key: 'a', fields: { unknown: ['x'] } }] }), [
    { key: 'a', reason: /no field unknown/ },
  ])
  await t.rejects(other.search({ query: 'unknown:x' }), { code, message: /position 8.*no field/ })
  await other.close()
  await search.close()
  await search.close()
  await t.rejects(search.commit(), { code: 'ERR_REPOSITORY_CLOSED' })
  const fields = { '*_l': 'literal' } as const
  await t.rejects(EmbeddedSearch.open(database, { fields }), { code, message: /n_l as long/ })
  await EmbeddedSearch.remove(database)
  await EmbeddedSearch.remove(database)
  const fresh = await EmbeddedSearch.open(database, { fields })
  t.same(fresh.status.documents, 0)
  await fresh.close()
  for (const wrong of [
    { fields: { 'a*b': 'text' } },
    { fields: { 'lily.id': 'text' } },
    { fields: { '*_x': 'word' } },
    { name: 'a/b' },
    { cacheBytesMax: -1 },
    { colour: 'red' },
  ]) {
    await t.rejects(EmbeddedSearch.open(database, wrong as object), { code })
  }
})

void t.test('sorts that have no order', async (t) => {
  const search = await EmbeddedSearch.open(await openMemoryDatabase())
  const several = { key: 'm', fields: { n_l: ['1', '2'], a_t: ['y'] } }
  await search.update({ documents: [...numbered(0, 3), several] })
  await search.commit()
  const sort = [{ field: 'n_l' }]
  await t.rejects(search.search({ query: '*:*', sort }), { code, message: /several values in n_l/ })
  t.same((await search.search({ query: 'a_t:x', sort })).total, 3, 'only what is found counts')
  const byText = [{ field: 'a_t' }]
  await t.rejects(search.search({ query: '*:*', sort: byText }), { code, message: /it is text/ })
  const missing = await search.search({ query: '*:*', sort: [{ field: 'z_d', descending: true }] })
  t.same(
    missing.hits.map(({ key }) => key),
    ['00000', '00001', '00002', 'm'],
  )
  await search.close()
})

void t.test('factors without an order are refused', async (t) => {
  const database = await openMemoryDatabase()
  const search = await EmbeddedSearch.open(database, { name: 'factors' })
  await search.update({ documents: [{ key: '1', fields: { a_t: ['x'] } }] })
  await search.commit()
  const nines = '9'.repeat(400)
  const deep = `${'('.repeat(20)}a_t:x^99${')^99'.repeat(20)}`
  for (const query of [`a_t:x^${nines}`, `(a_t:x^0)^${nines}`, deep, `(a_t:x^2)^2e38`]) {
    await t.rejects(search.search({ query }), { code: 'ERR_INVALID_ARGUMENT' }, query.slice(0, 20))
  }
  const { hits } = await search.search({ query: `a_t:x^3${'0'.repeat(38)}` })
  t.ok(Number.isFinite(hits[0].score))
  await search.close()
  await database.close()
})

void t.test('merges', async (t) => {
  const database = await openMemoryDatabase()
  const search = await EmbeddedSearch.open(database)
  for (let i = 0; i < 40; i++) {
    await search.update({ documents: numbered(i * 10, 15), removedKeys: [`000${i}5`] })
    await search.commit()
  }
  const expected = await keysOf(search, 'a_t:x')
  await search.merge()
  t.same(await keysOf(search, 'a_t:x'), expected)
  t.match(search.status, { segments: 1, removedDocuments: 0, documents: expected.length })
  t.same(await keysOf(search, '+a_t:"x w3" +n_l:[100 TO 120]'), ['00101', '00108', '00115'])
  const during = Promise.all([search.search({ query: 'a_t:x' }), search.merge(), search.clear()])
  t.equal((await during)[0].total, expected.length, 'a search keeps what it began with')
  t.same(await keysOf(search, '*:*'), [])
  await search.update({ documents: numbered(0, 5) })
  await search.commit()
  await search.update({ removedKeys: numbered(0, 5).map(({ key }) => key) })
  await search.commit()
  t.match(search.status, { segments: 0, documents: 0 }, 'segments without documents go')
  await search.close()
  const rows = await database.table('repository.search.default').scan().all()
  t.same(
    rows.map(({ row }) => row?.toString()),
    ['commit'],
    'nothing is left over',
  )
})

void t.test('segments that no commit names are removed at the next open', async (t) => {
  const database = await openMemoryDatabase()
  const search = await EmbeddedSearch.open(database, { bufferBytesMax: 1000 })
  await search.update({ documents: numbered(0, 5) })
  await search.commit()
  const table = database.table('repository.search.default')
  const before = (await table.scan().all()).length
  await search.update({ documents: numbered(0, 50, 'lost') })
  t.ok((await table.scan().all()).length > before, 'a segment was written')
  t.same(await keysOf(search, 'a_t:lost'), [])
  await search.close()
  const again = await EmbeddedSearch.open(database)
  t.equal((await table.scan().all()).length, before)
  t.same((await keysOf(again, 'a_t:x')).length, 5)
  await again.update({ documents: numbered(5, 5) })
  await again.commit()
  t.same((await keysOf(again, 'a_t:x')).length, 10)
  await again.close()
})

void t.test('a segment never gets the number of one that was removed', async (t) => {
  const database = await openMemoryDatabase()
  const open = (): Promise<EmbeddedSearch> => EmbeddedSearch.open(database, { bufferBytesMax: 0 })
  for (let round = 0; round < 3; round++) {
    // Segments that no commit names: one is left to the next open, one loses its documents before.
    let search = await open()
    await search.update({ documents: numbered(0, 5, 'lost') })
    await search.close()
    search = await open()
    await search.close()
    search = await open()
    await search.update({ documents: numbered(10, 5, 'gone') })
    await search.update({ removedKeys: numbered(10, 5).map(({ key }) => key) })
    await search.close()
    search = await open()
    await search.update({ documents: numbered(20 + round, 1) })
    await search.commit()
    t.same((await keysOf(search, 'a_t:x')).length, round + 1)
    t.same(await keysOf(search, 'a_t:lost OR a_t:gone'), [])
    await search.close()
  }
})

void t.test('each call of close waits until the index is closed', async (t) => {
  const database = await openMemoryDatabase()
  const search = await EmbeddedSearch.open(database, { bufferBytesMax: 1000 })
  const work = search.update({ documents: numbered(0, 50) })
  const first = search.close()
  const second = search.close()
  const late = t.rejects(search.commit(), { code: 'ERR_REPOSITORY_CLOSED' })
  await second
  const again = await EmbeddedSearch.open(database)
  await again.close()
  await Promise.all([first, late, work.catch(() => undefined)])
})

void t.test('after a failed write the changes are still there', async (t) => {
  const database = await openMemoryDatabase()
  let failures = 0
  const failing = withTableCalls(database, (call, name) => {
    if (failures === 0 || (name !== 'putList' && name !== 'mutateRow')) return call
    failures--
    return () => Promise.reject(new Error('the disk is gone'))
  })
  const search = await EmbeddedSearch.open(failing)
  for (const round of [0, 1]) {
    await search.update({ documents: numbered(round * 10, 10) })
    failures = 1
    await t.rejects(search.commit(), { message: 'the disk is gone' })
    await search.update({ removedKeys: [`000${round}5`] })
    await search.commit()
    t.equal((await keysOf(search, 'a_t:x')).length, (round + 1) * 9)
  }
  await search.close()
})

void t.test('words of scripts without spaces are found by all their pairs', async (t) => {
  const search = await EmbeddedSearch.open(await openMemoryDatabase())
  const texts = {
    capital: '東京都は日本の首都です',
    kyoto: '京都は古い都市です',
    tower: '東京タワーに行く',
    turned: '都京東',
    phone: '我买了新iPhone手机',
    hand: '手工 机器 iPhone',
    thai: 'ภาษาไทย',
  }
  const documents = Object.entries(texts).map(([key, text]) => ({ key, fields: { a_t: [text] } }))
  await search.update({ documents })
  await search.commit()
  const found = async (query: string): Promise<string> => (await keysOf(search, query)).join(' ')
  t.equal(await found('a_t:東京'), 'capital tower', 'not every text with one of the two')
  t.equal(await found('a_t:京都'), 'capital kyoto')
  t.equal(await found('a_t:東京都'), 'capital', 'all pairs, also those of a longer word')
  t.equal(await found('a_t:東京タワー'), 'tower', 'over a change of the script')
  t.equal(await found('a_t:iPhone手机'), 'phone')
  t.equal(await found('a_t:手机'), 'phone')
  t.equal(await found('a_t:都'), 'capital kyoto turned', 'a character of its own')
  t.equal(await found('a_t:"日本の首都"'), 'capital')
  t.equal(await found('a_t:(東京 手机)'), 'capital phone tower', 'two words are two clauses')
  t.equal(await found('a_t:東京 -a_t:タワー'), 'capital')
  t.equal(await found('a_t:ไทย'), 'thai')
  t.equal(await found('a_t:ยาว'), '')
  await search.close()
})

void t.test(
  'the work of a long value and of a repeated word grows with their length',
  async (t) => {
    const search = await EmbeddedSearch.open(await openMemoryDatabase())
    const start = performance.now()
    const digits = { key: 'digits', fields: { n_d: [`${'1'.repeat(300_000)}x`] } }
    const words = { key: 'words', fields: { a_t: [`${'a '.repeat(300_000)}b`] } }
    t.match(await search.update({ documents: [digits, words] }), [{ key: 'digits' }])
    await search.commit()
    t.same(await keysOf(search, 'a_t:"a a b"'), ['words'])
    t.same(await keysOf(search, 'a_t:"a b a"'), [])
    t.ok(performance.now() - start < 20_000, 'with the square of it, it takes minutes')
    await search.close()
  },
)

void t.test('a phrase of many words leaves turns to other work', async (t) => {
  const search = await EmbeddedSearch.open(await openMemoryDatabase())
  t.teardown(() => search.close())
  await search.update({ documents: [{ key: 'a', fields: { a_t: ['a '.repeat(50_000)] } }] })
  await search.commit()
  t.same(await keysOf(search, `a_t:"${'a '.repeat(3)}"`), ['a'])
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  t.same(await keysOf(search, `a_t:"${'a '.repeat(400)}"`), ['a'])
  clearInterval(timer)
  t.ok(turns > 10, `${turns} turns`)

  for (const query of [`a_t:"${'a '.repeat(1025)}"`, `a_t:${'日本'.repeat(513)}`]) {
    await t.rejects(search.search({ query }), { code, message: /more than 1024 words/ })
  }
  const most = `a_t:"${'a '.repeat(1000)}" OR a_t:${'日'.repeat(24)}`
  t.same(await keysOf(search, most), ['a'])
  await t.rejects(search.search({ query: `${most} a_t:b` }), { code })
})

void t.test('a query of many clauses leaves turns to other work', async (t) => {
  const search = await EmbeddedSearch.open(await openMemoryDatabase())
  t.teardown(() => search.close())
  await search.update({ documents: numbered(0, 5000, 'x y') })
  await search.commit()
  const queries = ['"x y w0"', 'x', '(y w1)', '[a TO w0]', 'w*'].map((clause) => {
    return Array.from({ length: 300 }, () => `a_t:${clause}`).join(' ')
  })
  const alone: string[] = []
  for (const query of queries) {
    let turns = 0
    const timer = setInterval(() => turns++, 1)
    const started = performance.now()
    alone.push(JSON.stringify(await search.search({ query, limit: 100 })))
    const whole = performance.now() - started
    clearInterval(timer)
    if (whole > 300) t.ok(turns > 5, `${query.slice(0, 12)}: ${turns} turns in ${whole} ms`)
  }
  const beside = await Promise.all(queries.map((query) => search.search({ query, limit: 100 })))
  t.same(
    beside.map((each) => JSON.stringify(each)),
    alone,
    'searches side by side find and score the same',
  )
})

void t.test('a document with more fields than an index can have is refused', async (t) => {
  const database = await openMemoryDatabase()
  const search = await EmbeddedSearch.open(database)
  const names = Array.from({ length: 65_536 }, (_, at) => `f${at}_s`)
  const fieldsOf = (some: string[]): Record<string, string[]> =>
    Object.fromEntries(some.map((name) => [name, [name]]))
  const most = { key: 'most', fields: fieldsOf(names.slice(1)) }
  const few = { key: 'few', fields: fieldsOf(names.slice(1, 3)) }
  const more = { key: 'more', fields: fieldsOf(names.slice(0, 1)) }
  const all = { key: 'all', fields: fieldsOf(names) }
  t.match(await search.update({ documents: [all, most, more, few] }), [
    { key: 'all', reason: /65536 fields/ },
    { key: 'more' },
  ])
  await search.commit()
  t.match(await search.update({ documents: [more] }), [{ key: 'more' }])
  await search.close()
  const again = await EmbeddedSearch.open(database)
  t.teardown(() => again.close())
  t.same(await keysOf(again, 'f1_s:f1_s'), ['few', 'most'])
  t.same(await keysOf(again, 'f65535_s:f65535_s'), ['most'])
  t.same(await keysOf(again, 'lily.key:few'), ['few'])
})

void t.test('an index closes after its searches, and starts nothing later', async (t) => {
  const database = await openMemoryDatabase()
  const read = deferred<undefined>()
  const begun = deferred<undefined>()
  let isHeld = false
  const slow = withTableCalls(database, (call, name) => (...given) => {
    if (!isHeld || !name.startsWith('get')) return call(...given)
    begun.resolve(undefined)
    return read.promise.then(() => call(...given))
  })
  const plain = await EmbeddedSearch.open(database)
  for (const from of [0, 3]) {
    await plain.update({ documents: numbered(from, 3) })
    await plain.commit()
  }
  await plain.close()
  const search = await EmbeddedSearch.open(slow)
  isHeld = true
  const found = keysOf(search, 'a_t:x')
  await begun.promise
  isHeld = false
  const merges = [search.merge(), search.merge()]
  let isClosed = false
  const closing = search.close().then(() => {
    isClosed = true
  })
  const results = await Promise.allSettled(merges)
  t.match(results[1], { reason: { code: 'ERR_REPOSITORY_CLOSED' } }, 'no merge starts when closed')
  await setTimeout(20)
  t.equal(isClosed, false, 'a search still reads rows')
  read.resolve(undefined)
  t.equal((await found).length, 6)
  await closing
  await EmbeddedSearch.remove(slow)
})
