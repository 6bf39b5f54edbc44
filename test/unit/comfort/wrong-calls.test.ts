/**
 * More than a hundred wrong calls of newcomers, as JavaScript in wrong-calls.txt: each is refused
 * with a stable code, and a message that says what to write instead.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInThisContext } from 'node:vm'
import t from 'tap'
import {
  CellarError,
  Database,
  MemoryFileSystem,
  defineKey,
  defineTable,
  encodings,
  openIndexes,
  project,
  readPage,
} from '../../../src/entries/index.js'
import { projectRoot } from '../../helpers/project-root.js'

interface WrongCall {
  readonly call: string
  readonly code: string
  readonly words: string
}

function readCalls(): WrongCall[] {
  const text = readFileSync(join(projectRoot, 'test/unit/comfort/wrong-calls.txt'), 'utf8')
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const calls: WrongCall[] = []
  for (let i = 0; i < lines.length; i += 2) {
    const [, code, words] = /^ {2}(ERR_\w+) (.+)$/.exec(lines[i + 1])!
    calls.push({ call: lines[i], code, words })
  }
  return calls
}

/** The things that calls name. */
async function scopeOf(db: Database): Promise<Record<string, unknown>> {
  const columns = { name: 'utf8' } as const
  const table = await db.createTable('t', { families: { f: {} } })
  const users = await defineTable({
    name: 'users',
    columns: { ...columns, visits: 'integer', born: 'date', tags: encodings.json<string[]>() },
    indexes: { byName: ['name'] },
  }).open(db)
  const visits = await defineTable({
    name: 'visits',
    key: { user: 'utf8', at: { descending: 'date' } },
    columns: { page: 'utf8' },
  }).open(db)
  const indexes = await openIndexes(db)
  const functions = { defineTable, defineKey, encodings, openIndexes, project, readPage }
  return { ...functions, db, columns, table, users, visits, indexes }
}

function sequenceOf(db: Database): number {
  using snapshot = db.snapshot()
  return snapshot.sequence
}

void t.test('wrong calls', async (t) => {
  const db = await Database.open('/db', { fileSystem: new MemoryFileSystem() })
  t.teardown(() => db.close())
  const scope = await scopeOf(db)
  const before = sequenceOf(db)
  const calls = readCalls()
  t.ok(calls.length > 100, `${calls.length} calls`)
  for (const { call, code, words } of calls) {
    const source = `(${Object.keys(scope).join(', ')}) => (${call})`
    const run = runInThisContext(source) as (...values: unknown[]) => unknown
    let error: unknown
    try {
      await run(...Object.values(scope))
    } catch (thrown) {
      error = thrown
    }
    t.ok(error instanceof CellarError, `${call}: ${String(error)}`)
    const { code: found, message } = error as CellarError
    t.equal(found, code, call)
    t.ok(message.includes(words), `${call}: ${message}`)
  }
  t.equal(sequenceOf(db), before, 'nothing was written')
})
