/** A limit of requests: three in a minute for each client, however many ask at once. */
import { Database, defineTable } from 'cellardb'

const minute = 60_000
const requestsMax = 3
const db = await Database.open('./data')
const requests = await defineTable({
  name: 'requests',
  key: { minute: 'integer', client: 'utf8' },
  columns: { count: 'integer' },
  families: { f: { ttlMilliseconds: 10 * minute } },
}).open(db)

/** Counts a request; tells whether it is allowed. */
async function allow(client: string, now: number): Promise<boolean> {
  const key = { minute: Math.floor(now / minute), client }
  return (await requests.increment(key, 'count')) <= requestsMax
}

const now = Date.now()
const bursts = await Promise.all(Array.from({ length: 100 }, () => allow('crawler', now)))
console.log(bursts.filter(Boolean).length) // prints 3
console.log(await allow('reader', now)) // prints true
console.log(await allow('crawler', now + minute)) // prints true
for await (const { client, count } of requests.scan({ limit: 2 })) console.log(client, count)
// prints crawler 100
// prints reader 1
await db.close()
