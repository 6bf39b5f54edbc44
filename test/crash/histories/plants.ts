/** Faults between the clients of a history and the database, which the checker must find. */
import { rowNames, type RowName, type Shown } from './history-model.js'
import { withMembers } from '../../helpers/planted.js'
import type { Plant } from './runner.js'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** All of them by what they break. */
export const plants: Readonly<Record<string, Plant>> = {
  'a stale read': (store, random) => {
    const old = new Map<RowName, Shown>()
    return withMembers(store, {
      get: async (row) => {
        const found = await store.get(row)
        const before = old.get(row) ?? found
        old.set(row, found)
        return random() < 0.3 ? before : found
      },
    })
  },
  'a lost update: compares first and sets later': (store) => {
    return withMembers(store, {
      compareAndSet: async (row, expected, value) => {
        if ((await store.get(row)).value !== expected) return false
        await turn()
        await store.put(row, value)
        return true
      },
    })
  },
  'a torn batch: row by row': (store) => {
    return withMembers(store, {
      batch: async (rows, expected, value) => {
        if (!(await store.compareAndSet(rows[0], expected, value))) return false
        for (const row of rows.slice(1)) await store.put(row, value)
        return true
      },
    })
  },
  'an increment that is repeated although it has happened': (store, random) => {
    return withMembers(store, {
      increment: async (row, amount) => {
        const count = await store.increment(row, amount)
        return random() < 0.2 ? store.increment(row, amount) : count
      },
    })
  },
  'a scan that sees half of a batch': (store) => {
    return withMembers(store, {
      scan: async (rows) => {
        const found: Shown[] = []
        for (const row of rows) {
          found.push(await store.get(row))
          await turn()
        }
        return found
      },
    })
  },
  'a put that is acknowledged before it is applied': (store) => {
    return withMembers(store, {
      put: (row, value) => {
        void turn()
          .then(() => store.put(row, value))
          .catch(() => undefined)
        return Promise.resolve()
      },
    })
  },
  'a condition that holds although it does not': (store, random) => {
    return withMembers(store, {
      compareAndSet: async (row, expected, value) => {
        const success = await store.compareAndSet(row, expected, value)
        return success || random() < 0.1
      },
    })
  },
  'a read of another row': (store, random) => {
    return withMembers(store, {
      get: (row) => store.get(random() < 0.1 ? rowNames[0] : row),
    })
  },
}
