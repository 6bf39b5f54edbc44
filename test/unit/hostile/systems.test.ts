/**
 * Systems refuse a database that is none, by a CellarError that names it.
 *
 * @runs campaign
 */
import t from 'tap'
import { MessagingService } from '../../../src/systems/messaging/index.js'
import { RepositoryManager } from '../../../src/systems/repository/index.js'
import {
  TransactionalTable,
  TransactionContext,
  TransactionManager,
} from '../../../src/systems/transactions/index.js'
import { hostileValues } from '../table/arguments/hostile-values.js'
import { isCellarError } from './check-entry.js'

void t.test('what opens a system checks its database', async (t) => {
  const calls: Record<string, (given: never) => unknown> = {
    transactions: (given) => TransactionManager.open(given),
    table: (given) => new TransactionalTable(given, 't'),
    context: (given) => new TransactionContext(given),
    messaging: (given) => MessagingService.open(given),
    repository: (given) => RepositoryManager.open(given),
  }
  for (const [name, call] of Object.entries(calls)) {
    for (const { name: value, make } of hostileValues) {
      try {
        await call(make() as never)
        t.fail(`${name} took ${value}`)
      } catch (error) {
        if (!isCellarError(error)) t.fail(`${name} of ${value}: ${(error as Error).stack}`)
      }
    }
    t.pass(name)
  }
})
