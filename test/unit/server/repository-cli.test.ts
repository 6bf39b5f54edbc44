/**
 * Every verb of `cellar repository`, one after the other on one directory, through its parser.
 *
 * @runs long
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Command } from 'commander'
import t from 'tap'
import { Database } from '../../../src/entries/index.js'
import { RepositoryManager } from '../../../src/systems/repository/index.js'
import type { CellarConfiguration } from '../../../src/server/index.js'
import { addRepositoryCommands } from '../../../src/cli/repository-cli.js'
import { projectRoot } from '../../rules/support.js'

const directory = mkdtempSync(join(tmpdir(), 'cellar-verbs-'))
t.teardown(() => rmSync(directory, { recursive: true, force: true }))

interface Said {
  readonly text: string
  readonly complaints: string
}

function program(said: { text: string; complaints: string }): Command {
  const cellar = new Command('cellar').exitOverride()
  addRepositoryCommands(cellar, {
    write: (text) => void (said.text += text),
    complain: (text) => void (said.complaints += text),
  })
  return cellar
}

const used = new Set<string>()

async function run(verb: string, ...words: string[]): Promise<Said> {
  used.add(verb)
  const said = { text: '', complaints: '' }
  const place = ['--directory', join(directory, 'data')]
  await program(said).parseAsync(['repository', verb, ...words, ...place], { from: 'user' })
  return said
}

function file(name: string, content: unknown): string {
  const path = join(directory, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const types = {
  namespaces: { 'org.n': 'n' },
  fieldTypes: [
    { name: 'n$title', valueType: 'STRING' },
    { name: 'n$to', valueType: 'LINK' },
  ],
  recordTypes: [{ name: 'n$page', fields: [{ name: 'n$title', mandatory: true }] }],
}
const page = (id: string, fields: object): object => ({ id, type: 'n$page', fields })

void t.test('only verbs that make something make a database', async (t) => {
  for (const verb of ['scan-records', 'list-tables', 'list-repositories', 'list-indexes']) {
    await t.rejects(run(verb), { code: 'ERR_NOT_A_DATABASE' }, verb)
  }
  t.notOk(existsSync(join(directory, 'data')))
})

void t.test('wrong words make no database', async (t) => {
  const good = file('empty.json', {})
  const code = 'ERR_INVALID_ARGUMENT'
  await t.rejects(run('import', join(directory, 'absent.json')), { code: 'ENOENT' })
  await t.rejects(run('import', directory), { code })
  await t.rejects(run('import', good, '--format', 'xml'), { code })
  await t.rejects(run('import', good, '--workers', '0'), { code })
  await t.rejects(run('import', good, '--max-errors', '0'), { code })
  await t.rejects(run('create-table', 'a b'), { code })
  await t.rejects(run('add-repository', ''), { code })
  t.notOk(existsSync(join(directory, 'data')))
})

void t.test('a database without a repository gets no tables of one', async (t) => {
  const other = join(directory, 'other')
  const database = await Database.open(other)
  await database.createTable('own', { families: { f: {} } })
  await database.close()
  const said = { text: '', complaints: '' }
  for (const words of [['list-tables'], ['scan-records'], ['sweep'], ['list-indexes']]) {
    const all = ['repository', ...words, '--directory', other]
    const ran = program(said).parseAsync(all, { from: 'user' })
    await t.rejects(ran, { code: 'ERR_REPOSITORY_NOT_FOUND' }, words[0])
  }
  const after = await Database.open(other, { readOnly: true })
  t.same(after.listTables(), ['own'])
  await after.close()
})

void t.test('import', async (t) => {
  const records = [
    page('USER.a', { n$title: 'one' }),
    page('USER.b', { n$title: 'two', n$to: 'USER.a' }),
  ]
  const all = file('all.json', { ...types, records })
  const onlyTypes = await run('import', all, '--schema-only')
  t.equal(
    onlyTypes.text,
    'types: 2 of fields, 1 of records\nrecords: 0 created, 0 updated, 0 as they were, 0 failed\n',
  )
  t.match((await run('import', all, '--workers', '2')).text, /records: 2 created, 0 updated/)
  const again = await run('import', all, '--quiet')
  t.same(again, { text: '', complaints: '' })
  const line = JSON.stringify({
    ...page('USER.c', { n$title: 'three', n$to: '' }),
    namespaces: types.namespaces,
  })
  const lines = file('lines.json', `${line}\n{"id":"USER.d"}\n`)
  const some = await run(
    'import',
    lines,
    '-f',
    'json_lines',
    '--max-errors',
    '2',
    '--ignore-empty-fields',
  )
  t.match(some.complaints, /USER\.d: ERR_INVALID_RECORD/)
  t.match(some.text, /records: 1 created, 0 updated, 0 as they were, 1 failed/)
  const emptied = { namespaces: types.namespaces, ...page('USER.b', { n$to: '' }) }
  const words = ['-f', 'json_lines', '--ignore-and-delete-empty-fields']
  t.match(
    (await run('import', file('empty.json', JSON.stringify(emptied)), ...words)).text,
    /1 updated/,
  )
  await t.rejects(run('import', all, '--format', 'xml'), { message: "no format 'xml'" })
  await t.rejects(run('import', all, '--workers', 'x'), /workers must be a whole number/)
  const changed = { ...types, fieldTypes: [{ name: 'n$title', valueType: 'LONG' }] }
  const conflict = await run('import', file('conflict.json', changed)).catch(String)
  t.match(
    JSON.stringify(conflict),
    /ERR_FIELD_TYPE_UPDATE|cannot change/,
    'a conflict of types fails',
  )
  await run('import', all, '--quiet')
})

void t.test('scan-records', async (t) => {
  t.equal((await run('scan-records')).text, '3 records\n')
  const printed = await run('scan-records', '--print', '--limit', '1')
  t.match(JSON.parse(printed.text), { id: 'USER.a', fields: { ns1$title: 'one' } })
  t.equal((await run('scan-records', '--start', 'USER.b', '--stop', 'USER.c')).text, '1 records\n')
  t.equal(
    (await run('scan-records', '--record-type', '{org.n}page', '-p', '-c')).text.split('\n').length,
    5,
  )
  const filter = { '@class': 'FieldValueFilter', field: '{org.n}title', fieldValue: 'two' }
  const config = file('scan.json', { recordFilter: filter })
  t.equal((await run('scan-records', '--config', config)).text, '1 records\n')
})

void t.test('query-linkindex and visualize-row', async (t) => {
  t.equal((await run('query-linkindex', 'USER.a')).text, 'default/record USER.b {org.n}to\n')
  t.equal(
    (await run('query-linkindex', 'USER.b', '--forward')).text,
    'default/record USER.a {org.n}to\n',
  )
  t.equal((await run('query-linkindex', 'USER.a', '--field', '{org.n}title')).text, '')
  const { text } = await run('visualize-row', 'USER.a')
  t.match(text, /r:h @1, \d+ bytes/)
  t.match(text, /^USER\.a \(0061\)\n/, 'the id and its row')
  t.match(text, /revision: 1\n {4}deleted: false\n/, 'the parts of the head by name')
  t.match((await run('visualize-row', 'USER.a', '--html')).text, /^<!doctype html>/)
})

void t.test('tables and repositories', async (t) => {
  await run('create-table', 'drafts')
  t.equal((await run('list-tables')).text, 'drafts\nrecord\n')
  t.equal((await run('scan-records', '--table', 'drafts')).text, '0 records\n')
  await run('drop-table', 'drafts')
  t.equal((await run('list-tables')).text, 'record\n')
  await t.rejects(run('drop-table', 'record'), { code: 'ERR_INVALID_ARGUMENT' })
  await run('add-repository', 'news')
  t.equal((await run('list-repositories')).text, 'default\nnews\n')
  t.equal((await run('list-tables', '--repository', 'news')).text, 'record\n')
  await run('delete-repository', 'news')
  t.equal((await run('list-repositories')).text, 'default\n')
  await t.rejects(run('add-repository', 'table'), { code: 'ERR_INVALID_ARGUMENT' })
})

void t.test('indexes', async (t) => {
  const configuration = {
    recordFilter: { includes: [{ versionTags: ['last'] }] },
    fields: [{ name: 'title_t', value: '{org.n}title' }],
  }
  const json = file('index.json', configuration)
  const xml = file(
    'index.xml',
    `<indexer xmlns:n="org.n"><recordFilter><includes><include recordType="n:page" vtags="last"/>
     </includes></recordFilter><fields><field name="title_t" value="n:title"/></fields></indexer>`,
  )
  t.equal((await run('add-index', 'pages', json)).text, '3 records indexed, 0 failed\n')
  t.equal(
    (await run('list-indexes')).text,
    'pages of default: SUBSCRIBE_AND_CONSUME, build INACTIVE\n',
  )
  t.equal((await run('update-index', 'pages', xml)).text, '3 records indexed, 0 failed\n')
  t.equal((await run('build-index', 'pages', '--clear')).text, '3 records indexed, 0 failed\n')
  const status = JSON.parse((await run('index-status', 'pages', '--wait')).text) as object
  t.match(status, { lag: 0, refused: [], texts: [], deadLetters: [], lastBuild: { records: 3 } })
  const retried = await run('retry-index', 'pages')
  t.equal(retried.text, 'now in the index: 0 refused documents, 0 texts, 0 events\n')
  await run('delete-index', 'pages')
  t.equal((await run('list-indexes')).text, '')
  await t.rejects(run('index-status', 'pages'), { code: 'ERR_INDEX_NOT_FOUND' })
})

void t.test('sweep and drops, with and without the configured blob stores', async (t) => {
  const entry = (name: string): string => {
    return JSON.stringify(pathToFileURL(join(projectRoot, `build/src/${name}`)).href)
  }
  const blobs = JSON.stringify(join(directory, 'blobs'))
  const configuration = file(
    'cellar.config.mjs',
    `import { NodeFileSystem } from ${entry('entries/index.js')}
    import { FileBlobStore } from ${entry('systems/repository/index.js')}
    const store = new FileBlobStore(new NodeFileSystem(), ${blobs})
    export default (database) => {
      if (typeof database.table !== 'function') throw new Error('no database')
      return { repository: { blobStores: [{ store, bytesMax: Infinity }] } }
    }`,
  )
  const given = ['--configuration', configuration]
  await run('create-table', 'files')
  const { default: make } = (await import(pathToFileURL(configuration).href)) as {
    default: (database: Database) => CellarConfiguration
  }
  const database = await Database.open(join(directory, 'data'))
  const manager = await RepositoryManager.open(database, make(database).repository)
  await manager.types.createFieldType({ name: '{org.n}file', valueType: 'BLOB' })
  const bytes = Buffer.alloc(10_000)
  const blob = await manager.blobs.upload(bytes, { mediaType: 'text/plain' })
  await manager.blobs.upload(bytes, { mediaType: 'text/plain' })
  const fields = { '{org.n}title': 'x', '{org.n}file': blob }
  await manager.repository().table('files').create({ id: 'USER.f', type: '{org.n}page', fields })
  await manager.close()
  await database.close()

  const swept = async (...words: string[]): Promise<string> => (await run('sweep', ...words)).text
  const none = 'deleted records: 0; drops finished: 0\n'
  const away = `blobs: 0 of 2 removed, 1 in stores that are not configured\n${none}`
  t.equal(await swept('--age', '0'), away, 'nothing is lost that cannot be reached')
  const missing = { code: 'ERR_BLOB_STORE_MISSING' }
  await t.rejects(run('drop-table', 'files'), missing)
  t.match((await run('list-tables')).text, 'files', 'the next verb runs, and the table is there')
  t.equal((await run('scan-records', '--table', 'files')).text, '1 records\n')
  t.equal(
    await swept('--age', '0', ...given),
    `blobs: 1 of 2 removed, 0 in stores that are not configured\n${none}`,
  )
  await run('drop-table', 'files', ...given)
  t.notMatch((await run('list-tables')).text, 'files')
  t.same(filesIn(join(directory, 'blobs')), [], 'no byte is left')
  await run('add-repository', 'media')
  await t.rejects(run('list-tables', '--configuration', file('a.mjs', 'export const a = 1')), {
    message: /unknown export 'a'/,
  })
  await t.rejects(run('list-tables', '--configuration', file('c.mjs', '')), {
    message: /default export/,
  })
  await t.rejects(run('list-tables', '--configuration', file('b.mjs', 'export default {a: 1}')), {
    message: /unknown/,
  })
  await t.rejects(run('list-tables', '--configuration', join(directory, 'none.mjs')), {
    message: /cannot be loaded/,
  })
})

function filesIn(path: string): string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
}

void t.test('no verb lacks a test, nor a row of the page', async (t) => {
  const [repository] = program({ text: '', complaints: '' }).commands
  const verbs = repository.commands.map((command) => command.name())
  t.same([...used].sort(), [...verbs].sort())
  const row = /^\| `([a-z-]+)/
  const page = readFileSync(join(projectRoot, 'docs/repository.md'), 'utf8')
  const rows = page.slice(page.indexOf('\n## Command line')).split('\n')
  const named = rows.filter((line) => row.test(line)).join()
  for (const verb of verbs) t.ok(named.includes(`\`${verb}`), `${verb} is in docs/repository.md`)
})
