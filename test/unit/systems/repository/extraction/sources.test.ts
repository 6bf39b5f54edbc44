/** Documents whose bytes do not come. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { TextExtraction } from '../../../../../src/systems/repository/index.js'

/** Bytes that stop after the first piece. */
async function* stalled(): AsyncGenerator<Uint8Array, void> {
  yield Buffer.from('some ')
  await new Promise(() => undefined)
}

void t.test('bytes that do not come have the time of a document', async (t) => {
  const extraction = new TextExtraction({ threads: 1, timeMillisecondsMax: 2000 })
  const late = extraction.extract(stalled(), 'text/plain')
  const failed = t.rejects(late, { code: 'ERR_EXTRACTION', message: /more than 2000 ms/ })
  t.equal(await extraction.extract(Buffer.from('next'), 'text/plain'), 'next')
  await failed
  await extraction.close()
})

void t.test('a signal ends the wait for bytes', async (t) => {
  const extraction = new TextExtraction({ threads: 1 })
  const stop = new AbortController()
  const late = extraction.extract(stalled(), 'text/plain', undefined, stop.signal)
  const failed = t.rejects(late, { code: 'ERR_REPOSITORY_CLOSED' })
  await pause(10)
  stop.abort()
  await failed
  await extraction.close()
})
