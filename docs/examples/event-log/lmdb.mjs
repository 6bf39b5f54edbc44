import { open } from 'lmdb'

const db = open({ path: './data' })
const log = db.openDB('log')
const balances = db.openDB('balances')
const positions = db.openDB('positions')

const append = (event) =>
  log.transaction(() => {
    const [last = 0] = log.getKeys({ reverse: true, limit: 1 })
    log.put(last + 1, event)
  })

const project = () =>
  db.transaction(() => {
    const position = positions.get('balances') ?? 0
    for (const { key, value } of log.getRange({ start: position + 1 })) {
      balances.put(value.account, (balances.get(value.account) ?? 0) + value.amount)
      positions.put('balances', key)
    }
  })

const deposits = [10, 20, 30, -5].map((amount, n) => ({ account: n % 2 ? 'bob' : 'ada', amount }))
await Promise.all(deposits.map(append))
await project()
await append({ account: 'ada', amount: 2 })
await Promise.all([project(), project()])
for (const { key, value } of balances.getRange()) console.log(key, value)
await balances.clearAsync()
await positions.remove('balances')
await project()
console.log(balances.get('ada'), log.getKeysCount())
await db.close()
