import { open } from 'lmdb'

const minute = 60_000
const requestsMax = 3
const db = open({ path: './data' })
const requests = db.openDB('requests')

async function allow(client, now) {
  const key = [Math.floor(now / minute), client]
  const count = await requests.transaction(() => {
    const count = (requests.get(key) ?? 0) + 1
    requests.put(key, count)
    return count
  })
  return count <= requestsMax
}

/** Old counters must be removed now and then. */
const removeOld = (now) =>
  requests.transaction(() => {
    const end = [Math.floor(now / minute) - 10]
    for (const key of requests.getKeys({ end })) requests.remove(key)
  })

const now = Date.now()
const bursts = await Promise.all(Array.from({ length: 100 }, () => allow('crawler', now)))
console.log(bursts.filter(Boolean).length)
console.log(await allow('reader', now))
console.log(await allow('crawler', now + minute))
await removeOld(now)
for (const { key, value } of requests.getRange({ limit: 2 })) console.log(key[1], value)
await db.close()
