/**
 * Random histories in which every open view must go on to show what it showed at its opening,
 * whatever is written, flushed, compacted, cloned and loaded. Nothing but reads is compared.
 *
 * @runs campaign
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { type Database, type Snapshot } from '../../../../src/entries/index.js'
import { lengthOf } from '../../../helpers/length.js'
import { TestDatabase } from '../../../helpers/test-database.js'
import { randomFrom, seed } from '../version/fixtures.js'

const runs = lengthOf('CELLAR_VIEW_RUNS', 6, 100)
const steps = 60
const families = {
  f: { versions: 1, compaction: 'tiered' },
  g: { versions: 3, mob: true, mobThreshold: 20 },
} as const

/** All that a view shows of a table. */
function shown(database: Database, table: string, snapshot: Snapshot): string {
  const lines: string[] = []
  const raw = { snapshot, raw: true, versions: 'all' } as const
  for (const row of database.table(table).scanSync(raw)) {
    for (const { row: key, family, qualifier, timestamp, type, value } of row) {
      lines.push([key, family, qualifier, timestamp, type, value].map(String).join())
    }
  }
  for (const row of database.table(table).scanSync({ snapshot, timeRange: [0, 50] })) {
    for (const { row: key, value } of row) lines.push(`early ${String(key)} ${String(value)}`)
  }
  return lines.join('\n')
}

interface View {
  readonly snapshot: Snapshot
  readonly table: string
  readonly content: string
}

/** One history. Returns what went wrong. */
async function live(random: () => number): Promise<string[]> {
  const fileSystem = new SimulatedDisk()
  const test = await TestDatabase.open({ fileSystem, options: { compactionEnabled: true } })
  const { database } = test
  const tables = ['t']
  await database.createTable('t', { families })
  const views: View[] = []
  const history: string[] = []
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]
  const view = (): void => {
    const snapshot = database.snapshot()
    const table = pick(tables)
    views.push({ snapshot, table, content: shown(database, table, snapshot) })
  }
  const write = (): void => {
    for (let i = Math.floor(random() * 30); i >= 0; i--) {
      const table = database.table(pick(tables))
      const row = `r${Math.floor(random() * 10)}`
      const timestamp = Math.floor(random() * 100)
      const column = { family: pick(['f', 'g']), qualifier: pick(['', 'q']) }
      if (random() < 0.2) table.deleteSync({ row, columns: [{ ...column, timestamp }] })
      else table.putSync({ row, cells: [{ column, timestamp, value: 'v'.repeat(timestamp) }] })
    }
  }
  const actions: Record<string, () => unknown> = {
    write,
    view,
    flush: () => database.flush(pick(tables)),
    'minor compaction': () => database.compact(pick(tables), { major: false }),
    'major compaction': () => database.compact(pick(tables)),
    clone: async () => {
      const name = `t${tables.length}`
      await database.admin.snapshot(`of-${name}`, pick(tables))
      await database.admin.cloneSnapshot(`of-${name}`, name)
      tables.push(name)
    },
    'view while a flush is published': async () => {
      write()
      fileSystem.beforeOperation = ({ kind, path }) => {
        if (kind !== 'sync' || !path.includes('MANIFEST')) return
        fileSystem.beforeOperation = undefined
        view()
      }
      await database.flush()
      fileSystem.beforeOperation = undefined
    },
    'end of a view': () => views.splice(0, 1).forEach(({ snapshot }) => snapshot.close()),
    'a turn': () => nextTurn(),
  }
  const names = [...Object.keys(actions), 'write', 'write', 'flush', 'flush', 'view']
  const wrong: string[] = []
  // From the start there is a clone, whose files are links.
  write()
  await actions['clone']()
  for (let step = 0; step < steps && wrong.length === 0; step++) {
    const name = pick(names)
    if (name === 'clone' && tables.length > 3) continue
    history.push(name)
    try {
      await actions[name]()
      for (const { snapshot, table, content } of views) {
        if (shown(database, table, snapshot) !== content) wrong.push(`a view of ${table} changed`)
      }
    } catch (error) {
      wrong.push(String(error))
    }
  }
  for (const { snapshot } of views) snapshot.close()
  await test.close()
  return wrong.length === 0 ? [] : [...wrong, ...history]
}

void t.test(`views stay as they were, seed ${seed}`, async (t) => {
  for (let run = 0; run < runs; run++) t.same(await live(randomFrom(seed + run)), [], `run ${run}`)
  t.comment(`${runs} histories`)
})
