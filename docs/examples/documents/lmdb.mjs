import { open } from 'lmdb'

const db = open({ path: './data' })
const people = db.openDB('people')
const byCity = db.openDB('people-by-city')
const byMail = db.openDB('people-by-mail')

const removeEntries = (id) => {
  const before = people.get(id)
  if (before === undefined) return
  byCity.remove([before.address.city, before.born, id])
  byMail.remove(before.mail)
}

const put = (id, person) =>
  db.transaction(() => {
    if ((byMail.get(person.mail) ?? id) !== id) throw new Error('this mail is taken')
    removeEntries(id)
    people.put(id, person)
    byCity.put([person.address.city, person.born, id], id)
    byMail.put(person.mail, id)
  })

const remove = (id) =>
  db.transaction(() => {
    removeEntries(id)
    people.remove(id)
  })

function inCity(city, bornBefore) {
  const entries = byCity.getRange({ start: [city], end: [city, bornBefore] })
  return [...entries.map(({ value }) => people.get(value).name)].join()
}

const london = { city: 'London', street: 'Main Street' }
const emmy = { name: 'Emmy', mail: 'emmy@x', born: 1882, address: { city: 'Erlangen' } }
await put('p1', { name: 'Ada', mail: 'ada@x', born: 1815, address: london })
await put('p2', { name: 'Alan', mail: 'alan@x', born: 1912, address: london })
await put('p3', emmy)
await put('p4', { name: 'Tim', mail: 'tim@x', born: 1955, address: london })
console.log(inCity('London', 1950))
await put('p3', { ...emmy, address: london })
await remove('p1')
console.log(inCity('London', 1950))
console.log(people.get(byMail.get('tim@x'))?.name)
const other = put('p5', { name: 'Tom', mail: 'tim@x', born: 2000, address: london })
console.log(await other.catch(() => 'this mail is taken'))
await db.close()
