/**
 * The verbs that look: right results, exit codes, and not a byte written.
 *
 * @runs long
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { exitCodeOf } from '../../../src/cli/exit-codes.js'
import { verificationToJson } from '../../../src/cli/database/verify.js'
import { CellarError, Database } from '../../../src/entries/index.js'
import { CellarServer, databaseRoutes, engineMetrics } from '../../../src/server/index.js'
import { cellar, cellarJson, fingerprint, startCellar, temporary } from './support.js'

const home = temporary(t)
const directory = join(home, 'db')
const oddRow = Buffer.from([0, 0xff, 0x5c])

async function fill(): Promise<Database> {
  // A merge at rest would drop the delete marker.
  const database = await Database.open(directory, { compactionEnabled: false })
  const users = await database.createTable('users', { families: { f: { versions: 3 }, g: {} } })
  for (let i = 0; i < 20; i++) {
    const row = `user-${String(i).padStart(2, '0')}`
    await users.put({ row, cells: { 'f:name': `Name ${i}` }, timestamp: 1000 + i })
  }
  await database.flush()
  await users.put({ row: 'user-03', cells: { 'f:name': 'Newer' }, timestamp: 2000 })
  await users.put({ row: oddRow, cells: { 'g:b': Buffer.from([0xfe]) }, timestamp: 5 })
  await users.delete({ row: 'user-04', timestamp: 3000 })
  await database.admin.snapshot('monday', 'users')
  return database
}

void t.test('verbs show what the database holds, also while it is open', async (t) => {
  const database = await fill()
  const look = async (...place: string[]): Promise<void> => {
    const { tables, snapshots } = await cellarJson<{ tables: object[]; snapshots: object[] }>(
      ...['tables', ...place],
    )
    t.match(tables, [{ table: 'users', families: ['f', 'g'] }])
    t.match(snapshots, [{ name: 'monday', table: 'users' }])
    const described = await cellarJson('describe', 'users', ...place)
    t.match(described, { name: 'users', families: { f: { versions: 3 } } })
    t.match(await cellarJson('stats', ...place), { tables: { users: {} } })
    t.match(await cellarJson('stats', 'users', ...place), { families: { f: {}, g: {} } })
    t.strictSame(await cellarJson('count', 'users', ...place), { table: 'users', rows: 20 })
    const both = ['get', 'users', 'user-03', 'f:name', '--versions', 'all', ...place]
    t.strictSame(await cellarJson(...both), {
      row: 'user-03',
      cells: [
        { family: 'f', qualifier: 'name', timestamp: 2000, value: 'Newer' },
        { family: 'f', qualifier: 'name', timestamp: 1003, value: 'Name 3' },
      ],
    })
    const { out } = await cellar('get', 'users', '\\x00\\xff\\x5c', ...place)
    t.equal(out, '\\x00\\xFF\\x5C  g:b  5  \\xFE\n')
    const scan = ['scan', 'users', '--from', 'user-03', '--to', 'user-06', ...place]
    t.equal(
      (await cellar(...scan)).out,
      'user-03  f:name  2000  Newer\nuser-05  f:name  1005  Name 5\n',
    )
    t.match((await cellar(...scan, '--raw')).out, 'user-04  f:  3000  DeleteFamily\n')
    t.match((await cellar('metrics', ...place)).out, 'cellardb_table_files')
    const { out: figures } = await cellar('metrics', '--json', ...place)
    const { out: statistics } = await cellar('stats', '--json', ...place)
    const { lastSequence } = JSON.parse(statistics) as { lastSequence: number }
    t.match(JSON.parse(figures), { lastSequence })
  }
  await look('-d', directory)
  const routes = databaseRoutes(database, {
    verify: async (path, options) => {
      return verificationToJson(await Database.verify(path, options))
    },
    inspect: () => Promise.resolve({}),
  })
  const server = await CellarServer.start([engineMetrics(() => database), routes], { port: 0 })
  const { url } = server
  await look('--url', url)
  const there = await cellarJson('verify', '--url', url)
  t.match(there, { sound: true, problems: [], directory })
  t.match((await cellar('verify', '--url', url)).out, `${directory} is sound`)
  t.equal((await cellar('count', 'nope', '--url', url)).status, 2)
  for (const query of ['columns=null', 'columns=5', 'columns=[', 'limt=1']) {
    const answer = await fetch(`${url}/database/tables/users/rows?${query}`)
    t.equal(answer.status, 400, query)
    t.match(await answer.json(), { code: 'ERR_INVALID_ARGUMENT' })
  }
  await server.close()
  t.equal((await cellar('tables', '--url', url)).status, 3, 'a server that is away')
  await database.close()
  const before = fingerprint(directory)
  await look('-d', directory)
  t.equal(fingerprint(directory), before, 'looking changes nothing')
})

void t.test('errors have their codes, and nothing is written', async (t) => {
  const file = join(home, 'file')
  writeFileSync(file, 'text')
  const other = join(home, 'other')
  mkdirSync(other)
  writeFileSync(join(other, 'notes.txt'), 'text')
  const before = fingerprint(home)
  const cases: [status: number, complaint: RegExp, words: string[]][] = [
    [3, /is not a directory/, ['tables', '-d', join(home, 'absent')]],
    [3, /is not a directory/, ['tables', '-d', file]],
    [3, /holds no database/, ['count', 'users', '-d', other]],
    [2, /table 'nope' does not exist/, ['count', 'nope', '-d', directory]],
    [2, /no column family|family/, ['get', 'users', 'r', 'x:y', '-d', directory]],
    [2, /--limit must be/, ['scan', 'users', '-n', '0', '-d', directory]],
    [2, /--time-range must be/, ['scan', 'users', '--time-range', '5', '-d', directory]],
    [2, /unknown command 'tabels'/, ['tabels']],
    [2, /unknown option '--jsn'/, ['tables', '--jsn']],
    [2, /no completion for 'tcsh'/, ['completion', 'tcsh']],
  ]
  for (const [status, complaint, words] of cases) {
    const ran = await cellar(...words)
    t.equal(ran.status, status, words.join(' '))
    t.match(ran.complaint, complaint)
    t.equal(ran.out, '')
  }
  for (const words of [cases[0][2], cases[3][2], ['count', 'users', '-d', directory]]) {
    t.strictSame(await startCellar(words), await cellar(...words), 'as in a process of its own')
  }
  t.equal(fingerprint(home), before)
  t.equal((await cellar('get', 'users', 'absent', '-d', directory)).status, 0)
  t.equal((await cellar('--help')).status, 0)
  t.equal((await cellar('scan', '--help')).status, 0)
})

void t.test('completion knows the verbs and their options', async (t) => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { out, status } = await cellar('completion', shell)
    t.equal(status, 0)
    for (const word of ['describe', 'serve', 'versions']) t.match(out, word)
  }
})

void t.test('files that the system refuses, and names that there are not', (t) => {
  const refused = (code: string): Error => {
    return Object.assign(new Error(code), { code, syscall: 'open' })
  }
  for (const code of ['EACCES', 'EPERM', 'EROFS', 'EMFILE', 'ENOSPC']) {
    t.equal(exitCodeOf(refused(code)), 5, code)
  }
  const { EDQUOT } = constants.errno as Partial<typeof constants.errno>
  if (EDQUOT !== undefined) {
    // Node has no name for it.
    const unnamed = Object.assign(refused('UNKNOWN'), { errno: -EDQUOT })
    t.equal(exitCodeOf(unnamed), 5, 'EDQUOT')
  }
  for (const code of ['ENOENT', 'EISDIR']) t.equal(exitCodeOf(refused(code)), 2, code)
  for (const code of [
    'ERR_NAMESPACE_NOT_FOUND',
    'ERR_REPOSITORY_NOT_FOUND',
    'ERR_RECORD_TABLE_NOT_FOUND',
    'ERR_RECORD_TYPE_NOT_FOUND',
    'ERR_FIELD_TYPE_NOT_FOUND',
    'ERR_INDEX_NOT_FOUND',
  ] as const) {
    t.equal(exitCodeOf(new CellarError(code, code)), 2, code)
  }
  t.end()
})

void t.test('rows that differ look different, and are found as they are shown', async (t) => {
  const place = join(home, 'looks')
  const database = await Database.open(place)
  const table = await database.createTable('t', { families: { f: {} } })
  const rows = ['C:A', 'C:\\x41', 'C:\\y', '\u202eabc', 'caf\u00e9']
  for (const row of [...rows, Buffer.from('caf\u00e9\\xAB'), Buffer.from([0x1b, 0x5c])]) {
    await table.put({ row, cells: { 'f:q': row } })
  }
  await database.close()
  const lines = (await cellar('scan', 't', '-d', place)).out.split('\n').slice(0, -1)
  const shown = lines.map((line) => line.split('  ')[0])
  t.same(shown, [
    '\\x1B\\x5C',
    'C:A',
    'C:\\x5Cx41',
    'C:\\y',
    'caf\u00e9',
    'caf\\xC3\\xA9\\x5CxAB',
    '\\xE2\\x80\\xAEabc',
  ])
  for (const [i, row] of shown.entries()) {
    t.equal((await cellar('get', 't', row, '-d', place)).out, `${lines[i]}\n`)
  }
})
