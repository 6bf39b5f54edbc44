/**
 * `cellar move` between directories: dry run, switch, killed runs, and words that are wrong.
 *
 * @runs campaign
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { Database } from '../../../src/entries/index.js'
import { childEnvironment } from '../../helpers/child-environment.js'
import { cellar, cellarJson, cli, fingerprint, temporary } from './support.js'

const home = temporary(t)
const rows = 3_000

async function fill(directory: string): Promise<void> {
  const database = await Database.open(directory)
  const table = await database.createTable('t', { families: { f: { versions: 2 } } })
  const puts = Array.from({ length: rows }, (_, i) => `r${i}`)
  for (const value of ['old', 'new']) {
    await table.putList(puts.map((row) => ({ row, cells: { 'f:a': `${value} ${row}` } })))
  }
  await table.delete({ row: 'r7' })
  await database.close()
}

/** Runs the command and kills it after a time, unless it has ended. */
async function killed(words: readonly string[], milliseconds: number): Promise<boolean> {
  const child = spawn(process.execPath, [cli, ...words], { env: childEnvironment, stdio: 'ignore' })
  const timer = setTimeout(() => child.kill('SIGKILL'), milliseconds)
  await new Promise((resolve) => child.once('close', resolve))
  clearTimeout(timer)
  return child.signalCode === 'SIGKILL'
}

void t.test('tables move, whenever the command is killed', async (t) => {
  const [source, target] = [join(home, 'source'), join(home, 'target')]
  await fill(source)
  const before = fingerprint(source)
  const plan = await cellarJson<{ obstacles: string[] }>('move', source, target, '--dry-run')
  t.strictSame(plan.obstacles, [])
  t.equal(fingerprint(source), before, 'a dry run writes nothing')
  t.equal(fingerprint(target), 'absent')

  let kills = 0
  while (await killed(['move', source, target], 300 * 1.4 ** kills)) kills++
  t.comment(`${kills} kills`)
  t.match(
    (await cellar('move', source, target)).out,
    /no cell was left to move\nthese tables of .* are read-only/,
  )
  const dumps = await Promise.all([source, target].map((each) => cellar('dump', 't', '-d', each)))
  const [wanted, found] = dumps.map(({ out }) => out.split('\n').slice(1))
  // Behind the cells stands their number.
  t.equal(wanted.length, 2 * (rows - 1) + 2)
  t.strictSame(found, wanted, 'every cell is there')
  const line = '{"row":"r1","family":"f","qualifier":"a","timestamp":1,"value":"late"}\n'
  writeFileSync(join(home, 'late'), line)
  const late = await cellar('load', join(home, 'late'), '--table', 't', '-d', source)
  t.match(late.complaint, /read-only/, 'the source is switched off')

  const again = await cellarJson<{ obstacles: string[] }>('move', target, source, '--dry-run')
  t.strictSame(again.obstacles, ["table 't' of the target has rows"])
  const refused = await cellar('move', target, source)
  t.equal(refused.status, 1)
  t.match(refused.complaint, /the move cannot begin: table 't' of the target has rows/)
})

void t.test('words that are wrong do nothing', async (t) => {
  const target = join(home, 'none')
  for (const address of ['http://host', 'hbase://', 'hbase://host:port', 'hbase://host/prefix']) {
    const { status, complaint } = await cellar('move', address, target)
    t.equal(status, 2, address)
    t.match(complaint, /is no address such as hbase:\/\/gateway.example:9090/)
  }
  t.equal((await cellar('move', join(home, 'absent'), target)).status, 3)
  t.equal((await cellar('move', target)).status, 2)
  const source = join(home, 'small')
  const database = await Database.open(source)
  await database.createTable('t', { families: { f: {} } })
  await database.close()
  for (const words of [['--loaded'], ['--owned', 'shop'], ['--framed'], ['--tls']]) {
    const { status, complaint } = await cellar('move', source, target, ...words)
    t.equal(status, 2, `${words[0]} that would do nothing`)
    t.match(complaint, new RegExp(words[0]))
  }
  t.equal(fingerprint(target), 'absent')
})

void t.test('an interruption ends a move whose gateway never answers', async (t) => {
  const gateway = createServer(() => undefined)
  gateway.listen(0, '127.0.0.1')
  await once(gateway, 'listening')
  const { port } = gateway.address() as AddressInfo
  const words = ['move', `hbase://127.0.0.1:${port}`, join(home, 'never')]
  const child = spawn(process.execPath, [cli, ...words], { env: childEnvironment, stdio: 'ignore' })
  const [socket] = (await once(gateway, 'connection')) as [Socket]
  const ended = once(child, 'close')
  child.kill('SIGINT')
  const late = setTimeout(() => child.kill('SIGKILL'), 5000)
  t.same(await ended, [null, 'SIGINT'])
  clearTimeout(late)
  socket.destroy()
  gateway.close()
})

void t.test(
  'a move that is refused makes no database, and a dry run sees that none is',
  async (t) => {
    const [source, target] = [join(home, 'some'), join(home, 'none')]
    const database = await Database.open(source)
    await database.createTable('t', { families: { f: { newVersionBehavior: true } } })
    await database.createTable('empty', { families: { f: {} } })
    await database.close()
    const refused = await cellar('move', source, target)
    t.match(refused.complaint, 'newVersionBehavior')
    t.equal(refused.status, 1)
    t.equal((await cellar('move', source, target, '--tables', 'absent')).status, 2)
    t.equal(existsSync(target), false)
    mkdirSync(target)
    const words = ['move', source, target, '--tables', 'empty']
    t.match(await cellar(...words, '--dry-run'), { status: 0, out: /the move can begin/ })
    t.equal((await cellar('move', source, target)).status, 1)
    t.strictSame(readdirSync(target), [])

    t.match((await cellar(...words)).out, /no cell was left to move\nthese tables of .* read-only/)
    const writable = await Database.open(source)
    await writable.admin.modifyTable('empty', { readOnly: false })
    await writable.close()
    const again = await cellar(...words)
    t.equal(again.status, 0)
    t.notMatch(again.out, /read-only/, 'the source has its table back')
  },
)
