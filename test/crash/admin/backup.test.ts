/**
 * Backups and restores under power cuts and failing calls: what can be restored is the backup
 * before or after, and a directory without a whole backup says so.
 *
 * @runs campaign
 */
import t from 'tap'
import { CellarError, Database, type FileSystem } from '../../../src/entries/index.js'
import { cutEverywhere, failEverywhere, type Interrupted } from '../../helpers/crash-steps.js'
import { lengthOf } from '../../helpers/length.js'
import { contentOf, fill, makeTable } from '../../unit/table/admin/support.js'

const rows = 2
const every = lengthOf('CELLAR_BACKUP_EVERY', 12, 1)

/** What all cells of table `t` hold; undefined if they differ or some are missing. */
function markOf(database: Database): string | undefined {
  const content = contentOf(database.table('t'))
  const marks = new Set(content.map((cell) => /=(\D+)\d*$/.exec(cell)?.[1]))
  return content.length === 2 * rows && marks.size === 1 ? [...marks][0] : undefined
}

/** What a restore of `/backup` gives: the mark of its cells, or the code of its error. */
async function restored(fileSystem: FileSystem, directory: string): Promise<string | undefined> {
  try {
    await Database.restore('/backup', directory, { fileSystem })
  } catch (error) {
    if (error instanceof CellarError) return error.code
    throw error
  }
  const options = { fileSystem, executor: 'inline', compactionEnabled: false } as const
  const database = await Database.open(directory, options)
  const mark = markOf(database)
  await database.close()
  return mark
}

let restores = 0

const backup = (before: string | undefined): Interrupted => ({
  every,
  prepare: async (database) => {
    await fill(await makeTable(database), rows, before ?? 'two')
    if (before === undefined) return
    await database.backup('/backup')
    await fill(database.table('t'), rows, 'two')
  },
  act: (database) => database.backup('/backup'),
  judge: async (database, acknowledged, fileSystem) => {
    if (markOf(database) !== 'two') return 'the database is damaged'
    const found = await restored(fileSystem, `/restored${restores++}`)
    // A database that is judged again has the backup of the first judgement.
    if (fileSystem.statSync('/judged') !== undefined) {
      return found === 'three' ? undefined : `restored later: ${found}`
    }
    const partial = found === 'ERR_NOT_A_BACKUP' || found === 'ERR_BACKUP_INCOMPLETE'
    const isBefore = before === undefined ? partial : found === before
    if (found !== 'two' && (acknowledged || !isBefore)) return `restored: ${found}`
    fileSystem.makeDirectorySync('/judged')
    await fill(database.table('t'), rows, 'three')
    await database.backup('/backup')
    const again = await restored(fileSystem, `/restored${restores++}`)
    if (again !== 'three') return `restored after another backup: ${again}`
    await fill(database.table('t'), rows, 'two')
    return undefined
  },
})

const operations: Readonly<Record<string, Interrupted>> = {
  'a first backup': backup(undefined),
  'a backup over an earlier one': backup('one'),
  'a backup of an older copy over a newer backup': {
    every,
    prepare: async (database, fileSystem) => {
      await fill(await makeTable(database), rows, 'one')
      await database.backup('/early')
      // Numbers of files grow with each flush.
      for (let i = 0; i < 10; i++) {
        await fill(database.table('t'), rows, 'new')
        await database.flush()
      }
      await database.backup('/backup')
      await Database.restore('/early', '/older', { fileSystem })
    },
    act: async (_database, fileSystem) => {
      const options = { fileSystem, executor: 'inline', compactionEnabled: false } as const
      const older = await Database.open('/older', options)
      try {
        await older.backup('/backup')
      } finally {
        await older.close()
      }
    },
    judge: async (_database, acknowledged, fileSystem) => {
      const found = await restored(fileSystem, `/restored${restores++}`)
      if (found === 'one' || (!acknowledged && found === 'new')) return undefined
      return `restored: ${found}`
    },
  },
  restore: {
    every,
    prepare: async (database) => {
      await fill(await makeTable(database), rows, 'one')
      await database.backup('/backup')
    },
    act: (_database, fileSystem) => Database.restore('/backup', '/restored', { fileSystem }),
    judgeFailed: (fileSystem) => {
      if (fileSystem.statSync('/restored') === undefined) return undefined
      const left = fileSystem.listSync('/restored')
      return left.length === 0 ? undefined : `the restore leaves ${left.join()}`
    },
    judge: async (_database, acknowledged, fileSystem) => {
      const options = { fileSystem, executor: 'inline', createIfMissing: false } as const
      const opened = await Database.open('/restored', options).catch((error: unknown) => error)
      if (opened instanceof Database) {
        const mark = markOf(opened)
        await opened.close()
        if (mark !== 'one') return `the restored database holds ${mark}`
      } else {
        const { code } = opened as CellarError
        if (acknowledged) return `the restored database is lost: ${code}`
        if (code !== 'ERR_NOT_A_DATABASE' && code !== 'ERR_CORRUPTION') return code
      }
      const again = await restored(fileSystem, `/restored${restores++}`)
      return again === 'one' ? undefined : `the backup is damaged: ${again}`
    },
  },
}

for (const [name, operation] of Object.entries(operations)) {
  void t.test(`${name}: a power cut at any step leaves before or after`, async (t) => {
    const { images, places, complaints } = await cutEverywhere(operation)
    t.comment(`${places} places, ${images} images`)
    t.ok(places > 5, 'there were steps to cut')
    t.strictSame(complaints.slice(0, 3), [], `${complaints.length} complaints`)
  })
  void t.test(`${name}: a failing call is told and leaves before or after`, async (t) => {
    const { runs, complaints } = await failEverywhere(operation)
    t.comment(`${runs} runs`)
    t.ok(runs > 5, 'calls failed')
    t.strictSame(complaints.slice(0, 3), [], `${complaints.length} complaints`)
  })
}
