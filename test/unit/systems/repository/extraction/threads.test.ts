/** The ends of the threads that read documents. */
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { TextExtraction } from '../../../../../src/systems/repository/index.js'

const moduleOf = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`

const modules = {
  'x/endless': moduleOf('export function extractText() { for (;;); }'),
  'x/late': moduleOf(
    'export function extractText(content, write) {' +
      ' setTimeout(() => { throw new Error("late") }, 150);' +
      ' if (content.length > 1) throw new Error("unreadable"); write("read") }',
  ),
}

void t.test('a signal that aborts while the thread of a first attempt ends', async (t) => {
  const { prototype } = Worker
  // The class may be one that the test run has derived, which inherits the method.
  const terminate: (this: Worker) => Promise<number> = Reflect.get(prototype, 'terminate')
  t.teardown(() => (prototype.terminate = terminate))
  const extraction = new TextExtraction({ threads: 1, timeMillisecondsMax: 1500, modules })
  const stop = new AbortController()
  prototype.terminate = function (this: Worker): Promise<number> {
    stop.abort()
    return terminate.call(this)
  }
  const stopped = extraction.extract(Buffer.from('x'), 'x/endless', undefined, stop.signal)
  const failed = t.rejects(stopped, { code: 'ERR_REPOSITORY_CLOSED' })
  const result = await Promise.race([failed.then(() => 'ended'), pause(5000, 'hangs')])
  t.equal(result, 'ended')
  if (result === 'ended') await extraction.close()
})

void t.test('what a document leaves running ends no later one', async (t) => {
  const extraction = new TextExtraction({ threads: 1, timeMillisecondsMax: 900, modules })
  const { extract } = extraction
  t.equal(await extract(Buffer.from('x'), 'x/late'), 'read')
  await pause(400)
  t.equal(await extract(Buffer.from('next'), 'text/plain'), 'next', 'the thread died at rest')
  await t.rejects(extract(Buffer.from('xx'), 'x/late'), { message: /unreadable/ })
  const after = Buffer.from('after'.repeat(10_000))
  t.equal((await extract(after, 'text/plain')).length, after.length, 'in a fresh thread')
  await extraction.close()
})
