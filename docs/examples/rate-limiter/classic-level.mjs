import { ClassicLevel } from 'classic-level'

const minute = 60_000
const requestsMax = 3
const db = new ClassicLevel('./data')
const requests = db.sublevel('requests', { valueEncoding: 'json' })

/** Calls follow each other: two of them could read the same number. */
let last = Promise.resolve()
function allow(client, now) {
  last = last.then(async () => {
    const key = `${Math.floor(now / minute)}!${client}`
    const count = ((await requests.get(key)) ?? 0) + 1
    await requests.put(key, count)
    return count <= requestsMax
  })
  return last
}

/** Old counters must be removed now and then. */
const removeOld = (now) => requests.clear({ lt: `${Math.floor(now / minute) - 10}` })

const now = Date.now()
const bursts = await Promise.all(Array.from({ length: 100 }, () => allow('crawler', now)))
console.log(bursts.filter(Boolean).length)
console.log(await allow('reader', now))
console.log(await allow('crawler', now + minute))
await removeOld(now)
for await (const [key, count] of requests.iterator({ limit: 2 })) {
  console.log(key.split('!')[1], count)
}
await db.close()
