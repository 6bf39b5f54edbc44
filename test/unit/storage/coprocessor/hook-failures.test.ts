/**
 * Hooks and observers that fail: the job fails, nothing is changed, the next attempt works.
 *
 * @runs long
 */
import { readdirSync } from 'node:fs'
import t from 'tap'
import { Database, MemoryFileSystem, type Observer } from '../../../../src/entries/index.js'
import { contents, executors, hookOf, moduleNamed, putRows, quiet, scripted } from './support.js'

const failures: readonly (readonly [script: string, message: RegExp])[] = [
  ['throw', /'bad' failed in decide: thrown on purpose/],
  ['throw a value without text', /'bad' failed in decide: an object/],
  ['throw an error with a function as message', /'bad' failed in decide: .*on purpose/],
  ['nonsense', /decide must answer 0 \(keep\), 1 \(drop\) or 2 \(replace\), not maybe/],
  ['replace by nothing', /call setValue before/],
  ['set and keep', /answer replace after/],
  ['bad report', /'bad' failed in finish/],
  ['no hook', /createCellHook must return an object with a method decide/],
  ['promise in createCellHook', /createCellHook must return at once, not a promise/],
  ['promise in startRow', /startRow must return at once, not a promise/],
  ['promise in decide', /decide must return at once, not a promise/],
  ['promise in finish', /finish must return at once, not a promise/],
]

function tablesIn(directory: string): number {
  return readdirSync(directory).filter((name) => name.endsWith('.sst')).length
}

for (const executor of executors()) {
  for (const [script, message] of failures) {
    void t.test(`a hook that fails by '${script}' changes nothing, ${executor}`, async (t) => {
      const directory = t.testdir()
      const database = await Database.open(directory, { ...quiet, executor })
      const table = await database.createTable('t', { families: { f: {} } })
      await putRows(table, 10)
      await database.flush()
      await putRows(table, 20)
      const registration = await database.registerCoprocessor(hookOf('bad', script))
      const code = 'ERR_COPROCESSOR'
      await t.rejects(database.flush(), { code, message })
      t.equal(tablesIn(directory), 1, 'no orphan')
      t.equal(contents(table).length, 20)
      await table.put({ row: 'r99', cells: { 'f:a': 'still serving' } })
      registration.remove()
      await database.flush()
      t.equal(tablesIn(directory), 3, 'the memtable that failed and the one behind it')
      const again = await database.registerCoprocessor(hookOf('bad', script))
      await t.rejects(database.compact('t'), { code, message })
      t.equal(tablesIn(directory), 3)
      t.equal(contents(table).length, 21)
      again.remove()
      await database.compact('t')
      t.equal(tablesIn(directory), 1)
      t.equal(contents(table).length, 21)
      t.equal(database.failure, undefined)
      await database.close()
    })
  }

  void t.test(
    `errors before a job fail it, errors after it are warnings, ${executor}`,
    async (t) => {
      const failing = new Set<string>()
      const fail =
        (method: string): (() => never) | (() => void) =>
        (): void => {
          if (failing.has(method)) throw new Error(`${method} on purpose`)
        }
      const observer: Observer = {
        preFlush: fail('preFlush'),
        postFlush: fail('postFlush'),
        preCompact: fail('preCompact'),
        postCompact: fail('postCompact'),
        preCompactSelection: fail('preCompactSelection'),
        postCompactSelection: fail('postCompactSelection'),
        jobContext: () => {
          if (failing.has('jobContext')) return () => 'cannot be cloned'
          return undefined
        },
      }
      const database = await Database.open(t.testdir(), { ...quiet, executor })
      const table = await database.createTable('t', { families: { f: {} } })
      await putRows(table, 5)
      await database.flush()
      await putRows(table, 10)
      await database.registerCoprocessor({ name: 'o', observer, cellHook: scripted('keep') })
      for (const method of ['preFlush', 'jobContext']) {
        failing.add(method)
        await t.rejects(database.flush(), { code: 'ERR_COPROCESSOR' }, method)
        failing.clear()
      }
      const warnings: unknown[] = []
      database.on('warning', (warning) => warnings.push(warning))
      failing.add('postFlush')
      await database.flush()
      t.match(warnings, [{ code: 'ERR_COPROCESSOR', message: /postFlush on purpose/ }])
      failing.clear()
      for (const method of ['preCompactSelection', 'postCompactSelection', 'preCompact']) {
        failing.add(method)
        await t.rejects(database.compact('t'), { code: 'ERR_COPROCESSOR' }, method)
        failing.clear()
        t.equal(database.statistics().tableFiles, 2)
      }
      failing.add('postCompact')
      await database.compact('t')
      t.equal(database.statistics().tableFiles, 1)
      t.match(warnings[1], { message: /postCompact on purpose/ })
      t.equal(contents(table).length, 10)
      await database.close()
    },
  )
}

if (executors().includes('worker')) {
  for (const script of ['loop', 'loop later']) {
    void t.test(`a hook that loops is ended with its thread, '${script}'`, async (t) => {
      const directory = t.testdir()
      const options = { ...quiet, executor: 'worker' as const, cellHookMillisecondsMax: 200 }
      const database = await Database.open(directory, options)
      const table = await database.createTable('t', { families: { f: {} } })
      await Promise.all(
        Array.from({ length: 4000 }, (_, i) =>
          table.put({ row: `r${i}`, cells: { 'f:a': `v${i}` } }),
        ),
      )
      const registration = await database.registerCoprocessor(hookOf('bad', script))
      const code = 'ERR_COPROCESSOR'
      const message = /'bad' made no progress for 200 ms in a flush of 't'/
      await t.rejects(database.flush(), { code, message })
      t.equal(tablesIn(directory), 0, 'no orphan')
      registration.remove()
      await database.flush()
      const again = await database.registerCoprocessor(hookOf('bad', script))
      await t.rejects(database.compact('t'), { code, message: /in a major of 't'/ })
      t.equal(tablesIn(directory), 1)
      again.remove()
      await database.compact('t')
      t.equal(contents(table).length, 4000)
      await database.close()
    })
  }
}

if (executors().includes('worker')) {
  void t.test('a slow hook may take as long as the longest limit', async (t) => {
    const options = {
      ...quiet,
      executor: 'worker' as const,
      cellHookMillisecondsMax: Number.MAX_SAFE_INTEGER,
    }
    const database = await Database.open(t.testdir(), options)
    const table = await database.createTable('t', { families: { f: {} } })
    await putRows(table, 10)
    await database.registerCoprocessor(hookOf('slow', 'slow'))
    await database.flush()
    t.equal(contents(table).length, 10)
    await database.close()
  })
}

void t.test('a flush of the background reports its hook and is tried again', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/db', {
    ...quiet,
    executor: 'inline',
    fileSystem,
    flushBytes: 64 * 1024,
    memtableBytesMax: 256 * 1024,
  })
  const table = await database.createTable('t', { families: { f: {} } })
  const registration = await database.registerCoprocessor(hookOf('bad', 'throw'))
  const failed = new Promise((resolve) => database.once('flushError', resolve))
  const value = Buffer.alloc(1000)
  for (let i = 0; i < 100; i++) await table.put({ row: `r${i}`, cells: { 'f:a': value } })
  t.match(await failed, { table: 't', family: 'f', error: { code: 'ERR_COPROCESSOR' } })
  // The database's own timer does not keep a process alive.
  const awake = setInterval(() => undefined, 1000)
  const flushed = new Promise((resolve) => database.once('flush', resolve))
  registration.remove()
  await flushed
  clearInterval(awake)
  t.equal([...table.scanSync()].length, 100)
  await database.close()
})

void t.test('a synchronous writer that has to flush runs the hooks itself', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/db', {
    ...quiet,
    executor: 'inline',
    fileSystem,
    flushBytes: 64 * 1024,
    memtableBytesMax: 256 * 1024,
    coprocessors: [hookOf('odd', 'drop odd rows')],
  })
  const table = await database.createTable('t', { families: { f: {} } })
  const value = Buffer.alloc(1000)
  for (let i = 0; i < 1000; i++) table.putSync({ row: `r${i}`, cells: { 'f:a': value } })
  await database.flush()
  t.equal([...table.scanSync()].length, 500)
  await database.close()
})

void t.test('modules that are missing or no coprocessors are refused by name', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/db', { ...quiet, executor: 'inline', fileSystem })
  const modules: readonly (readonly [module: string, message: RegExp])[] = [
    [moduleNamed('absent'), /loading module '.*absent\.js'/],
    ['no-such-package-at-all', /no-such-package-at-all/],
    ['./relative.js', /URL or an absolute path/],
    [moduleNamed('no-coprocessor'), /must export/],
    ['data:text/javascript,throw new Error("evaluated badly")', /evaluated badly/],
  ]
  for (const [module, message] of modules) {
    const code = 'ERR_COPROCESSOR'
    await t.rejects(database.registerCoprocessor({ name: 'm', cellHook: { module } }), {
      code,
      message,
    })
    await t.rejects(
      database.createTable('t', { families: { f: {} }, coprocessors: [{ module }] }),
      { code, message },
    )
    t.notOk(database.hasTable('t'))
  }
  await database.close()
})
