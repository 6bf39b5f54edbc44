/**
 * The stock of the orders demonstration, with conflicts by column: one flow puts the state of an
 * item, another one deletes the item's row. Both also write down what they did, so each snapshot
 * says which of them came last.
 */
import { CellarError } from '../../src/entries/index.js'
import { runTransaction, type TransactionScope } from '../../src/systems/transactions/index.js'
import type { Shop } from './program.js'

const byColumn = { conflictLevel: 'COLUMN' } as const
const column = 'f:state'

async function stateOf(tx: TransactionScope, row: string): Promise<number> {
  const found = await tx.table('stock', byColumn).get({ row, columns: [column] })
  return Number(found.value(column) ?? 0)
}

/** Puts the next state of the item. 1, or 0 if the item was deleted meanwhile. */
export function putItem({ manager }: Shop): Promise<number> {
  return ignoringConflicts(
    runTransaction(
      manager,
      async (tx) => {
        const stock = tx.table('stock', byColumn)
        const next = String(1 + (await stateOf(tx, 'put')))
        await pause()
        await stock.put({ row: 'item', cells: { [column]: next } })
        await stock.put({ row: 'put', cells: { [column]: next } })
        return 1
      },
      { retriesMax: 0 },
    ),
  )
}

/** Deletes the item if it is there. 1, or 0 if it is not, or was put meanwhile. */
export function deleteItem({ manager }: Shop): Promise<number> {
  return ignoringConflicts(
    runTransaction(
      manager,
      async (tx) => {
        const stock = tx.table('stock', byColumn)
        const state = await stateOf(tx, 'item')
        if (state === 0) return 0
        await pause()
        await stock.delete({ row: 'item' })
        await stock.put({ row: 'deleted', cells: { [column]: String(state) } })
        return 1
      },
      { retriesMax: 0 },
    ),
  )
}

/** Throws unless the item is there with its last state, or was deleted in that state. */
export async function checkItem(tx: TransactionScope): Promise<void> {
  const [put, deleted] = [await stateOf(tx, 'put'), await stateOf(tx, 'deleted')]
  const item = await stateOf(tx, 'item')
  if (item === (put === deleted ? 0 : put)) return
  throw new Error(`the item has the state ${item}; put was ${put}, deleted ${deleted}`)
}

/** Both flows at once, again and again; throws at a state that never was. */
export async function clash(shop: Shop): Promise<void> {
  for (let i = 0; i < 40; i++) {
    await Promise.all([putItem(shop), deleteItem(shop)])
    await runTransaction(shop.manager, checkItem)
  }
}

let pauses = 0

/** Of different lengths, so that the two flows overlap in either order. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, (pauses++ * 7) % 5))
}

async function ignoringConflicts(work: Promise<number>): Promise<number> {
  try {
    return await work
  } catch (error) {
    if (error instanceof CellarError && error.code === 'ERR_TRANSACTION_CONFLICT') return 0
    throw error
  }
}
