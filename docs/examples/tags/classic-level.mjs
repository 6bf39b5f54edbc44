import { ClassicLevel } from 'classic-level'

const db = new ClassicLevel('./data')
const articles = db.sublevel('articles', { valueEncoding: 'json' })
const byTag = db.sublevel('articles-by-tag')

/** Calls follow each other: two of them could read the same state. */
let last = Promise.resolve()
const alone = (work) => (last = last.then(work))

async function removals(id) {
  const { tags = [] } = (await articles.get(id)) ?? {}
  return tags.map((tag) => ({ type: 'del', sublevel: byTag, key: `${tag}!${id}` }))
}

const put = (id, article) =>
  alone(async () => {
    const entries = article.tags.map((tag) => {
      return { type: 'put', sublevel: byTag, key: `${tag}!${id}`, value: id }
    })
    const row = { type: 'put', sublevel: articles, key: id, value: article }
    await db.batch([...(await removals(id)), row, ...entries])
  })

const remove = (id) =>
  alone(async () => {
    await db.batch([...(await removals(id)), { type: 'del', sublevel: articles, key: id }])
  })

async function search(tag, ...others) {
  const rows = await articles.getMany(await byTag.values({ gt: `${tag}!`, lt: `${tag}"` }).all())
  const found = rows.filter(({ tags }) => others.every((other) => tags.includes(other)))
  return found.map(({ title }) => title).join()
}

async function suggest(letters) {
  const keys = await byTag.keys({ gte: letters, lt: `${letters}\uffff` }).all()
  return [...new Set(keys.map((key) => key.split('!')[0]))].join()
}

await put('a1', { title: 'Trees', tags: ['data', 'storage'] })
await put('a2', { title: 'Logs', tags: ['data', 'storage', 'streams'] })
await put('a3', { title: 'Dates', tags: ['dates'] })
await put('a4', { title: 'Cooking', tags: ['food', 'dates'] })
console.log(await search('data'))
console.log(await search('storage', 'streams'))
console.log(await suggest('da'))
console.log((await byTag.keys({ gt: 'dates!', lt: 'dates"' }).all()).length)
await put('a1', { ...(await articles.get('a1')), tags: ['food'] })
await remove('a4')
console.log(await search('data'), await search('food'), await suggest('f'))
await db.close()
