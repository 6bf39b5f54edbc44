/**
 * `npm run orders [rounds] [seed]`: exactly once, shown. A process writes orders to a table and
 * messages about them to a topic, in one transaction; two consumers keep their positions in the
 * same transactions as their results. Orders are cancelled, transactions given up, and jobs run
 * under all of it (jobs.ts). The process is killed at random moments, again and again. It must not
 * end by itself, as it does when an auditor finds a state that never was. At the end table,
 * messages and results must agree.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { outliveReader, roundsAndSeed } from '../demonstration-words.js'
import { audit, pruneToEnd } from './jobs.js'
import { openShop } from './program.js'
import { checkShop, runAndKill } from './rounds.js'
import { clash } from './stock.js'

/** Numbers in [0, 1) that repeat for a seed. */
function numbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 0x1_0000_0000
  }
}

async function main(rounds: number, seed: number): Promise<boolean> {
  const directory = mkdtempSync(join(tmpdir(), 'cellar-orders-'))
  const random = numbers(seed)
  process.stdout.write(`${rounds} processes, seed ${seed}\n`)
  try {
    for (let round = 1; round <= rounds; round++) {
      const milliseconds = Math.floor(50 + 450 * random())
      await runAndKill(directory, milliseconds)
      process.stdout.write(`process ${round} was killed after ${milliseconds} ms\n`)
    }
    const shop = await openShop(directory)
    const invalid = await pruneToEnd(shop)
    // No transaction of a killed process runs any more, so jobs drop all that the auditor allows.
    await audit(shop, (table) => shop.database.compact(table))
    await clash(shop)
    const { last, present, agree } = await checkShop(shop)
    await shop.close()
    process.stdout.write(
      `          ${present} orders are not cancelled, ${invalid} invalid pointers are left\n`,
    )
    if (invalid > 0) process.stdout.write('THE LIST OF INVALID POINTERS IS NOT EMPTY\n')
    return agree && invalid === 0 && last > 0
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

outliveReader()
const { rounds, seed } = roundsAndSeed('orders', process.argv.slice(2))
main(rounds, seed).then(
  (agree) => {
    process.exitCode = agree ? 0 : 1
  },
  (error: unknown) => {
    process.stderr.write(`${String(error)}\n`)
    process.exitCode = 1
  },
)
