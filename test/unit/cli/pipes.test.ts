/**
 * The command with pipes that nobody reads: it says nothing about them, keeps its exit code, and a
 * server continues.
 *
 * @runs long
 */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { Database } from '../../../src/entries/index.js'
import { childEnvironment } from '../../helpers/child-environment.js'
import { cli, temporary } from './support.js'

const home = temporary(t)
const directory = join(home, 'db')

function start(words: readonly string[], unread: 'stdout' | 'stderr') {
  const child = spawn(process.execPath, [cli, ...words], { env: childEnvironment })
  child[unread].destroy()
  const read = unread === 'stdout' ? child.stderr : child.stdout
  let text = ''
  read.on('data', (piece: Buffer) => (text += piece.toString()))
  const ended = new Promise<[status: number | null, text: string]>((resolve) => {
    child.once('close', (status) => resolve([status, text]))
  })
  return { child, read, ended }
}

/** A port that is free now: the address that the server says is not read. */
async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return String(port)
}

t.before(async () => {
  const database = await Database.open(directory)
  const table = await database.createTable('t', { families: { f: {} } })
  const cells = { 'f:c': 'v'.repeat(500) }
  await table.putList(Array.from({ length: 500 }, (_, i) => ({ row: `row ${i}`, cells })))
  await database.flush()
  await database.close()
  const name = readdirSync(directory).find((each) => each.endsWith('.sst'))!
  const bytes = readFileSync(join(directory, name))
  bytes[bytes.length >> 1] ^= 0xff
  writeFileSync(join(directory, name), bytes)
})

void t.test('the exit code tells of damage, although nobody reads the list', async (t) => {
  for (const words of [['verify'], ['verify', '--json'], ['inspect'], ['repair']]) {
    const { ended } = start([...words, '-d', directory], 'stdout')
    const [status, complaint] = await ended
    t.equal(complaint, '', words.join(' '))
    t.equal(status, words[0] === 'inspect' ? 0 : 1, words.join(' '))
  }
})

void t.test('without a reader of its complaints a verb has its exit code', async (t) => {
  t.strictSame(await start(['tables', '-d', join(home, 'none')], 'stderr').ended, [3, ''])
  t.strictSame(await start(['get', 't', 'none', '-d', directory], 'stderr').ended, [0, ''])
})

void t.test('a server continues without a reader', async (t) => {
  for (const unread of ['stderr', 'stdout'] as const) {
    const path = join(home, unread)
    const port = unread === 'stderr' ? '0' : await freePort()
    const { child, read, ended } = start(['serve', '-d', path, '-p', port], unread)
    const at = (text: string) => /serves .* at (\S+)/.exec(text)?.[1]
    const url =
      unread === 'stdout'
        ? `http://127.0.0.1:${port}`
        : await new Promise<string>((resolve) => {
            let text = ''
            read.on('data', (piece: Buffer) => {
              const found = at((text += piece.toString()))
              if (found !== undefined) resolve(found)
            })
            void ended.then(() => resolve('the server ended'))
          })
    const health = async (): Promise<number> => {
      for (let tries = 0; ; tries++) {
        try {
          return (await fetch(`${url}/health`)).status
        } catch {
          if (tries > 200 || child.exitCode !== null) return 0
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
      }
    }
    t.equal(await health(), 200, unread)
    await new Promise((resolve) => setTimeout(resolve, 200))
    t.equal(child.exitCode, null, `${unread}: it runs on`)
    child.kill('SIGTERM')
    t.equal((await ended)[0], 0)
  }
})
