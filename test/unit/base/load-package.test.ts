/** Packages that are absent, and those that the system does not let the process read. */
import { join } from 'node:path'
import t from 'tap'
import { requirePackage } from '../../../src/base/load-package.js'

void t.test('a package that is not there is to be installed', async (t) => {
  const wanted = { code: 'ERR_MISSING_PACKAGE', message: 'npm install @no/such-package' }
  t.throws(() => requirePackage<object>('@no/such-package/part', 'the test'), wanted)
})

void t.test('a package that the system does not read is not missing', async (t) => {
  // As `require` fails in a process without descriptors.
  const error = `Object.assign(new Error('EMFILE: too many open files, open'), {
    code: 'EMFILE', errno: -24, syscall: 'open' })`
  const directory = t.testdir({ 'unread.cjs': `throw ${error}`, 'broken.cjs': 'throw new Error()' })
  const load = (name: string): unknown => requirePackage<object>(join(directory, name), 'the test')
  t.throws(() => load('unread.cjs'), {
    code: 'ERR_IO',
    message: /the test cannot load .*EMFILE/,
    cause: { code: 'EMFILE' },
  })
  t.throws(() => load('broken.cjs'), { code: 'ERR_MISSING_PACKAGE' })
})
