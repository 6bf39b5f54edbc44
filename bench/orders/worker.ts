/** A process of the orders demonstration: works until it is killed. */
import { audit, giveUp, job } from './jobs.js'
import { consume, consumers, openShop, produce } from './program.js'
import { deleteItem, putItem } from './stock.js'

async function main(directory: string): Promise<void> {
  const shop = await openShop(directory)
  process.stdout.write('open\n')
  const forever = async (work: () => Promise<number>): Promise<never> => {
    for (;;) if ((await work()) === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await Promise.all([
    forever(() => produce(shop)),
    ...consumers.map((consumer) => forever(() => consume(shop, consumer))),
    forever(() => putItem(shop)),
    forever(() => deleteItem(shop)),
    forever(() => giveUp(shop)),
    forever(() => job(shop)),
    forever(() => audit(shop)),
  ])
}

main(process.argv[2]).catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`)
  process.exit(1)
})
