/**
 * `cellar inspect`: what it shows agrees with the database, and not a byte is written.
 *
 * @runs long
 */
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Database, type Inspection } from '../../../src/entries/index.js'
import { cellar, cellarJson, fingerprint, temporary } from './support.js'

const home = temporary(t)
const directory = join(home, 'db')

void t.before(async () => {
  const database = await Database.open(directory, { compactionEnabled: false })
  const users = await database.createTable('users', { families: { f: {} } })
  for (const part of ['a', 'b']) {
    for (let i = 0; i < 2000; i++) {
      const row = `${part}-${String(i).padStart(4, '0')}`
      await users.put({ row, cells: { 'f:c': `${row} `.repeat(20) } })
    }
    await database.flush()
  }
  await users.put({ row: 'in the log', cells: { 'f:c': 'x' } })
  await database.admin.snapshot('monday', 'users')
  await database.close()
})

void t.test('the files and the blocks are those of the database', async (t) => {
  const before = fingerprint(directory)
  const { families, log, manifest, lastSequence, problems } = await Database.inspect(directory)
  t.strictSame(problems, [])
  t.ok(readdirSync(directory).includes(manifest.name))
  t.ok(log.length > 0)
  t.ok(log.every((segment) => readFileSync(join(directory, segment.name)).length === segment.bytes))
  t.equal(log.at(-1)!.lastSequence, lastSequence)
  const family = families.find(({ snapshot }) => snapshot === undefined)!
  t.match(family, { table: 'users', family: 'f' })
  t.ok(families.some(({ snapshot, table }) => snapshot === 'monday' && table === 'users'))
  const files = family.levels.flat()
  const rows = files.map(({ firstRow, lastRow }) => `${firstRow.toString()} ${lastRow.toString()}`)
  t.ok(rows.includes('a-0000 a-1999'))
  for (const { fileNumber, entryCount, bytes, name } of files) {
    t.equal(readFileSync(join(directory, name)).length, bytes)
    const { file } = await Database.inspect(directory, { file: fileNumber })
    const { blocks } = file!
    t.equal(
      blocks.reduce((sum, { entries }) => sum + entries, 0),
      entryCount,
    )
    t.ok(
      blocks.every(
        (block, i) => i === 0 || block.offset === blocks[i - 1].offset + blocks[i - 1].bytes,
      ),
    )
    t.ok(blocks.every((block, i) => i === 0 || block.firstRow! > blocks[i - 1].lastRow!))
  }
  const [first] = files
  const { out, status } = await cellar('inspect', directory)
  t.equal(status, 0)
  for (const word of [manifest.name, first.name, 'level 0', '┌', 'a-0000']) t.match(out, word)
  const shown = await cellarJson<Inspection>('inspect', '-d', directory)
  t.equal(shown.lastSequence, lastSequence)
  const blocks = await cellar('inspect', directory, '--file', String(first.fileNumber))
  t.match(blocks.out, 'first row')
  t.equal(fingerprint(directory), before, 'looking changes nothing')
  const held = await Database.open(directory)
  t.equal((await cellar('inspect', directory)).status, 0, 'also while a process has it open')
  await held.close()
})

void t.test('damage is shown with the rest', async (t) => {
  const damaged = join(home, 'damaged')
  cpSync(directory, damaged, { recursive: true })
  const { families } = await Database.inspect(damaged)
  const file = families.flatMap(({ levels }) => levels.flat()).sort((a, b) => b.bytes - a.bytes)[0]
  const path = join(damaged, file.name)
  const { file: sound } = await Database.inspect(damaged, { file: file.fileNumber })
  t.ok(sound!.blocks.length > 2)
  const bytes = readFileSync(path)
  bytes[sound!.blocks[1].offset + 5] ^= 0xff
  writeFileSync(path, bytes)
  const found = await Database.inspect(damaged, { file: file.fileNumber })
  t.match(found.problems, [{ kind: 'SSTable', code: 'ERR_CORRUPTION' }])
  t.equal(found.file!.blocks.length, sound!.blocks.length)
  t.strictSame(found.file!.blocks[1], {
    ...sound!.blocks[1],
    ...{ entries: 0, firstRow: undefined, lastRow: undefined },
  })
  t.strictSame(found.file!.blocks[2], sound!.blocks[2])
  const ran = await cellar('inspect', damaged, '--file', String(file.fileNumber))
  t.equal(ran.status, 1)
  t.match(ran.out, 'SSTable: ')
  const cut = join(home, 'cut')
  cpSync(directory, cut, { recursive: true })
  writeFileSync(join(cut, file.name), bytes.subarray(0, 100))
  const short = await Database.inspect(cut, { file: file.fileNumber })
  t.match(short.problems, [{ kind: 'SSTable' }])
  t.strictSame(short.file!.blocks, [])
  const lost = join(home, 'lost')
  cpSync(directory, lost, { recursive: true })
  const { log } = await Database.inspect(lost)
  const segment = join(lost, log.at(-1)!.name)
  writeFileSync(segment, readFileSync(segment).fill(0x5a, 0, 60))
  const unread = await Database.inspect(lost)
  t.match(unread.problems, [{ kind: 'log' }])
  t.equal(unread.log.at(-1)!.lastSequence, undefined)
})

void t.test('what is no database has its code, and nothing is written', async (t) => {
  const other = join(home, 'other')
  mkdirSync(other)
  copyFileSync(new URL(import.meta.url), join(other, 'notes.txt'))
  const before = fingerprint(home)
  const cases: [status: number, complaint: RegExp, words: string[]][] = [
    [3, /is not a directory/, [join(home, 'absent')]],
    [3, /is not a directory/, [join(other, 'notes.txt')]],
    [3, /holds no database/, [other]],
    [2, /names no SSTable with the number 999/, [directory, '--file', '999']],
    [2, /--file must be/, [directory, '--file', 'x']],
  ]
  for (const [status, complaint, words] of cases) {
    const ran = await cellar('inspect', ...words)
    t.equal(ran.status, status, words.join(' '))
    t.match(ran.complaint, complaint)
  }
  t.equal(fingerprint(home), before)
})
