import { constants } from 'node:os'
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

const { EDQUOT = 0, ESTALE = 0 } = constants.errno as Partial<typeof constants.errno>
const hasNumbers = EDQUOT > 0 && ESTALE > 0
void t.test('errors that Node has no name for are named', { skip: !hasNumbers }, async (t) => {
  // As Node 20 to 26 make them: of calls that it has moved to C++, and of all others.
  const unnamed = (errno: number, code = `Unknown system error -${errno}`): Error => {
    return Object.assign(new Error(`${code}, write`), { code, errno: -errno, syscall: 'write' })
  }
  for (const cause of [unnamed(EDQUOT), unnamed(EDQUOT, 'UNKNOWN')]) {
    const message = 'write of /a failed: EDQUOT; raise the quota'
    t.match(fileError('write', '/a', cause), { code: 'ERR_NO_SPACE', message, cause })
  }
  t.match(fileError('read', '/a', unnamed(ESTALE)), { code: 'ERR_IO', message: 'failed: ESTALE' })
  t.equal(systemCode({ code: 'UNKNOWN', errno: -4094 }), 'UNKNOWN', 'of Windows')
  t.equal(systemCode({ code: 'UNKNOWN' }), 'UNKNOWN')
})
