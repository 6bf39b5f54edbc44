import t from 'tap'
import { fileError, syntheticError, systemCode } from '../../../../src/storage/fs/errors.js'

void t.test('the message names operation, path, code and what to do', async (t) => {
  const cause = syntheticError('ENOSPC')
  const error = fileError('write', '/db/a', cause)
  t.equal(error.code, 'ERR_NO_SPACE')
  t.equal(error.cause, cause)
  t.match(error.message, 'write of /db/a failed: ENOSPC (no space left on device); free space')
})

void t.test('a cause without a code becomes ERR_IO with its own words', async (t) => {
  t.match(fileError('open', '/a', new Error('odd')), { code: 'ERR_IO', message: 'failed: odd' })
  t.match(fileError('open', '/a', 'text'), { code: 'ERR_IO', message: 'failed: text' })
  t.equal(systemCode(null), undefined)
  t.equal(systemCode({ code: 5 }), undefined)
})

void t.test('a refusal by the permission model says which permission is missing', async (t) => {
  const denied = syntheticError('ERR_ACCESS_DENIED')
  t.match(fileError('open', '/a', denied), { code: 'ERR_READ_ONLY', message: '--allow-fs-write' })
})

void t.test('a sync that the permission model forbids is an error, not a success', async (t) => {
  const denied = syntheticError('ERR_ACCESS_DENIED')
  for (const operation of ['sync', 'syncDirectory']) {
    t.match(fileError(operation, '/a', denied), { code: 'ERR_IO', message: 'forbids fsync' })
  }
})
