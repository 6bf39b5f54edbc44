/** What a subscription costs while its handler is slower than the writes. */
import { Worker } from 'node:worker_threads'
import t from 'tap'

void t.test('many writes of one record wait in bounded memory', async (t) => {
  // In a thread: a loop that lets nothing else run cannot be ended from within.
  const worker = new Worker(new URL('busy-record-worker.js', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: 100 },
  })
  const handled = await new Promise((resolve, reject) => {
    worker.on('message', resolve)
    worker.on('error', reject)
  })
  t.equal(handled, 300, 'each write was told once')
})
