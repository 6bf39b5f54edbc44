/** Outputs of a compaction are cut between rows, never inside of one. */
import t from 'tap'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import { openVersionSet } from '../../../doubles/version-set.js'

const rows = 60

for (const [what, width] of [
  ['many small cells', { cells: 400, bytes: 20 }],
  ['a few large cells', { cells: 6, bytes: 3000 }],
] as const) {
  void t.test(`rows of ${what} that are larger than a file stay whole`, async (t) => {
    const fileSystem = new MemoryFileSystem()
    const options = { executor: 'inline', compactionEnabled: false, fileSystem } as const
    const database = await Database.open('/db', { ...options, compactionSplitBytesMin: 1 })
    const compaction = { policy: 'leveled', fileBytes: 8 * 1024 } as const
    const families = { f: { versions: 2, compaction } }
    const table = await database.createTable('t', { families })
    for (const round of [0, 1]) {
      for (let i = 0; i < rows; i++) {
        const cells: Record<string, string> = {}
        for (let j = 0; j < width.cells; j++) {
          cells[`f:${String(j).padStart(3, '0')}`] = `${round} ${i * j} `.padEnd(width.bytes, 'x')
        }
        await table.put({ row: `row ${String(i).padStart(2, '0')}`, cells })
      }
      await database.flush()
    }
    await database.compact('t')
    await database.close()
    const versions = openVersionSet(fileSystem, '/db')
    const files = [...versions.current.stores.values()].flatMap(({ levels }) => levels.flat())
    versions.close()
    t.ok(files.length > 5, `${files.length} files`)
    const whole = files.sort((a, b) => Buffer.compare(a.firstKey, b.firstKey))
    for (let i = 1; i < whole.length; i++) {
      const [before, after] = [rowOf(whole[i - 1].lastKey), rowOf(whole[i].firstKey)]
      t.ok(before < after, `'${before}' ends before '${after}' begins`)
    }
  })
}

/** The row of a key; rows here have no zeros. */
function rowOf(key: Buffer): string {
  return key.toString('latin1', 0, key.indexOf(0))
}
