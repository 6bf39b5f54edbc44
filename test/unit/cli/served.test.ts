/**
 * inspect, backup and compact through `cellar serve`: results, who may, refusals, files.
 *
 * @runs long
 */
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readSecrets, type SecretFiles } from '../../../src/cli/serve-files.js'
import { Database, type Inspection } from '../../../src/entries/index.js'
import { childEnvironment } from '../../helpers/child-environment.js'
import { cellar, cellarJson, cli, temporary } from './support.js'

const home = temporary(t)
const at = (name: string): string => join(home, name)
const directory = at('db')
const backups = at('backups')
const token = 'token-of-the-administrator'
const rowsOfTable = 40

interface Served {
  readonly url: string
  /** Ends it, and returns what it has said on the standard error. */
  readonly stop: () => Promise<string>
}

/** Starts `cellar serve` for the directory. */
async function serving(t: Test, ...words: string[]): Promise<Served> {
  writeFileSync(at('token'), token)
  const principals = [{ name: 'ada', token: 'token-of-ada', rules: [{ read: true }] }]
  writeFileSync(at('access.json'), JSON.stringify(principals))
  const access = ['--token-file', at('token'), '--access', at('access.json')]
  const all = [cli, 'serve', '-d', directory, '-p', '0', ...access, ...words]
  const child = spawn(process.execPath, all, { env: childEnvironment })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const stop = async (): Promise<string> => {
    child.kill('SIGTERM')
    await ended
    return complaint
  }
  t.teardown(stop)
  let complaint = ''
  child.stderr.on('data', (text: Buffer) => (complaint += text.toString()))
  const url = await new Promise<string>((resolve, reject) => {
    let out = ''
    child.once('close', (status) => reject(new Error(`the server ended: ${status}`)))
    child.stdout.on('data', (text: Buffer) => {
      const found = /serves .* at (\S+)/.exec((out += text.toString()))
      if (found !== null) resolve(found[1])
    })
  })
  return { url, stop }
}

t.before(async () => {
  const database = await Database.open(directory, { compactionEnabled: false })
  for (const name of ['users', 'orders']) {
    // Four runs stay as they are.
    const tiered = { compaction: { policy: 'tiered', widthMin: 8 } } as const
    const table = await database.createTable(name, { families: { f: tiered, g: tiered } })
    for (let i = 0; i < rowsOfTable; i++) {
      await table.put({ row: `row-${i}`, cells: { 'f:n': `${i}`, 'g:n': 'x' }, timestamp: 5 + i })
      if (i % 10 === 9) await database.flush(name)
    }
  }
  await database.close()
})

void t.test('inspect, compact and backup of a directory that a server has open', async (t) => {
  const { url } = await serving(t, '--backups', backups)
  const there = ['--url', url, '--token-file', at('token')]
  const filesOf = async (...place: string[]): Promise<string[]> => {
    const { families } = await cellarJson<Inspection>('inspect', ...place)
    return families.flatMap(({ table, family, levels }) => {
      return levels.flat().map(({ name }) => `${table}:${family} ${name}`)
    })
  }
  const own = (names: string[]): string[] => names.filter((name) => /^(users|orders)/.test(name))

  t.strictSame(own(await filesOf(...there)), own(await filesOf('-d', directory)))
  const shown = await cellar('inspect', ...there)
  t.match(shown, { status: 0, out: /users:f: 4 files/ })
  const number = /users:f \D*(\d+)/.exec((await filesOf(...there)).join('\n'))![1]
  const file = ['inspect', '--file', String(Number(number))]
  t.equal((await cellar(...file, ...there)).out, (await cellar(...file, '-d', directory)).out)
  t.match(await cellar('inspect', '--file', '999999', ...there), { status: 2 })
  t.match(await cellar('inspect', directory, ...there), { status: 2, complaint: /no directory/ })

  const done = await cellarJson('compact', 'users', '--family', 'f', ...there)
  t.match(done, { table: 'users', bytesBefore: Number, bytesAfter: Number })
  const left = await filesOf(...there)
  t.equal(left.filter((name) => name.startsWith('users:f')).length, 1)
  t.equal(left.filter((name) => name.startsWith('users:g')).length, 4, 'and no other family')
  t.match(await cellar('compact', ...there), { status: 0, out: /^SSTables: .* before, .* after\n/ })
  t.equal(own(await filesOf(...there)).length, 4)
  t.equal((await cellar('compact', 'nothing', ...there)).status, 2)
  t.equal((await cellar('compact', 'users', '--family', 'h', ...there)).status, 2)

  const first = await cellarJson('backup', 'whole', '--verify', ...there)
  t.match(first, { directory: join(backups, 'whole'), removed: [], verification: { sound: true } })
  const again = await cellar('backup', 'whole', ...there)
  t.match(again, { status: 0, out: /whole: \d+ files of .* kept, 0 linked, 0 copied/ })
  for (let i = 0; i < 3; i++) {
    const ran = await cellar('backup', 'nightly', '--keep', '2', '--verify', ...there)
    t.match(ran, { status: 0, out: /is sound up to sequence/ })
    t.equal(/^removed .*nightly/m.test(ran.out), i === 2)
  }
  t.equal(readdirSync(join(backups, 'nightly')).length, 2)
  for (const name of ['whole', 'nightly']) {
    t.equal((await cellar('restore', join(backups, name), '-d', at(name))).status, 0)
    const counted = await cellarJson('count', 'orders', '-d', at(name))
    t.strictSame(counted, { table: 'orders', rows: rowsOfTable })
  }
})

void t.test('a request names no path, and only administrators may', async (t) => {
  const { url } = await serving(t, '--backups', backups)
  const there = ['--url', url, '--token-file', at('token')]
  mkdirSync(join(backups, 'other'), { recursive: true })
  writeFileSync(join(backups, 'other', 'notes.txt'), 'stays')
  const before = readdirSync(home).sort()
  for (const name of [
    '..',
    '.',
    '../out',
    'a/b',
    'a\\b',
    'a.b',
    at('out'),
    'é',
    '',
    'a'.repeat(101),
  ]) {
    const ran = await cellar('backup', name, ...there)
    t.not(ran.status, 0, `'${name}'`)
    t.equal(ran.out, '')
  }
  t.match(await cellar('backup', 'other', ...there), { status: 3, complaint: /notes\.txt|backup/ })
  t.strictSame(readdirSync(join(backups, 'other')), ['notes.txt'])
  t.equal((await cellar('backup', 'x', '--keep', '0', ...there)).status, 2)

  writeFileSync(at('ada'), 'token-of-ada')
  const verbs = [['inspect'], ['compact'], ['backup', 'mine']]
  for (const file of ['ada', 'access.json']) {
    for (const verb of verbs) {
      const ran = await cellar(...verb, '--url', url, '--token-file', at(file))
      t.not(ran.status, 0, `${verb.join(' ')} with ${file}`)
      t.match(ran.complaint, file === 'ada' ? 'administrators' : /token/)
    }
  }
  t.equal(existsSync(join(backups, 'mine')), false)
  const ask = async (path: string, body: string): Promise<[number, unknown]> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(`${url}/database${path}`, { method: 'POST', headers, body })
    return [answer.status, ((await answer.json()) as { code: string }).code]
  }
  t.strictSame(await ask('/backups/..%2Fout', '{}'), [400, 'ERR_INVALID_ARGUMENT'])
  t.strictSame(await ask('/backups/%2e%2e%2fout', '{}'), [400, 'ERR_INVALID_ARGUMENT'])
  t.strictSame(await ask('/backups/x', '{"directory":"/"}'), [400, 'ERR_INVALID_ARGUMENT'])
  t.strictSame(await ask('/backups/x', '{"keep":0}'), [400, 'ERR_INVALID_ARGUMENT'])
  t.strictSame(await ask('/backups/other', '{}'), [409, 'ERR_NOT_A_BACKUP'])
  t.strictSame(await ask('/compact', '{"tabel":"users"}'), [400, 'ERR_INVALID_ARGUMENT'])
  t.strictSame(await ask('/compact', '{"table":"none"}'), [404, 'ERR_TABLE_NOT_FOUND'])
  t.strictSame(readdirSync(home).sort(), [...before, 'ada'].sort(), 'nothing beside')
})

void t.test('a server without a folder of backups makes none', async (t) => {
  const { url } = await serving(t)
  const ran = await cellar('backup', 'x', '--url', url, '--token-file', at('token'))
  t.equal(ran.status, 1)
  t.match(ran.complaint, '--backups')
  const empty = await cellar('serve', '-d', at('never'), '--backups', '')
  t.equal(empty.status, 2)
  t.equal(existsSync(at('never')), false)
})

void t.test('a server warns of files with secrets that others can read', async (t) => {
  const [key, certificate] = [at('key.pem'), at('certificate.pem')]
  const words = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
  const made = ['-nodes', '-days', '2', '-subj', '/CN=localhost', '-keyout', key]
  execFileSync('openssl', [...words, ...made, '-out', certificate], { stdio: 'ignore' })
  const secret = [at('token'), at('access.json'), key]
  const tls = ['--tls-key', key, '--tls-certificate', certificate]
  const files: SecretFiles = {
    tokenFile: at('token'),
    access: at('access.json'),
    tlsKey: key,
    tlsCertificate: certificate,
  }
  for (const mode of [0o600, 0o400, 0o640, 0o604, 0o644]) {
    await t.test(`mode ${mode.toString(8)}`, async (t) => {
      // The files exist since the tests before, and keep their mode when they are written again.
      for (const file of secret) chmodSync(file, mode)
      chmodSync(certificate, 0o644)
      const warnings: string[] = []
      await readSecrets(files, (problem) => warnings.push(`cellar: warning: ${problem}\n`))
      const complaint = warnings.join('')
      for (const file of secret) {
        const told = complaint.includes(`warning: ${file} has the mode 0${mode.toString(8)}`)
        t.equal(told, (mode & 0o077) !== 0, file)
      }
      if (mode === 0o600 || mode === 0o644) {
        const { stop } = await serving(t, ...tls)
        t.equal(await stop(), complaint, 'the server says the same')
      }
      t.notMatch(complaint, certificate)
    })
  }
})
