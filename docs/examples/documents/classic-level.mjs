import { ClassicLevel } from 'classic-level'

const db = new ClassicLevel('./data')
const people = db.sublevel('people', { valueEncoding: 'json' })
const byCity = db.sublevel('people-by-city')
const byMail = db.sublevel('people-by-mail')

/** Calls follow each other: two of them could read the same state. */
let last = Promise.resolve()
const alone = (work) => (last = last.then(work, work))

const cityKey = (id, { address, born }) => `${address.city}!${born}!${id}`

async function removals(id) {
  const before = await people.get(id)
  if (before === undefined) return []
  return [
    { type: 'del', sublevel: byCity, key: cityKey(id, before) },
    { type: 'del', sublevel: byMail, key: before.mail },
  ]
}

const put = (id, person) =>
  alone(async () => {
    if (((await byMail.get(person.mail)) ?? id) !== id) throw new Error('this mail is taken')
    await db.batch([
      ...(await removals(id)),
      { type: 'put', sublevel: people, key: id, value: person },
      { type: 'put', sublevel: byCity, key: cityKey(id, person), value: id },
      { type: 'put', sublevel: byMail, key: person.mail, value: id },
    ])
  })

const remove = (id) =>
  alone(async () => {
    await db.batch([...(await removals(id)), { type: 'del', sublevel: people, key: id }])
  })

async function inCity(city, bornBefore) {
  const ids = await byCity.values({ gt: `${city}!`, lt: `${city}!${bornBefore}` }).all()
  const rows = await people.getMany(ids)
  return rows.map(({ name }) => name).join()
}

const london = { city: 'London', street: 'Main Street' }
const emmy = { name: 'Emmy', mail: 'emmy@x', born: 1882, address: { city: 'Erlangen' } }
await put('p1', { name: 'Ada', mail: 'ada@x', born: 1815, address: london })
await put('p2', { name: 'Alan', mail: 'alan@x', born: 1912, address: london })
await put('p3', emmy)
await put('p4', { name: 'Tim', mail: 'tim@x', born: 1955, address: london })
console.log(await inCity('London', 1950))
await put('p3', { ...emmy, address: london })
await remove('p1')
console.log(await inCity('London', 1950))
console.log((await people.get(await byMail.get('tim@x')))?.name)
const other = put('p5', { name: 'Tom', mail: 'tim@x', born: 2000, address: london })
console.log(await other.catch(() => 'this mail is taken'))
await db.close()
