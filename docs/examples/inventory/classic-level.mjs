import { ClassicLevel } from 'classic-level'

const db = new ClassicLevel('./data')
const stock = db.sublevel('stock', { valueEncoding: 'json' })
const orders = db.sublevel('orders', { valueEncoding: 'json' })

/** Calls follow each other: two of them could read the same state. */
let last = Promise.resolve()
const alone = (work) => (last = last.then(work, work))

const place = (id, lines) =>
  alone(async () => {
    const batch = [{ type: 'put', sublevel: orders, key: id, value: lines }]
    for (const [key, wanted] of Object.entries(lines)) {
      const count = (await stock.get(key)) ?? 0
      if (count < wanted) throw new Error(`too few: ${key}`)
      batch.push({ type: 'put', sublevel: stock, key, value: count - wanted })
    }
    await db.batch(batch)
  })

const cancel = (id) =>
  alone(async () => {
    const batch = [{ type: 'del', sublevel: orders, key: id }]
    for (const [key, wanted] of Object.entries((await orders.get(id)) ?? {})) {
      const count = (await stock.get(key)) ?? 0
      batch.push({ type: 'put', sublevel: stock, key, value: count + wanted })
    }
    await db.batch(batch)
  })

await stock.batch([
  { type: 'put', key: 'chair', value: 10 },
  { type: 'put', key: 'table', value: 2 },
])
const wanted = { chair: 4, table: 1 }
const placed = await Promise.allSettled(['a', 'b', 'c'].map((id) => place(id, wanted)))
console.log(
  placed
    .map(({ status }) => status)
    .sort()
    .join(),
)
const [id] = await orders.keys().all()
await Promise.all([cancel(id), cancel(id)])
for await (const [key, count] of stock.iterator()) console.log(key, count)
console.log((await orders.keys().all()).length)
await db.close()
