import t from 'tap'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import { blockMissing } from '../../../../src/storage/cursor/cursor.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { LevelCursor } from '../../../../src/storage/store/level-cursor.js'
import { build, open, plainEntries } from '../sstable/helpers.js'

t.before(() => loadChecksums())

const keyOf = (cursor: LevelCursor): string =>
  cursor.buffer.toString('latin1', cursor.keyStart, cursor.keyEnd)

/** Makes a move again and again until its blocks are there. */
async function drive(move: () => void): Promise<number> {
  const loaded: (() => void)[] = []
  for (;;) {
    try {
      move()
      for (const release of loaded) release()
      return loaded.length
    } catch (error) {
      if (error !== blockMissing) throw error
      const { loader, index } = blockMissing
      await loader!.loadBlock(index)
      loaded.push(() => loader!.releaseBlock(index))
    }
  }
}

void t.test('a level is read to its end and back, table by table', async (t) => {
  const fileSystem = new SimulatedDisk()
  const entries = plainEntries(300)
  const tables = [0, 100, 200].map((from, i) => {
    const path = `table${i}`
    build(fileSystem, entries.slice(from, from + 100), { path, fileNumber: i + 1 })
    return open(fileSystem, { path, fileNumber: i + 1 })
  })
  const keys = entries.map(({ key }) => key.toString('latin1'))
  for (const mayBlock of [false, true]) {
    const cursors = tables.map((table) => table.cursor())
    const cursor = new LevelCursor({
      tableOfRange: (position) => Object.assign(cursors[position], { mayBlock }),
    })
    cursor.begin({ mayBlock, cacheBlocks: true })
    tables.forEach((table, position) => cursor.add(position, table))
    const behind = Buffer.from('s')
    let misses = await drive(() => cursor.seekBefore(behind, behind.length))
    const found: string[] = []
    while (cursor.valid) {
      found.unshift(keyOf(cursor))
      misses += await drive(() => cursor.previous())
    }
    t.same(found, keys)
    t.equal(misses > 0, !mayBlock, 'each step that needs a block was made again')
    found.length = 0
    await drive(() => cursor.seek(Buffer.alloc(0), 0))
    while (cursor.valid) {
      found.push(keyOf(cursor))
      await drive(() => cursor.next())
      const holding = cursors.filter((each) => (Reflect.get(each, 'held') as object[]).length > 0)
      if (holding.length > 1) t.fail('a cursor that was left holds blocks')
    }
    t.same(found, keys)
  }
  for (const table of tables) table.closeSync()
})
