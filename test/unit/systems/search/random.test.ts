/**
 * Random changes and queries against a model that looks at every document.
 *
 * @runs long
 */
import t from 'tap'
import { seededRandom } from '../../../../src/base/random.js'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  EmbeddedSearch,
  reservedFields,
  type SearchDocument,
} from '../../../../src/systems/repository/index.js'
import { lengthOf } from '../../../helpers/length.js'

const words = ['ant', 'bee', 'cat', 'dog', 'eel', 'fox', 'gnu', 'hen', 'anti', 'catch']

/** A query, and whether a document matches it. */
interface Asked {
  readonly text: string
  readonly holds: (document: SearchDocument) => boolean
}

t.setTimeout(1_800_000)

void t.test('random documents, changes and queries', async (t) => {
  const seed = Number(process.env['CELLAR_SEED'] ?? 1616)
  t.comment(`seed ${seed}`)
  const random = seededRandom(seed)
  const pick = (count: number): number => Math.floor(random() * count)
  const word = (): string => words[Math.floor(random() * random() * words.length)]
  const text = (): string => Array.from({ length: pick(6) }, word).join(' ')
  const fileSystem = new MemoryFileSystem()
  const open = (): Promise<Database> =>
    Database.open('/database', { fileSystem, executor: 'inline', compactionEnabled: false })
  const options = { bufferBytesMax: 3000, cacheBytesMax: 100_000 }
  let database = await open()
  let search = await EmbeddedSearch.open(database, options)
  let working = new Map<string, SearchDocument>()
  let committed = new Map<string, SearchDocument>()

  const document = (): SearchDocument => {
    const id = String(pick(40))
    const table = random() < 0.8 ? 'record' : 'other'
    const tag = random() < 0.7 ? 'last' : 'live'
    const fields: Record<string, string[]> = {
      [reservedFields.id]: [id],
      [reservedFields.table]: [table],
    }
    if (random() < 0.8) fields['a_t'] = [text()]
    if (random() < 0.6) fields['b_t_mv'] = Array.from({ length: pick(4) }, text)
    if (random() < 0.6) fields['n_l'] = [String(pick(20) - 10)]
    if (random() < 0.6) fields['n_l_mv'] = [String(pick(20)), String(pick(20))]
    if (random() < 0.6) fields['s_s'] = [word()]
    return { key: `${table}-${id}-${tag}`, fields }
  }
  const valuesOf = ({ fields }: SearchDocument, field: string): readonly string[] => {
    return fields[field] ?? []
  }
  const wordsIn = (found: SearchDocument, field: string): string[] => {
    return valuesOf(found, field).flatMap((value) => value.split(' ').filter((w) => w !== ''))
  }

  const leaf = (): Asked => {
    const field = random() < 0.5 ? 'a_t' : 'b_t_mv'
    const one = word()
    switch (pick(7)) {
      case 0:
        return { text: '*:*', holds: () => true }
      case 1: {
        const phrase = Array.from({ length: 2 + pick(2) }, word).join(' ')
        const holds = (found: SearchDocument): boolean =>
          valuesOf(found, field).some((value) => ` ${value} `.includes(` ${phrase} `))
        return { text: `${field}:"${phrase}"`, holds }
      }
      case 2: {
        const number = random() < 0.5 ? 'n_l' : 'n_l_mv'
        const low = pick(20) - 10
        const high = low + pick(10)
        const holds = (found: SearchDocument): boolean =>
          valuesOf(found, number).some((value) => Number(value) >= low && Number(value) < high)
        return { text: `${number}:[${low} TO ${high}}`, holds }
      }
      case 3:
        return { text: `s_s:${one}`, holds: (found) => valuesOf(found, 's_s').includes(one) }
      case 4: {
        const prefix = one.slice(0, 1 + pick(3))
        const holds = (found: SearchDocument): boolean =>
          wordsIn(found, field).some((w) => w.startsWith(prefix))
        return { text: `${field}:${prefix}*`, holds }
      }
      case 5:
        return { text: `${field}:*`, holds: (found) => wordsIn(found, field).length > 0 }
      default:
        return { text: `${field}:${one}`, holds: (found) => wordsIn(found, field).includes(one) }
    }
  }
  const query = (depth: number): Asked => {
    if (depth === 0 || random() < 0.3) return leaf()
    const parts = Array.from({ length: 1 + pick(4) }, () => ({
      sign: ['', '', '+', '-'][pick(4)],
      asked: query(depth - 1),
    }))
    const inner = parts.map(({ sign, asked }) => `${sign}${asked.text}`).join(' ')
    const of = (sign: string): Asked[] => {
      return parts.filter((part) => part.sign === sign).map((part) => part.asked)
    }
    const holds = (found: SearchDocument): boolean => {
      const matches = (asked: Asked): boolean => asked.holds(found)
      if (of('-').some(matches) || !of('+').every(matches)) return false
      return of('+').length > 0 || of('').length === 0 || of('').some(matches)
    }
    return { text: `(${inner})`, holds }
  }

  const rounds = lengthOf('CELLAR_SEARCH_ROUNDS', 60, 200)
  for (let round = 0; round < rounds; round++) {
    const documents = Array.from({ length: pick(random() < 0.1 ? 60 : 8) }, document)
    const removedKeys = Array.from({ length: pick(3) }, () => document().key)
    const removed = random() < 0.3 ? [{ table: 'record', id: String(pick(40)) }] : []
    await search.update({ documents, removedKeys, removedRecords: removed })
    for (const key of removedKeys) working.delete(key)
    for (const { table, id } of removed) {
      for (const tag of ['last', 'live']) working.delete(`${table}-${id}-${tag}`)
    }
    for (const each of documents) working.set(each.key, each)
    if (random() < 0.7) {
      await search.commit()
      committed = new Map(working)
    }
    if (random() < 0.03) await search.merge()
    if (random() < 0.02) {
      await search.clear()
      working = new Map()
      committed = new Map()
    }
    if (random() < 0.05) {
      await search.close()
      if (random() < 0.5) {
        await database.close()
        database = await open()
      }
      search = await EmbeddedSearch.open(database, options)
      working = new Map(committed)
    }
    for (let i = 0; i < 4; i++) {
      const asked = query(2)
      const filter = random() < 0.3 ? query(1) : undefined
      const expected = [...committed.values()]
        .filter((each) => asked.holds(each) && filter?.holds(each) !== false)
        .sort((a, b) => (a.key < b.key ? -1 : 1))
      const filters = filter === undefined ? [] : [filter.text]
      const bySort = { query: asked.text, filters, sort: [{ field: 'lily.key' }], limit: 1000 }
      const { total, hits } = await search.search(bySort)
      const told = `round ${round}: ${asked.text} ${filters.join(' ')}`
      const given = hits.map(({ key, fields }) => ({ key, fields }))
      if (total !== expected.length || JSON.stringify(given) !== JSON.stringify(expected)) {
        t.same(given, expected, told)
        return
      }
      const { hits: byScore } = await search.search({ query: asked.text, filters, limit: 1000 })
      const isOrdered = byScore.every((hit, at) => {
        if (at === 0) return true
        const { score, key } = byScore[at - 1]
        return score > hit.score || (score === hit.score && key < hit.key)
      })
      if (!isOrdered || byScore.length !== total) {
        t.fail(`order by score: ${told}`)
        return
      }
      const offset = pick(total + 1)
      const page = await search.search({ query: asked.text, filters, offset, limit: 3 })
      const pageKeys = byScore.slice(offset, offset + 3).map(({ key }) => key)
      if (page.hits.map(({ key }) => key).join() !== pageKeys.join()) {
        t.fail(`page at ${offset}: ${told}`)
        return
      }
    }
  }
  await search.close()
  t.equal(search.status.cacheBytes <= options.cacheBytesMax, true, 'the cache keeps its limit')
  await database.close()
})
