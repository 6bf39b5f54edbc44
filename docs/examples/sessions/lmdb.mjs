import { randomUUID } from 'node:crypto'
import { open } from 'lmdb'

const minute = 60_000
const db = open({ path: './data' })
const sessions = db.openDB('sessions')

async function use(user, token, address, at = Date.now()) {
  await sessions.put([user, token], { address, endsAt: at + 30 * minute })
  return token
}

function get(user, token) {
  const session = sessions.get([user, token])
  return session?.endsAt > Date.now() ? session : undefined
}

/** Ended sessions must be removed now and then. */
const removeEnded = () =>
  sessions.transaction(() => {
    for (const { key, value } of sessions.getRange()) {
      if (value.endsAt <= Date.now()) sessions.remove(key)
    }
  })

const endAll = (user) =>
  sessions.transaction(() => {
    const keys = [...sessions.getKeys({ start: [user], end: [user, '\uffff'] })]
    for (const key of keys) sessions.remove(key)
    return keys.length
  })

const phone = await use('ada', randomUUID(), 'phone')
await use('ada', randomUUID(), 'laptop', Date.now() - 29 * minute)
await use('ada', randomUUID(), 'library', Date.now() - 31 * minute)
await use('bob', randomUUID(), 'office')
await removeEnded()
console.log(get('ada', phone)?.address)
console.log(get('ada', 'guessed'))
console.log(sessions.getKeysCount({ start: ['ada'], end: ['ada', '\uffff'] }))
console.log(await endAll('ada'))
console.log(sessions.getKeysCount())
await db.close()
