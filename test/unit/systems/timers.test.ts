/** Times that no timer can wait: options refuse them, and waits of the kernel are cut. */
import t from 'tap'
import { Database, MemoryFileSystem, type OpenOptions } from '../../../src/entries/index.js'
import { MessagingService, StandbyMessaging } from '../../../src/systems/messaging/index.js'
import { laterForCaller } from '../../../src/systems/metastore/kernel/backoff.js'
import {
  EmbeddedSearch,
  RepositoryManager,
  SearchIndexes,
  TextExtraction,
} from '../../../src/systems/repository/index.js'
import { TransactionClient } from '../../../src/systems/transactions/http/client.js'
import { runTransaction, TransactionManager } from '../../../src/systems/transactions/index.js'

const tooLong = 2 ** 31

/** The refusal of an option, which the message names. */
function refusal(option: string): { code: string; message: RegExp } {
  return { code: 'ERR_INVALID_ARGUMENT', message: new RegExp(option) }
}

void t.test('no option of a timer takes a time that no timer can wait', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const options: OpenOptions = { fileSystem, executor: 'inline' }
  const database = await Database.open('/db', options)
  t.teardown(() => database.close())

  const sweeping = TransactionManager.open(database, { sweepMilliseconds: tooLong })
  await t.rejects(sweeping, refusal('sweepMilliseconds'))
  const transactions = await TransactionManager.open(database, { sweepMilliseconds: 0 })
  const run = runTransaction(transactions, () => undefined, { retryMilliseconds: tooLong })
  await t.rejects(run, refusal('retryMilliseconds'))
  const client = { url: 'http://127.0.0.1:1', requestMilliseconds: tooLong }
  t.throws(() => new TransactionClient(client), refusal('requestMilliseconds'))

  const messaging = MessagingService.open(database, { waitMillisecondsMax: tooLong })
  await t.rejects(messaging, refusal('waitMillisecondsMax'))
  const open = (): Promise<never> => Promise.reject(new Error('no instance leads'))
  const standby = StandbyMessaging.start({ open, retryMilliseconds: tooLong })
  await t.rejects(standby, refusal('retryMilliseconds'))

  const extraction = { timeMillisecondsMax: tooLong }
  t.throws(() => new TextExtraction(extraction), refusal('timeMillisecondsMax'))
  const repository = await RepositoryManager.open(database)
  for (const name of ['commitMilliseconds', 'textMilliseconds']) {
    const backend = ({ name }: { name: string }) => EmbeddedSearch.open(database, { name })
    const opening = SearchIndexes.open(repository, { backend, [name]: tooLong })
    await t.rejects(opening, refusal(name))
  }
})

void t.test('a wait of the metastore that no timer can wait does not end at once', async (t) => {
  for (const milliseconds of [tooLong, Infinity]) {
    let hasEnded = false
    const cancel = laterForCaller({ now: Date.now }, milliseconds, () => (hasEnded = true))
    await new Promise((resolve) => setTimeout(resolve, 50))
    cancel()
    t.notOk(hasEnded, String(milliseconds))
  }
})
