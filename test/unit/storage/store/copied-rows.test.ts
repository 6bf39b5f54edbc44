import t from 'tap'
import { CopiedRows } from '../../../../src/storage/store/copied-rows.js'

/** Copies kept of so many rows, each of which is read again so many times. */
function keep(copied: CopiedRows, rows: number, readsOfCopy: number): number {
  let kept = 0
  for (let i = 0; i < rows; i++) {
    if (!copied.wantsCopy()) continue
    kept++
    copied.noteCopy()
    for (let read = 0; read < readsOfCopy; read++) copied.noteHit()
  }
  return kept
}

void t.test(
  'few rows are copied where no read takes the copies, and all where reads do',
  async (t) => {
    const copied = new CopiedRows()
    t.equal(keep(copied, 10_000, 1), 10_000)
    const unread = keep(copied, 10_000, 0)
    t.ok(unread > 1000 && unread < 10_000 / 4, `${unread} of 10,000 that no read takes`)
    t.ok(keep(copied, 10_000, 1) > 9000, 'reads that take copies are noticed')
  },
)
