/**
 * A process of the orders demonstration: works until it is killed. Its argument is a directory, or
 * the address of an owned database (see `bench/cluster/place.ts`).
 */
import { isAddress, openOwned } from '../cluster/place.js'
import { audit, giveUp, job } from './jobs.js'
import { consume, consumers, openShop, openShopOn, produce, type Shop } from './program.js'
import { deleteItem, putItem } from './stock.js'

type Flow = () => Promise<number>

/** The flows that need transactions and messages alone. */
function flowsOf(shop: Shop): readonly Flow[] {
  return [
    () => produce(shop),
    ...consumers.map((consumer) => () => consume(shop, consumer)),
    () => putItem(shop),
    () => deleteItem(shop),
  ]
}

async function flowsAt(place: string): Promise<readonly Flow[]> {
  if (isAddress(place)) {
    const { database } = await openOwned(place)
    const shop = await openShopOn(database)
    return [...flowsOf(shop), () => audit(shop)]
  }
  const shop = await openShop(place)
  const compact = (table: string): Promise<void> => shop.database.compact(table)
  return [...flowsOf(shop), () => giveUp(shop), () => job(shop), () => audit(shop, compact)]
}

async function main(place: string): Promise<void> {
  const flows = await flowsAt(place)
  process.stdout.write('open\n')
  const forever = async (work: Flow): Promise<never> => {
    for (;;) if ((await work()) === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await Promise.all(flows.map(forever))
}

main(process.argv[2]).catch((error: unknown) => {
  console.error(error)
  process.exit(1)
})
