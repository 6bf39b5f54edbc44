/** What is done to a shop: its processes are killed, and then all that it holds must agree. */
import { spawn } from 'node:child_process'
import { amountOf, consume, consumers, totals, type Shop } from './program.js'

const worker = new URL('./worker.js', import.meta.url).pathname

/** Runs a process, and kills it so long after it has opened the database. */
export async function runAndKill(place: string, milliseconds: number): Promise<void> {
  const child = spawn(process.execPath, [worker, place], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  child.stdout.once('data', () => setTimeout(() => child.kill('SIGKILL'), milliseconds))
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
    child.once('close', (code, signal) => resolve([code, signal]))
  })
  if (signal !== 'SIGKILL') throw new Error(`the process ended by itself with ${code}`)
}

/** What a shop holds. */
export interface ShopReport {
  readonly last: number
  readonly present: number
  /** Whether table, messages and results agree: each order counts exactly once. */
  readonly agree: boolean
}

/** Consumes the rest of the messages, compares everything, and prints it. */
export async function checkShop(shop: Shop): Promise<ShopReport> {
  for (const consumer of consumers) while ((await consume(shop, consumer)) > 0) continue
  const { last, present, messages, messagesAmount, consumed } = await totals(shop)
  let amount = 0
  for (let order = 1; order <= last; order++) amount += amountOf(order)
  process.stdout.write(`table:    ${last} orders, amount ${amount}\n`)
  process.stdout.write(`messages: ${messages} orders, amount ${messagesAmount}\n`)
  consumers.forEach((consumer, i) => {
    const { orders, amount } = consumed[i]
    process.stdout.write(`${`${consumer}:`.padEnd(10)}${orders} orders, amount ${amount}\n`)
  })
  const agree =
    messages === last &&
    messagesAmount === amount &&
    consumed.every((each) => each.orders === last && each.amount === amount)
  process.stdout.write(agree ? 'all agree: exactly once\n' : 'THEY DIFFER\n')
  return { last, present, agree }
}
