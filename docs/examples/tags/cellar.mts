/** Articles with tags: search by tags, and the tags that begin with some letters. */
import { Database, defineTable, encodings } from 'cellardb'

const db = await Database.open('./data')
const articles = await defineTable({
  name: 'articles',
  columns: { title: 'utf8', tags: encodings.json<string[]>() },
  indexes: { byTag: ['tags'] },
}).open(db)
const byTag = articles.index('byTag')

/** Titles of the articles that have all of the tags. */
async function search(tag: string, ...others: string[]): Promise<string> {
  const { rows } = await byTag.rows({ prefix: { tags: tag } })
  const found = rows.filter(({ tags }) => others.every((other) => tags!.includes(other)))
  return found.map(({ title }) => title).join()
}

async function suggest(letters: string): Promise<string> {
  const { rows } = await byTag.entries({ startsWith: { tags: letters } })
  return [...new Set(rows.map(({ key }) => key.tags))].join()
}

await articles.put({ id: 'a1', title: 'Trees', tags: ['data', 'storage'] })
await articles.put({ id: 'a2', title: 'Logs', tags: ['data', 'storage', 'streams'] })
await articles.put({ id: 'a3', title: 'Dates', tags: ['dates'] })
await articles.put({ id: 'a4', title: 'Cooking', tags: ['food', 'dates'] })
console.log(await search('data')) // prints Trees,Logs
console.log(await search('storage', 'streams')) // prints Logs
console.log(await suggest('da')) // prints data,dates
console.log(await byTag.count({ prefix: { tags: 'dates' } })) // prints 2
await articles.put({ id: 'a1', tags: ['food'] })
await articles.delete('a4')
console.log(await search('data'), await search('food'), await suggest('f')) // prints Logs Trees food
await db.close()
