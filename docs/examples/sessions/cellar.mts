/**
 * Sessions of a web application. A session ends by itself half an hour after its last use; all
 * sessions of a user can be ended at once.
 */
import { randomUUID } from 'node:crypto'
import { Database, defineTable } from 'cellardb'

const minute = 60_000
const db = await Database.open('./data')
const sessions = await defineTable({
  name: 'sessions',
  key: { user: 'utf8', token: 'utf8' },
  columns: { address: 'utf8' },
  families: { f: { ttlMilliseconds: 30 * minute } },
}).open(db)

/** Begins or prolongs a session. */
async function use(user: string, token: string, address: string, at = Date.now()): Promise<string> {
  await sessions.put({ user, token, address }, { timestamp: at })
  return token
}

const phone = await use('ada', randomUUID(), 'phone')
await use('ada', randomUUID(), 'laptop', Date.now() - 29 * minute)
await use('ada', randomUUID(), 'library', Date.now() - 31 * minute)
await use('bob', randomUUID(), 'office')
console.log((await sessions.get({ user: 'ada', token: phone }))?.address) // prints phone
console.log(await sessions.get({ user: 'ada', token: 'guessed' })) // prints undefined
console.log(await sessions.count({ prefix: { user: 'ada' } })) // prints 2
console.log(await sessions.deleteRange({ prefix: { user: 'ada' } })) // prints 2
console.log(await sessions.count()) // prints 1
await db.close()
