import { ClassicLevel } from 'classic-level'

const db = new ClassicLevel('./data')
const log = db.sublevel('log', { valueEncoding: 'json' })
const balances = db.sublevel('balances', { valueEncoding: 'json' })
const positions = db.sublevel('positions', { valueEncoding: 'json' })

/** Calls follow each other: two of them could read the same state. */
let last = Promise.resolve()
const alone = (work) => (last = last.then(work))

const append = (event) =>
  alone(async () => {
    const [key] = await log.keys({ reverse: true, limit: 1 }).all()
    await log.put(String(Number(key ?? 0) + 1).padStart(16, '0'), event)
  })

const project = () =>
  alone(async () => {
    const position = (await positions.get('balances')) ?? ''
    const sums = new Map()
    let end = position
    for await (const [key, { account, amount }] of log.iterator({ gt: position })) {
      const sum = sums.get(account) ?? (await balances.get(account)) ?? 0
      sums.set(account, sum + amount)
      end = key
    }
    await db.batch([
      ...[...sums].map(([key, value]) => ({ type: 'put', sublevel: balances, key, value })),
      { type: 'put', sublevel: positions, key: 'balances', value: end },
    ])
  })

const deposits = [10, 20, 30, -5].map((amount, n) => ({ account: n % 2 ? 'bob' : 'ada', amount }))
await Promise.all(deposits.map(append))
await project()
await append({ account: 'ada', amount: 2 })
await Promise.all([project(), project()])
for await (const [id, sum] of balances.iterator()) console.log(id, sum)
await balances.clear()
await positions.del('balances')
await project()
console.log(await balances.get('ada'), (await log.keys().all()).length)
await db.close()
