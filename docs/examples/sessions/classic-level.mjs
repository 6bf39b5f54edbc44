import { randomUUID } from 'node:crypto'
import { ClassicLevel } from 'classic-level'

const minute = 60_000
const db = new ClassicLevel('./data')
const sessions = db.sublevel('sessions', { valueEncoding: 'json' })

async function use(user, token, address, at = Date.now()) {
  await sessions.put(`${user}!${token}`, { address, endsAt: at + 30 * minute })
  return token
}

async function get(user, token) {
  const session = await sessions.get(`${user}!${token}`)
  return session?.endsAt > Date.now() ? session : undefined
}

/** Ended sessions must be removed now and then. */
async function removeEnded() {
  for await (const [key, { endsAt }] of sessions.iterator()) {
    if (endsAt <= Date.now()) await sessions.del(key)
  }
}

async function endAll(user) {
  const keys = await sessions.keys({ gt: `${user}!`, lt: `${user}"` }).all()
  await sessions.batch(keys.map((key) => ({ type: 'del', key })))
  return keys.length
}

const phone = await use('ada', randomUUID(), 'phone')
await use('ada', randomUUID(), 'laptop', Date.now() - 29 * minute)
await use('ada', randomUUID(), 'library', Date.now() - 31 * minute)
await use('bob', randomUUID(), 'office')
await removeEnded()
console.log((await get('ada', phone))?.address)
console.log(await get('ada', 'guessed'))
console.log((await sessions.keys({ gt: 'ada!', lt: 'ada"' }).all()).length)
console.log(await endAll('ada'))
console.log((await sessions.keys().all()).length)
await db.close()
