/**
 * What jobs owe to open snapshots, and the selection of files.
 *
 * @runs long
 */
import t from 'tap'
import { Database, type Snapshot, type StoreFileInfo } from '../../../../src/entries/index.js'
import { contents, executors, hookOf, putRows, quiet, scripted } from './support.js'

for (const executor of executors()) {
  void t.test(`hooks leave what an open snapshot sees, ${executor}`, async (t) => {
    const database = await Database.open(t.testdir(), { ...quiet, executor })
    const table = await database.createTable('t', { families: { f: { versions: 2 } } })
    await putRows(table, 4)
    const older = database.snapshot()
    await table.put({ row: 'r0', cells: { 'f:a': 'new' } })
    await table.put({ row: 'r1', cells: { 'f:a': 'new' } })
    const newer = database.snapshot()
    await table.put({ row: 'r9', cells: { 'f:a': 'seen by nobody' } })
    const seen = (snapshot: Snapshot): string[] =>
      [...table.scanSync({ snapshot })].map((row) => row.value('f:a')!.toString())
    const before = [seen(older), seen(newer)]
    await database.registerCoprocessor(hookOf('drops', 'drop'))
    await database.flush()
    t.same([seen(older), seen(newer)], before)
    t.notOk(await table.exists({ row: 'r9' }), 'what is newer than all snapshots goes')
    await database.compact('t')
    t.same([seen(older), seen(newer)], before)
    newer.close()
    await database.compact('t')
    t.same(seen(older), before[0])
    t.same(contents(table), ['r0=v0', 'r1=v1', 'r2=v2', 'r3=v3'], 'newer ones may go now')
    older.close()
    await database.compact('t')
    t.same(contents(table), [])
    await database.close()
  })

  void t.test(`a snapshot that is opened while a job runs is protected, ${executor}`, async (t) => {
    const opened: Snapshot[] = []
    let opening = false
    const database = await Database.open(t.testdir(), { ...quiet, executor })
    const table = await database.createTable('t', { families: { f: {} } })
    await putRows(table, 4)
    await database.registerCoprocessor({
      name: 'drops',
      cellHook: scripted('drop'),
      observer: {
        // Behind the moment in which the open snapshots are looked at.
        jobContext: () => void (opening && opened.push(database.snapshot())),
      },
    })
    opening = true
    await database.flush()
    t.ok(opened.length >= 2, 'the job ran again')
    t.equal([...table.scanSync({ snapshot: opened[0] })].length, 4)
    for (const snapshot of opened.splice(0)) snapshot.close()
    await database.compact('t')
    t.ok(opened.length >= 2)
    t.equal([...table.scanSync({ snapshot: opened[0] })].length, 4)
    opening = false
    for (const snapshot of opened.splice(0)) snapshot.close()
    await database.compact('t')
    t.same(contents(table), [])
    await database.close()
  })

  void t.test(`a job ends although snapshots come and come, ${executor}`, async (t) => {
    const opened: Snapshot[] = []
    const database = await Database.open(t.testdir(), { ...quiet, executor })
    const table = await database.createTable('t', { families: { f: {} } })
    await database.registerCoprocessor({
      name: 'drops',
      cellHook: scripted('drop'),
      observer: {
        jobContext: () => {
          table.putSync({ row: `w${opened.length}`, cells: { 'f:a': 'w' } })
          opened.push(database.snapshot())
        },
      },
    })
    await putRows(table, 4)
    await database.flush()
    t.equal(opened.length, 2)
    t.equal([...table.scanSync({ snapshot: opened[0] })].length, 5)
    for (const snapshot of opened) snapshot.close()
    await database.close()
  })
}

void t.test('observers see the selection of files and may prevent it', async (t) => {
  const seen: string[] = []
  let bypass = true
  const numbers = (files: readonly StoreFileInfo[]): string =>
    files.map(({ fileNumber, entryCount }) => `${fileNumber}:${entryCount}`).join(' ')
  const database = await Database.open(t.testdir(), { ...quiet, executor: 'inline' })
  const table = await database.createTable('t', { families: { f: {} } })
  await database.registerCoprocessor({
    name: 'first',
    observer: {
      preCompactSelection: (selection) => {
        seen.push(`first ${selection.table}:${selection.family} ${selection.files.length}`)
        if (bypass) selection.bypass()
      },
      postCompactSelection: (selection, chosen) => {
        seen.push(numbers(chosen) === numbers(selection.files) ? 'all' : numbers(chosen))
      },
      preCompact: (job) => void seen.push(`preCompact ${job.kind}`),
      postCompact: (_job, { files }) => void seen.push(`postCompact ${files}`),
    },
  })
  await database.registerCoprocessor({
    name: 'second',
    observer: { preCompactSelection: () => void seen.push('second') },
  })
  for (let file = 0; file < 3; file++) {
    await putRows(table, 5)
    await database.flush()
  }
  await database.compact('t')
  t.same(seen.splice(0), ['first t:f 3'])
  t.equal(database.statistics().tableFiles, 3)
  bypass = false
  await database.compact('t')
  t.same(seen, ['first t:f 3', 'second', 'all', 'preCompact major', 'postCompact 1'])
  t.equal(contents(table).length, 5)
  await database.close()
})
