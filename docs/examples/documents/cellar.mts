/** JSON documents with indexes: by a nested member and the year of birth, and unique by mail. */
import { Database, defineTable } from 'cellardb'

const db = await Database.open('./data')
const people = await defineTable({
  name: 'people',
  columns: { name: 'utf8', mail: 'utf8', born: 'integer', address: 'json' },
  indexes: {
    byCity: [{ column: 'address', path: ['city'] }, 'born'],
    byMail: { key: ['mail'], unique: true },
  },
}).open(db)

/** Names of the people of a city who were born before a year, the oldest first. */
async function inCity(city: string, bornBefore: number): Promise<string> {
  const range = { prefix: { address: city }, stopKey: { born: bornBefore } }
  const { rows } = await people.index('byCity').rows(range)
  return rows.map(({ name }) => name).join()
}

const london = { city: 'London', street: 'Main Street' }
await people.put({ id: 'p1', name: 'Ada', mail: 'ada@x', born: 1815, address: london })
await people.put({ id: 'p2', name: 'Alan', mail: 'alan@x', born: 1912, address: london })
await people.put({
  id: 'p3',
  name: 'Emmy',
  mail: 'emmy@x',
  born: 1882,
  address: { city: 'Erlangen' },
})
await people.put({ id: 'p4', name: 'Tim', mail: 'tim@x', born: 1955, address: london })
console.log(await inCity('London', 1950)) // prints Ada,Alan
await people.put({ id: 'p3', address: london })
await people.delete('p1')
console.log(await inCity('London', 1950)) // prints Emmy,Alan
console.log((await people.index('byMail').get({ mail: 'tim@x' }))?.name) // prints Tim
const other = people.put({ id: 'p5', name: 'Tom', mail: 'tim@x', born: 2000, address: london })
console.log(await other.catch(() => 'this mail is taken')) // prints this mail is taken
await db.close()
