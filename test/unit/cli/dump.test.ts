/**
 * dump and load: every byte, timestamp, version, marker and time to live comes back.
 *
 * @runs long
 */
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { Database } from '../../../src/entries/index.js'
import { generatorOf } from '../../crash/recovery.js'
import { cellar, cli, startCellar, temporary } from './support.js'

const home = temporary(t)
const seed = Number(process.env['CELLAR_SEED'] ?? 1)

async function exported(directory: string, raw: boolean): Promise<string> {
  const database = await Database.open(directory, { readOnly: true })
  const chunks: Buffer[] = []
  const options = { versions: 'all', raw, compression: 'NONE' } as const
  for await (const chunk of database.admin.exportTable('t', options)) chunks.push(chunk)
  await database.close()
  // The export holds keys, values with their time to live, and the table.
  return Buffer.concat(chunks).toString('base64')
}

void t.test(`a table comes back from text (seed ${seed})`, async (t) => {
  const random = generatorOf(seed)
  const bytes = (most: number): Buffer => {
    const alphabet = [0, 10, 13, 34, 44, 92, 97, 98, 195, 164, 255]
    const length = Math.floor(random() * most)
    return Buffer.from(
      Array.from({ length }, () => alphabet[Math.floor(random() * alphabet.length)]),
    )
  }
  const directory = join(home, 'db')
  const database = await Database.open(directory)
  const families = { f: { versions: 4 }, g: { versions: 2, blockBytes: 2048 } }
  const table = await database.createTable('t', { families, metadata: { owner: 'ada' } })
  for (let i = 0; i < 400; i++) {
    const row = Buffer.concat([Buffer.from('r'), bytes(3)])
    const column = { family: random() < 0.5 ? 'f' : 'g', qualifier: bytes(3) }
    const timestamp = random() < 0.1 ? 2n ** 63n - 2n - BigInt(i) : BigInt(i)
    const ttlMilliseconds = random() < 0.2 ? 2 ** 47 : undefined
    await table.put({ row, cells: [{ column, value: bytes(40), timestamp }], ttlMilliseconds })
    if (i % 50 === 0) await table.delete({ row, timestamp: i })
  }
  await database.flush()
  await database.close()
  for (const raw of [false, true]) {
    const wanted = await exported(directory, raw)
    const flags = raw ? ['--raw'] : []
    for (const format of ['json', 'csv']) {
      const file = join(home, `dump-${String(raw)}.${format}`)
      const words = ['dump', 't', '-o', file, '--format', format, ...flags, '-d', directory]
      t.equal((await cellar(...words)).status, 0)
      t.equal((await cellar(...words)).status, 2, 'a file that is there stays as it is')
      const target = join(home, `loaded-${String(raw)}-${format}`)
      const other = await Database.open(target)
      if (format === 'csv') {
        await other.createTable('t', { families, metadata: { owner: 'ada' } })
      }
      await other.close()
      const loading = ['load', file, '--format', format, '-d', target]
      if (format === 'csv') loading.push('--table', 't')
      for (const time of ['once', 'twice']) {
        t.equal((await cellar(...loading)).status, 0)
        t.ok((await exported(target, raw)) === wanted, `${format}, raw ${String(raw)}, ${time}`)
      }
    }
  }
  const { out } = await cellar('dump', 't', '-d', directory)
  t.equal(out, readFileSync(join(home, 'dump-false.json'), 'utf8'))
})

void t.test('text that is no dump is refused with its line', async (t) => {
  const target = join(home, 'target')
  const database = await Database.open(target)
  await database.createTable('t', { families: { f: {} } })
  await database.close()
  const file = join(home, 'bad')
  const cases: [text: string, format: string, complaint: RegExp][] = [
    ['{"row":1}\n', 'json', /line 1: row must be/],
    ['\n{"row":"r","family":"f","qualifier":"q","timestamp":-1}', 'json', /line 2: timestamp/],
    ['{oops', 'json', /line 1/],
    ['null', 'json', /line 1: a line must be an object/],
    ['{"table":null}', 'json', /line 1: table must be an object/],
    ['{"table":{"name":"t"}}', 'json', /the dump has no end/],
    ['{"table":{"name":"t"}}\n{"table":{"name":"t"}}\n{"cells":0}\n', 'json', /has no end/],
    ['{"table":{"name":"t"}}\n{"cells":1}\n', 'json', /of 1 cells has 0: it may be cut/],
    // JSON reads the one as 9007199254740992, and UTF-8 has no form of the other.
    ['{"row":"r","family":"f","qualifier":"q","timestamp":9007199254740993}', 'json', /be a text/],
    ['{"row":"\\ud800","family":"f","qualifier":"q","timestamp":1}', 'json', /lone surrogate/],
    // The time of the load, in place of one of the dump.
    ['r,f,q,9223372036854775807,Put,,utf8,v\n', 'csv', /below 2\^63-1/],
    ['r,f,q,1,Put,,utf8\n', 'csv', /line 1: 7 fields/],
    // Two records that a reader of any quotes takes for one.
    ['r,f,q,1,Put,,utf8,5" wide\ns,f,q,1,Put,,utf8,6" wide\n', 'csv', /line 1: a quote in/],
    ['r,f,q,1,Put,,utf8,"a" b\n', 'csv', /line 1: text after/],
    ['r,f,q,1,Put,,utf8,whole val', 'csv', /line 1 has no end/],
    ['\r\nr,f,q,1,Put,,utf8,"whole"', 'csv', /line 1 has no end/],
    ['r,f,q,1,Put,,hex,v\n', 'csv', /encoding 'hex'/],
    ['"r,f', 'csv', /within quotes/],
    // A terminal obeys nothing of a message that repeats words of the file.
    ['r,f,q,1,Put,,\u001b[2J,v\n', 'csv', /^cellar: line 1: encoding '\\x1B\[2J'\n$/],
    ['r,f,q,1,Putt,,utf8,v\n', 'csv', /type/],
    ['{"row":"r","family":"x","qualifier":"q","timestamp":1}', 'json', /family/],
  ]
  for (const [text, format, complaint] of cases) {
    writeFileSync(file, text)
    const ran = await cellar('load', file, '--format', format, '--table', 't', '-d', target)
    t.equal(ran.status, 2, text)
    t.match(ran.complaint, complaint)
  }
  t.equal((await cellar('load', join(home, 'absent'), '-d', target)).status, 2)
  t.equal((await cellar('count', 't', '-d', target)).out, '0\n')
})

void t.test('a dump that was cut at the end of a line is refused', async (t) => {
  const source = join(home, 'cut')
  const database = await Database.open(source)
  const table = await database.createTable('t', { families: { f: {} } })
  for (const row of ['a', 'b', 'c']) await table.put({ row, cells: { 'f:q': row } })
  await database.close()
  const lines = (await cellar('dump', 't', '-d', source)).out.split('\n')
  t.equal(lines.at(-2), '{"cells":3}')
  const file = join(home, 'cut.json')
  for (let kept = 1; kept < lines.length; kept++) {
    const target = join(home, `cut-${kept}`)
    await (await Database.open(target)).close()
    writeFileSync(file, lines.slice(0, kept).join('\n'))
    const { status, complaint } = await cellar('load', file, '-d', target)
    t.equal(status, kept === lines.length - 1 ? 0 : 2, `${kept} lines`)
    if (status !== 0) t.match(complaint, /no end: it may be cut/)
  }
  // Chosen lines are no dump, and `--table` names their table.
  writeFileSync(file, lines[2])
  const chosen = ['load', file, '--table', 't', '-d', join(home, 'cut-2')]
  t.equal((await cellar(...chosen)).out, '1 cells in t\n')
})

void t.test('a load that ends early puts whole rows, however long they are', async (t) => {
  const source = join(home, 'masked')
  const database = await Database.open(source)
  const table = await database.createTable('t', { families: { f: {} } })
  for (let i = 0; i < 300; i++) await table.put({ row: `a${i}`, cells: { 'f:q': 'v' } })
  // Its marker is the first line of the row, and the new cells the last ones.
  const cells = Array.from({ length: 900 }, (_, i) => {
    return { column: { family: 'f', qualifier: String(i) }, value: 'new', timestamp: 9 }
  })
  await table.put({ row: 'b', cells })
  await table.delete({ row: 'b', timestamp: 8 })
  await database.close()
  const lines = (await cellar('dump', 't', '--raw', '-d', source)).out.split('\n')
  const first = lines.findIndex((line) => line.includes('DeleteFamily'))
  t.equal(first, 301)
  const file = join(home, 'masked.json')
  const target = join(home, 'masked-loaded')
  const other = await Database.open(target)
  const old = await other.createTable('t', { families: { f: {} } })
  await old.put({ row: 'b', cells: { 'f:q': 'old' }, timestamp: 1 })
  await other.close()
  const rowOfB = async () => (await cellar('get', 't', 'b', '-d', target)).out
  const before = await rowOfB()
  t.match(before, /old/)
  for (const kept of [first + 1, first + 250, first + 901, lines.length - 2]) {
    writeFileSync(file, `${lines.slice(0, kept).join('\n')}\n`)
    t.equal((await cellar('load', file, '-d', target)).status, 2, `${kept} lines`)
    t.equal(await rowOfB(), before)
  }
  writeFileSync(file, lines.join('\n'))
  t.equal((await cellar('load', file, '-d', target)).status, 0)
  t.equal((await rowOfB()).match(/new/g)?.length, 900)
  t.notMatch(await rowOfB(), /old/)
})

void t.test('of several dumps in one file each goes to its own table', async (t) => {
  const source = join(home, 'several')
  const database = await Database.open(source)
  for (const name of ['first', 'second']) {
    const table = await database.createTable(name, { families: { f: {} } })
    await table.put({ row: `of ${name}`, cells: { 'f:q': 'x' } })
  }
  await database.close()
  const dumps = ['first', 'second'].map((name) => cellar('dump', name, '-d', source))
  const file = join(home, 'several.json')
  writeFileSync(file, (await Promise.all(dumps)).map(({ out }) => out).join(''))
  const target = join(home, 'several-loaded')
  await (await Database.open(target)).close()
  t.equal((await cellar('load', file, '-d', target)).out, '2 cells in first, second\n')
  for (const name of ['first', 'second']) {
    t.match((await cellar('scan', name, '-d', target)).out, new RegExp(`^of ${name} [^\n]*\n$`))
  }
  const again = await cellar('load', file, '--json', '-d', target)
  t.same(JSON.parse(again.out), { tables: ['first', 'second'], cells: 2 })
})

void t.test('bytes that are no UTF-8 are refused, not replaced', async (t) => {
  const target = join(home, 'latin')
  const database = await Database.open(target)
  await database.createTable('t', { families: { f: {} } })
  await database.close()
  const file = join(home, 'latin.csv')
  const load = () => cellar('load', file, '--format', 'csv', '--table', 't', '-d', target)
  for (const end of ['M\u00fcnchen\n', '\u00c3']) {
    writeFileSync(file, `r,f,q,1,Put,,utf8,${end}`, 'latin1')
    const { status, complaint } = await load()
    t.equal(status, 2, end)
    t.match(complaint, /no UTF-8/)
  }
  t.equal((await cellar('count', 't', '-d', target)).out, '0\n')
  writeFileSync(file, '\ufeffr,f,q,1,Put,,utf8,M\u00fcnchen\n')
  t.equal((await load()).status, 0, 'with a mark of the order of bytes')
  t.match((await cellar('get', 't', 'r', '--json', '-d', target)).out, 'München')
})

void t.test('a dump that fails leaves no file, and says so with its exit code', async (t) => {
  const directory = join(home, 'long')
  const database = await Database.open(directory)
  const table = await database.createTable('t', { families: { f: {} } })
  await table.put({ row: 'r', cells: { 'f:q': 'x'.repeat(1 << 20) } })
  await database.close()
  const file = join(home, 'partial.json')
  t.equal((await cellar('dump', 'absent', '-o', file, '-d', directory)).status, 2)
  t.equal(existsSync(file), false)
  const words = `${process.execPath} ${cli} dump t -d ${directory}`
  const run = (script: string): Promise<[status: number | null, complaint: string]> =>
    new Promise((resolve) => {
      const child = execFile('sh', ['-c', script], (_, _out, complaint) => {
        resolve([child.exitCode, complaint])
      })
    })
  const [status, complaint] = await run(`ulimit -f 64; ${words} -o ${file}`)
  t.equal(status, 5, complaint)
  t.match(complaint, /^cellar: EFBIG/)
  t.equal(existsSync(file), false)
  if (!existsSync('/dev/full')) return
  const [full, reason] = await run(`${words} > /dev/full`)
  t.equal(full, 5)
  t.match(reason, /^cellar: ENOSPC[^\n]*\n$/)
})

void t.test('a dump that is killed leaves no file of its name', async (t) => {
  const directory = join(home, 'killed')
  const database = await Database.open(directory)
  const table = await database.createTable('t', { families: { f: {} } })
  for (let i = 0; i < 32; i++) {
    await table.put({ row: `r${i}`, cells: { 'f:q': 'x'.repeat(1 << 20) } })
  }
  await database.close()
  const folder = join(home, 'dumps')
  mkdirSync(folder)
  const file = join(folder, 'dump.json')
  const words = ['dump', 't', '-o', file, '-d', directory]
  const child = spawn(process.execPath, [cli, ...words], { stdio: 'ignore' })
  const ended = new Promise<unknown>((resolve) =>
    child.once('close', (_, signal) => resolve(signal)),
  )
  while (readdirSync(folder).length === 0 && child.exitCode === null) await setTimeout(1)
  child.kill('SIGKILL')
  t.equal(await ended, 'SIGKILL', 'it was killed before its end')
  t.equal(existsSync(file), false)
  t.equal((await cellar(...words)).status, 0, 'the command can be repeated')
  t.equal(readFileSync(file, 'utf8').split('\n').length, 35)
})

void t.test('a dump does not meet what a killed process of its number has left', async (t) => {
  const directory = join(home, 'numbered')
  const database = await Database.open(directory)
  await database.createTable('t', { families: { f: {} } })
  await database.close()
  const file = join(home, 'numbered.json')
  // In a container each command may have the same number.
  const pid = 'Object.defineProperty(process,%22pid%22,{value:7})'
  const environment = { NODE_OPTIONS: `--import=data:text/javascript,${pid}` }
  writeFileSync(`${file}.7.unfinished`, 'cut')
  const words = ['dump', 't', '-o', file, '-d', directory]
  t.match(await startCellar(words, { environment }), { status: 0, complaint: '' })
  t.ok(existsSync(file))
  t.equal(readFileSync(`${file}.7.unfinished`, 'utf8'), 'cut')
})

void t.test('a dump that fails says why, also when its part cannot be removed', async (t) => {
  const directory = join(home, 'refused')
  await (await Database.open(directory)).close()
  const file = join(home, 'refused.json')
  const module = [
    'import fs from "node:fs/promises"',
    'import { syncBuiltinESMExports } from "node:module"',
    'fs.rm = () => Promise.reject(new Error("EROFS"))',
    'syncBuiltinESMExports()',
  ]
  const code = encodeURIComponent(module.join('\n'))
  const environment = { NODE_OPTIONS: `--import=data:text/javascript,${code}` }
  const words = ['dump', 'absent', '-o', file, '-d', directory]
  const { status, complaint } = await startCellar(words, { environment })
  t.equal(status, 2)
  t.match(complaint, 'absent')
  t.equal(existsSync(file), false)
})
