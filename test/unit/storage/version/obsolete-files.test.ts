import t from 'tap'
import { InvariantError } from '../../../../src/base/assert.js'
import { ObsoleteFiles } from '../../../../src/storage/version/obsolete-files.js'
import { emptyState } from '../../../../src/storage/version/version.js'

/** File 7 came with version 2 and went with version 3. */
function droppedFile(): ObsoleteFiles {
  const files = new ObsoleteFiles(emptyState, 1)
  files.record({ added: [7], dropped: [], valueFiles: new Set() }, 2)
  files.record({ added: [], dropped: [7], valueFiles: new Set() }, 3)
  return files
}

const file = { kind: 'table', fileNumber: 7 } as const

void t.test('a file is protected until the last of its holders lets go', async (t) => {
  const files = droppedFile()
  files.protect(7)
  files.protect(7)
  t.same(files.take([3]), [])
  files.unprotect(7)
  t.same(files.take([3]), [], 'the second holder still needs it')
  files.unprotect(7)
  t.same(files.take([3]), [file])
  t.same(files.take([3]), [], 'once')
})

void t.test('protections of different files do not end each other', async (t) => {
  const files = droppedFile()
  files.protect(7)
  files.protect(8)
  files.unprotect(8)
  t.same(files.take([3]), [])
  files.unprotect(7)
  t.same(files.take([3]), [file])
  t.throws(() => files.unprotect(7), InvariantError)
})

void t.test('a file stays as long as a version that shows it is held', async (t) => {
  const files = droppedFile()
  t.same(files.take([2, 3]), [])
  t.ok(files.isWaiting(7))
  t.same(files.take([1, 3]), [file])
})
