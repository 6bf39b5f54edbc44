/**
 * Cell hooks in flushes and compactions: what they do, what they see, in both executors.
 *
 * @runs long
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ManualClock } from '../../../../src/base/clock.js'
import { Database, type Coprocessor, type StoreJobOutcome } from '../../../../src/entries/index.js'
import type { ScriptedReport } from './hooks/scripted-hook.js'
import { contents, executors, hookOf, putRows, quiet, scripted } from './support.js'

for (const executor of executors()) {
  const open = (directory: string, coprocessors: readonly Coprocessor[]): Promise<Database> =>
    Database.open(directory, { ...quiet, executor, coprocessors })

  void t.test(`a compaction keeps what the hook keeps, ${executor}`, async (t) => {
    const database = await open(t.testdir(), [])
    const table = await database.createTable('t', { families: { f: {} } })
    await putRows(table, 10)
    await database.flush()
    await database.registerCoprocessor(hookOf('even', 'drop odd rows'))
    await database.compact('t')
    t.same(contents(table), ['r0=v0', 'r2=v2', 'r4=v4', 'r6=v6', 'r8=v8'])
    const { tables } = database.statistics()
    t.same(tables['t'].hooks, { even: { dropped: 5, replaced: 0 } })
    await database.close()
    const again = await open(t.testdirName, [])
    t.equal(contents(again.table('t')).length, 5)
    await again.close()
  })

  void t.test(`hooks see values that lie in value files, ${executor}`, async (t) => {
    const database = await open(t.testdir(), [])
    const families = { f: { mob: true, mobThreshold: 0 } }
    const table = await database.createTable('t', { families })
    await putRows(table, 3)
    await table.put({ row: 'r9', cells: { 'f:q': 'with x' } })
    await database.flush()
    await database.registerCoprocessor(hookOf('no x', 'drop values with x'))
    await database.compact('t')
    t.same(contents(table), ['r0=v0', 'r1=v1', 'r2=v2'])
    await database.registerCoprocessor(hookOf('more', 'append x'))
    await database.compact('t')
    t.same(contents(table), ['r0=v0x', 'r1=v1x', 'r2=v2x'])
    await database.close()
  })

  void t.test(
    `a flush drops and replaces as hooks of all priorities say, ${executor}`,
    async (t) => {
      const database = await open(t.testdir(), [
        hookOf('last', 'drop values with x', 30),
        hookOf('second', 'append x', 20),
        hookOf('first', 'drop odd rows', 10),
      ])
      const table = await database.createTable('t', { families: { f: {} } })
      await putRows(table, 10)
      await database.flush()
      t.same(contents(table), [], 'what one hook replaced the next one sees')
      t.same(database.statistics().tables['t'].hooks, {
        first: { dropped: 5, replaced: 0 },
        second: { dropped: 0, replaced: 5 },
        last: { dropped: 5, replaced: 0 },
      })
      t.equal(database.statistics().tableFiles, 0)
      await database.close()
    },
  )

  void t.test(`a replaced cell keeps key, timestamp and TTL, ${executor}`, async (t) => {
    const clock = new ManualClock(1_000_000)
    const directory = t.testdir()
    const database = await Database.open(directory, {
      ...quiet,
      executor,
      clock,
      coprocessors: [hookOf('a', 'append x', 1), hookOf('b', 'append x', 2)],
    })
    const table = await database.createTable('t', { families: { f: { versions: 5 } } })
    const zeros = Buffer.from([0, 1, 0])
    await table.put({ row: zeros, cells: [{ column: 'f:a', value: 'old', timestamp: 5 }] })
    await table.put({
      row: zeros,
      cells: [{ column: 'f:a', value: '', timestamp: 7 }],
      ttlMilliseconds: 5000,
    })
    await table.put({
      row: zeros,
      cells: [{ column: { family: 'f', qualifier: zeros }, value: zeros }],
    })
    const before = table.getSync({ row: zeros, versions: 'all' }).cells()
    await database.flush()
    const after = table.getSync({ row: zeros, versions: 'all' }).cells()
    t.same(
      after.map(({ qualifier, timestamp, sequence }) => ({ qualifier, timestamp, sequence })),
      before.map(({ qualifier, timestamp, sequence }) => ({ qualifier, timestamp, sequence })),
    )
    t.same(
      after.map(({ value }) => value),
      before.map(({ value }) => Buffer.concat([value, Buffer.from('xx')])),
    )
    clock.milliseconds += 6000
    t.same(
      table
        .getSync({ row: zeros, columns: ['f:a'], versions: 'all' })
        .cells()
        .map(({ timestamp }) => timestamp),
      [5],
    )
    await database.close()
  })

  void t.test(`hooks get a fresh context and observers their report, ${executor}`, async (t) => {
    const outcomes: StoreJobOutcome[] = []
    const kinds: string[] = []
    let round = 0
    const database = await open(t.testdir(), [
      {
        name: 'live',
        cellHook: scripted('drop odd rows'),
        observer: {
          jobContext: (job) => ({ round: ++round, topics: new Map([['a', 1n]]), table: job.table }),
          postFlush: (job, outcome) => {
            // A compaction flushes first, mostly nothing.
            if (outcome.entriesRead === 0 && !outcome.storeIsEmpty) return
            kinds.push(`${job.kind} ${job.table}:${job.family}`)
            outcomes.push(outcome)
          },
          postCompact: (job, outcome) => {
            kinds.push(`${job.kind} ${job.wholeStore}`)
            outcomes.push(outcome)
          },
        },
      },
    ])
    const table = await database.createTable('t', { families: { f: {} } })
    await putRows(table, 4)
    await database.flush()
    await putRows(table, 2)
    await table.delete({ row: 'r2' })
    await database.flush()
    await database.compact('t')
    await database.compact('t')
    await table.delete({ row: 'r0' })
    await database.flush()
    await database.compact('t')
    await database.flush()
    t.same(kinds, [
      'flush t:f',
      'flush t:f',
      'major true',
      'major true',
      'flush t:f',
      'major true',
      'flush t:f',
    ])
    const reports = outcomes.map(({ reports: [report] }) => report as ScriptedReport | undefined)
    t.same(
      reports.map((report) => report && [report.kind, report.cells, report.rows, report.markers]),
      [
        ['flush', 4, 4, 0],
        ['flush', 2, 2, 0],
        ['major', 1, 1, 0],
        ['major', 1, 1, 0],
        ['flush', 0, 0, 0],
        ['major', 0, 0, 0],
        undefined,
      ],
    )
    t.same(reports[2]?.context, { round: 3, topics: new Map([['a', 1n]]), table: 't' })
    t.same(
      outcomes.map(({ hookDropped, storeIsEmpty }) => [hookDropped, storeIsEmpty]),
      [
        [2, false],
        [1, false],
        [0, false],
        [0, false],
        [0, false],
        [0, true],
        [0, true],
      ],
    )
    await database.close()
  })

  void t.test(`markers are shown to hooks that ask for them, ${executor}`, async (t) => {
    const database = await open(t.testdir(), [])
    const table = await database.createTable('t', { families: { f: {} } })
    await putRows(table, 3)
    await database.flush()
    await database.registerCoprocessor({ name: 'drops', cellHook: scripted('drop') })
    await table.delete({ row: 'r1' })
    await database.flush()
    t.same(contents(table), ['r0=v0', 'r2=v2'], 'the marker of the flush stays')
    await database.registerCoprocessor({
      name: 'drops markers',
      cellHook: scripted('drop', { decidesMarkers: true }),
    })
    await table.delete({ row: 'r2' })
    await database.flush()
    t.same(contents(table), ['r0=v0', 'r2=v2'], 'a marker that is dropped brings the cell back')
    await database.close()
  })

  void t.test(`the parts of a split compaction report one by one, ${executor}`, async (t) => {
    const outcomes: StoreJobOutcome[] = []
    const database = await Database.open(t.testdir(), {
      ...quiet,
      executor,
      compactionSplitBytesMin: 1,
      coprocessors: [
        {
          name: 'watch',
          cellHook: scripted('drop odd rows'),
          observer: { postCompact: (_job, outcome) => void outcomes.push(outcome) },
        },
      ],
    })
    const families = { f: { compaction: { policy: 'leveled' as const }, blockBytes: 1024 } }
    const table = await database.createTable('t', { families })
    const pending: Promise<unknown>[] = []
    for (let i = 0; i < 2000; i++) {
      pending.push(table.put({ row: `r${i}`, cells: { 'f:a': `value ${i} `.repeat(3) } }))
    }
    await Promise.all(pending)
    await database.flush()
    await putRows(table, 2000)
    await database.flush()
    await database.compact('t')
    t.equal(contents(table).length, 1000)
    const [{ reports, hookDropped, entriesRead }] = outcomes
    t.equal(reports.length, 2)
    t.equal(entriesRead, 2000, 'the flushes dropped the odd ones')
    t.equal(hookDropped, 0)
    t.equal(
      reports.reduce<number>((sum, report) => sum + (report as ScriptedReport).cells, 0),
      1000,
    )
    await database.close()
  })
}

void t.test('inline and worker jobs with hooks write the same bytes', async (t) => {
  const bytes: Record<string, Buffer[]> = {}
  for (const executor of executors()) {
    const directory = join(t.testdir({ inline: {}, worker: {} }), executor)
    const database = await Database.open(directory, {
      ...quiet,
      executor,
      clock: new ManualClock(5_000_000),
      // Files carry the identity of their database.
      randomBytes: (length) => new Uint8Array(length).fill(7),
      coprocessors: [hookOf('even', 'drop odd rows'), hookOf('x', 'append x')],
    })
    const table = await database.createTable('t', { families: { f: { versions: 3 } } })
    for (let file = 0; file < 4; file++) {
      await putRows(table, 300)
      await database.flush()
    }
    await database.compact('t')
    await putRows(table, 100)
    await database.close()
    bytes[executor] = readdirSync(directory)
      .filter((name) => name.endsWith('.sst'))
      .sort()
      .map((name) => readFileSync(join(directory, name)))
    t.ok(bytes[executor].length > 0)
  }
  for (const written of Object.values(bytes)) t.same(written, bytes['inline'])
})
