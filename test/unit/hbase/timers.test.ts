/** Times that no timer can wait are refused: a timer would fire at once. */
import t from 'tap'
import { connectHBase, ownDatabase, type HBaseOptions } from '../../../src/entries/hbase.js'
import { openMemoryDatabase } from '../../../src/entries/memory.js'
import { reduceToRows } from '../../helpers/row-atomic.js'

const tooLong = 2 ** 31

void t.test('the longest times of connections and owners are those of timers', async (t) => {
  const code = 'ERR_INVALID_ARGUMENT'
  const times: readonly HBaseOptions[] = [
    { connectMilliseconds: tooLong },
    { answerMilliseconds: tooLong },
    { deadlineMilliseconds: tooLong },
    { retryMillisecondsBase: tooLong },
    { retryMillisecondsMax: tooLong },
  ]
  for (const given of times) {
    const connecting = connectHBase({
      host: '127.0.0.1',
      port: 1,
      deadlineMilliseconds: 1,
      ...given,
    })
    await t.rejects(connecting, { code }, Object.keys(given).join())
  }
  const store = reduceToRows(await openMemoryDatabase())
  const owner = await ownDatabase(store, { name: 'n' })
  for (const given of [{ takeoverMilliseconds: tooLong }, { heartbeatMilliseconds: tooLong }]) {
    const standby = ownDatabase(store, { name: 'n', signal: AbortSignal.timeout(500), ...given })
    await t.rejects(standby, { code }, Object.keys(given).join())
  }
  t.equal(owner.failure, undefined, 'nobody took over from a live owner')
  await owner.close()
})
