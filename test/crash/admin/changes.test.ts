/**
 * The change feed under power cuts and failing calls: what it shows from the first sequence on is
 * the history without holes, or it says that the history is gone.
 *
 * @runs campaign
 */
import t from 'tap'
import type { CellarError, Database } from '../../../src/entries/index.js'
import { cutEverywhere, failEverywhere, type Interrupted } from '../../helpers/crash-steps.js'
import { makeTable } from '../../unit/table/admin/support.js'

const rows = 34

async function write(database: Database, from: number, to: number): Promise<void> {
  const table = database.table('t')
  for (let i = from; i < to; i++) {
    const cells = { 'a:x': Buffer.alloc(4000, 'v') }
    await table.put({ row: `${i}`, cells, durability: 'FSYNC_WAL' })
  }
}

/** The sequence of the first change from a sequence on, or the code of the error. */
async function firstOf(database: Database, fromSequence: number): Promise<number | string> {
  try {
    for await (const { sequence } of database.changes({
      fromSequence,
      toSequence: database.statistics().lastSequence,
    })) {
      return sequence
    }
    return 'none'
  } catch (error) {
    return (error as CellarError).code
  }
}

/** A feed begins right behind what is gone. */
async function judgeStart(database: Database, message: string): Promise<string | undefined> {
  const last = Number(/begins behind (\d+)/.exec(message)![1])
  const before = await firstOf(database, last)
  if (before !== 'ERR_CHANGES_GONE') return `a feed from ${last}, which is gone: ${before}`
  await database.table('t').put({ row: 'probe', cells: { 'a:x': '1' } })
  const first = await firstOf(database, last + 1)
  return first === last + 1 ? undefined : `a feed from ${last + 1} begins with ${first}`
}

/** Reads until a change that is written here, from the first sequence on. */
async function judge(database: Database): Promise<string | undefined> {
  const found: string[] = []
  try {
    for await (const { cells } of database.changes({ fromSequence: 1 })) {
      if (cells[0].row.toString() === 'probe') break
      found.push(cells[0].row.toString())
      if (found.length === 1) {
        await database.table('t').put({ row: 'probe', cells: { 'a:x': '1' } })
      }
    }
  } catch (error) {
    const { code, message } = error as CellarError
    return code === 'ERR_CHANGES_GONE' ? judgeStart(database, message) : message
  }
  const wrong = found.findIndex((row, i) => row !== `${i}`)
  if (wrong >= 0) return `row ${found[wrong]} at ${wrong}`
  return found.length >= 20 ? undefined : `${found.length} changes`
}

const operation: Interrupted = {
  options: { logBytesMax: 64 * 1024, logRetentionBytes: 64 * 1024 },
  prepare: async (database) => {
    await makeTable(database)
    await write(database, 0, 20)
  },
  act: async (database) => {
    await write(database, 20, 26)
    await database.flush()
    database.admin.rollWALWriter()
    await write(database, 26, rows)
    await database.flush()
  },
  judge,
}

void t.test('a power cut while segments are rolled and removed leaves no hole', async (t) => {
  const { images, places, complaints } = await cutEverywhere(operation)
  t.comment(`${places} places, ${images} images`)
  t.ok(places > 20, 'there were steps to cut')
  t.strictSame(complaints.slice(0, 3), [], `${complaints.length} complaints`)
})

void t.test('nor does a failing call', async (t) => {
  const { runs, complaints } = await failEverywhere(operation)
  t.comment(`${runs} runs`)
  t.ok(runs > 20, 'calls failed')
  t.strictSame(complaints.slice(0, 3), [], `${complaints.length} complaints`)
})
