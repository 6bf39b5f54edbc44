/** An executor that is made when it is first needed. */
import t from 'tap'
import { DeferredExecutor, type JobExecutor } from '../../../../src/storage/job/threads/executor.js'

function executor(calls: string[]): JobExecutor {
  return {
    kind: 'worker',
    run: () => Promise.reject(new Error('no job')),
    prepare: () => void calls.push('prepare'),
    close: () => Promise.resolve(void calls.push('close')),
  }
}

void t.test('is made once, by the first use', async (t) => {
  const calls: string[] = []
  const deferred = new DeferredExecutor(() => {
    calls.push('make')
    return executor(calls)
  })
  t.strictSame(calls, [], 'an open makes none')
  t.equal(deferred.kind, 'worker')
  deferred.prepare()
  await deferred.close()
  t.strictSame(calls, ['make', 'prepare', 'close'])
})

void t.test('is not made to be closed', async (t) => {
  const deferred = new DeferredExecutor(() => {
    t.fail('nothing needs an executor')
    return executor([])
  })
  await deferred.close()
  t.pass('closed')
})
