import { open } from 'lmdb'

const db = open({ path: './data' })
const articles = db.openDB('articles')
const byTag = db.openDB('articles-by-tag')

const removeTags = (id) => {
  for (const tag of articles.get(id)?.tags ?? []) byTag.remove([tag, id])
}

const put = (id, article) =>
  db.transaction(() => {
    removeTags(id)
    articles.put(id, article)
    for (const tag of article.tags) byTag.put([tag, id], id)
  })

const remove = (id) =>
  db.transaction(() => {
    removeTags(id)
    articles.remove(id)
  })

function search(tag, ...others) {
  const entries = byTag.getRange({ start: [tag], end: [tag, '\uffff'] })
  const rows = [...entries.map(({ value }) => articles.get(value))]
  const found = rows.filter(({ tags }) => others.every((other) => tags.includes(other)))
  return found.map(({ title }) => title).join()
}

function suggest(letters) {
  const keys = byTag.getKeys({ start: [letters], end: [`${letters}\uffff`] })
  return [...new Set(keys.map(([tag]) => tag))].join()
}

await put('a1', { title: 'Trees', tags: ['data', 'storage'] })
await put('a2', { title: 'Logs', tags: ['data', 'storage', 'streams'] })
await put('a3', { title: 'Dates', tags: ['dates'] })
await put('a4', { title: 'Cooking', tags: ['food', 'dates'] })
console.log(search('data'))
console.log(search('storage', 'streams'))
console.log(suggest('da'))
console.log(byTag.getKeysCount({ start: ['dates'], end: ['dates', '\uffff'] }))
await put('a1', { ...articles.get('a1'), tags: ['food'] })
await remove('a4')
console.log(search('data'), search('food'), suggest('f'))
await db.close()
