/**
 * The command line of the server and of messaging: refusals, and looking without writing.
 *
 * @runs long
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { Database, type CellarError } from '../../../src/entries/index.js'
import { MessagingService } from '../../../src/systems/messaging/index.js'
import { serve } from '../../../src/cli/serve.js'
import { CellarServer, MessagingClient, messagingRoutes } from '../../../src/server/index.js'
import {
  TransactionManager,
  TransactionPruningService,
} from '../../../src/systems/transactions/index.js'
import { childEnvironment } from '../../helpers/child-environment.js'
import { projectRoot } from '../../rules/support.js'
import { cellar, cli, startCellar, type Ran } from '../cli/support.js'

const topic = { namespace: 'n', topic: 't' }

const directory = mkdtempSync(join(tmpdir(), 'cellar-cli-'))
t.teardown(() => rmSync(directory, { recursive: true, force: true }))

/** An environment in which a package is not installed. */
function without(name: string): Record<string, string> {
  const file = join(directory, 'without.cjs')
  const code = `const { Module } = require('node:module')
    const resolve = Module._resolveFilename
    Module._resolveFilename = function (name, ...more) {
      if (name !== '${name}') return resolve.call(this, name, ...more)
      const error = new Error("Cannot find module '" + name + "'")
      throw Object.assign(error, { code: 'MODULE_NOT_FOUND' })
    }`
  writeFileSync(file, code)
  return { NODE_OPTIONS: `--require ${file}` }
}

void t.test('help and version need no package, and other commands say which one', async (t) => {
  const bare = without('commander')
  const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
    version: string
  }
  for (const environment of [{}, bare]) {
    const run = (...words: string[]): Promise<Ran> => startCellar(words, { environment })
    t.strictSame(await run('--version'), { status: 0, out: `${version}\n`, complaint: '' })
    const { status, out } = await run('--help')
    t.equal(status, 0)
    for (const word of ['serve', 'messaging', 'repository']) t.match(out, word)
  }
  const { status, complaint } = await startCellar(['messaging', 'topics'], {
    environment: bare,
  })
  t.equal(status, 1)
  t.match(complaint, 'npm install commander')
})

void t.test('a server with options that would be misunderstood does not start', async (t) => {
  const path = join(directory, 'none')
  let files = 0
  const file = (text: string): string => {
    const name = join(directory, `${files++}.json`)
    writeFileSync(name, text)
    return name
  }
  const twice = '{"name":"ada","token":"token-of-ada"},{"name":"ada","token":"another-token"}'
  const options = { directory: path, host: '127.0.0.1', port: '0', allowHost: [] } as const
  for (const [more, wanted] of [
    [{ host: '0.0.0.0' }, /needs a token/],
    [{ tokenFile: file('x\n') }, /8 characters/],
    [{ port: 'x' }, /port/],
    [{ port: '' }, /port/],
    [{ access: file('null') }, /no array of principals/],
    [{ access: file('{') }, /\.json: /],
    [{ access: file('{"principal":[]}') }, /principal/],
    [{ access: file('[null]') }, /a principal/],
    [{ access: file(`[${twice}]`) }, /two principals have one name/],
  ] as const) {
    await t.rejects(serve({ ...options, durability: 'disk', ...more }), wanted)
  }
  const { status, complaint } = await cellar('serve', '-d', path, '--durability', 'Disk')
  t.equal(status, 2)
  t.match(complaint, "'Disk' is invalid")
  t.equal(existsSync(path), false, 'and makes no directory')
})

void t.test('wrong words and servers that are away have their exit codes', async (t) => {
  const access = join(directory, 'broken.json')
  writeFileSync(access, '{')
  const away = ['--url', 'http://127.0.0.1:1']
  for (const [words, wanted] of [
    [['messaging', 'topics', '--limit', '0'], 2],
    [['messaging', 'bogus'], 2],
    [['messaging', 'messages', ...away], 2],
    [['messaging', 'topics', ...away], 3],
    [['metrics', ...away], 3],
    [['metrics', '--url', 'nowhere'], 2],
    [['tables', '--url', 'nowhere'], 2],
    [['serve', '-d', join(directory, 'none'), '--access', access], 2],
  ] as const) {
    const { status, complaint } = await cellar(...words)
    t.equal(status, wanted, `${words.join(' ')}: ${complaint}`)
  }
})

void t.test('looking into a directory makes nothing', async (t) => {
  for (const view of ['topics', 'transactions']) {
    const words = ['messaging', view, '-d', 'absent']
    const { status, complaint } = await startCellar(words, { cwd: directory })
    t.equal(status, 3, view)
    t.match(complaint, 'absent')
  }
  t.equal(existsSync(join(directory, 'absent')), false)
  const path = join(directory, 'plain')
  await (await Database.open(path)).close()
  for (const view of ['topics', 'transactions']) {
    const ran = await cellar('messaging', view, '-d', path)
    t.strictSame(ran, { status: 0, out: '', complaint: '' })
  }
  const database = await Database.open(path)
  t.strictSame(database.admin.listTableNames(), [])
  await database.close()
  t.match((await cellar('messaging', 'topic', '-d', path)).complaint, "no view 'topic'")
})

void t.test('the views of a directory, and of a server that runs', async (t) => {
  const path = join(directory, 'served')
  const database = await Database.open(path)
  const manager = await TransactionManager.open(database)
  const service = await MessagingService.open(database, { transactions: manager })
  await service.createTopic(topic, { ttl: '100' })
  await service.publish(topic, { messages: ['hello'] })
  await service.setPosition(topic, 'mails', await service.end(topic))
  const server = await CellarServer.start([messagingRoutes(service)], { port: 0 })
  const beside = await cellar('messaging', 'topics', '-d', path)
  t.match(beside, { status: 0, out: /^n:t  .*"ttl":"100"/ }, 'a directory that is open')
  const wanted = [
    ['topics', /^n:t  .*"ttl":"100"/],
    ['messages', /^n:t  .*"hello"/],
    ['positions', /^n:t  mails  /],
  ] as const
  for (const [view, line] of wanted) {
    const { status, out } = await cellar('messaging', view, 'n:t', '--url', server.url)
    t.equal(status, 0, view)
    t.match(out, line)
  }
  const payloads = await cellar('messaging', 'payloads', 'n:t', '--url', server.url)
  t.match(payloads.complaint, 'view of directories')
  await server.close()
  await service.close()
  await manager.close()
  await database.close()
  for (const [view, line] of wanted.slice(1)) {
    t.match((await cellar('messaging', view, '-d', path)).out, line)
  }
  const transactions = await cellar('messaging', 'transactions', '-d', path)
  t.match(transactions.out, /^read pointer [0-9]+/)
})

void t.test('a configuration file sets limits of messaging and of the server', async (t) => {
  const file = join(directory, 'cellar.config.mjs')
  writeFileSync(
    file,
    `export default { messaging: { messageBytesMax: 3, ttlSecondsDefault: 77 } }
     export const server = { requestBytesMax: 100, hosts: ['cellar.example'] }`,
  )
  const words = ['serve', '-d', 'configured', '-p', '0', '--configuration', file]
  const child = spawn(process.execPath, [cli, ...words], { cwd: directory, env: childEnvironment })
  const url = await new Promise<string>((resolve) => {
    let out = ''
    child.stdout.on('data', (text: Buffer) => {
      const found = /serves .* at (\S+)/.exec((out += text.toString()))
      if (found !== null) resolve(found[1])
    })
  })
  const client = new MessagingClient({ url })
  await client.createTopic(topic)
  t.equal((await client.getTopic(topic))['ttl'], '77')
  await client.publish(topic, { messages: ['abc'] })
  const tooLarge = { code: 'ERR_REQUEST_TOO_LARGE' }
  await t.rejects(client.publish(topic, { messages: ['abcd'] }), tooLarge)
  await t.rejects(client.publish(topic, { messages: new Array(60).fill('') }), tooLarge)
  child.kill('SIGTERM')
  const status = await new Promise((resolve) => child.once('close', resolve))
  t.equal(status, 0)
  writeFileSync(file, `export default {}\nexport const server = { hostz: [] }`)
  t.match((await startCellar(words, { cwd: directory })).complaint, 'hostz')
})

void t.test('lines of messaging: as many as wanted, of the topic, without controls', async (t) => {
  const path = join(directory, 'lines')
  const database = await Database.open(path)
  const service = await MessagingService.open(database)
  for (const each of ['a', 'b']) {
    const id = { namespace: 'n', topic: each }
    await service.createTopic(id)
    await service.publish(id, { messages: ['1', '2', '3'] })
    for (const consumer of ['one', 'two\n\u001b[31m']) {
      await service.setPosition(id, consumer, await service.end(id))
    }
  }
  const server = await CellarServer.start([messagingRoutes(service)], { port: 0 })
  const lines = async (...words: string[]): Promise<string[]> => {
    const { out } = await cellar('messaging', ...words)
    return out.split('\n').slice(0, -1)
  }
  for (const place of [
    ['-d', path],
    ['--url', server.url],
  ]) {
    t.equal((await lines('topics', ...place)).length, 2)
    t.equal((await lines('topics', ...place, '-n', '1')).length, 1)
    t.equal((await lines('messages', 'n:a', ...place, '-n', '2')).length, 2)
    t.equal((await lines('positions', 'n:a', ...place, '-n', '1')).length, 1)
    const [only, ...others] = await lines('topics', 'n:b', ...place)
    t.match(only, /^n:b /)
    t.strictSame(others, [])
    const [, second] = await lines('positions', 'n:a', ...place)
    t.ok(second.startsWith('n:a  two\\x0A\\x1B[31m  '), second)
  }
  await server.close()
  await service.close()
  await database.close()
})

void t.test('the server prunes invalid transactions only where it is told to', async (t) => {
  let starts = 0
  t.intercept(TransactionPruningService.prototype, 'start', { value: () => void starts++ })
  const options = { host: '127.0.0.1', port: '0', allowHost: [], durability: 'disk' } as const
  for (const [text, wanted] of [
    ['{}', 0],
    ['{ pruneInvalidTransactions: false }', 0],
    ['{ pruneInvalidTransactions: true }', 1],
  ] as const) {
    starts = 0
    const folder = mkdtempSync(join(directory, 'pruned-'))
    const path = join(folder, 'data')
    const configuration = join(folder, 'configuration.mjs')
    writeFileSync(configuration, `export default ${text}`)
    await serve({ ...options, directory: path, configuration })
    t.equal(starts, wanted, text)
    process.emit('SIGTERM')
    await released(path)
  }
})

/** Resolves when no server has the directory open. */
async function released(path: string): Promise<void> {
  for (;;) {
    try {
      await (await Database.open(path)).close()
      return
    } catch (error) {
      if ((error as CellarError).code !== 'ERR_LOCKED') throw error
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
}

void t.test('a server whose start fails leaves the directory to others', async (t) => {
  const file = join(directory, 'fails-once.config.mjs')
  writeFileSync(
    file,
    `let calls = 0
     export default () => {
       if (calls++ === 0) throw new Error('the search server is away')
       return {}
     }`,
  )
  const path = join(directory, 'left')
  const words = ['serve', '-d', path, '-p', '0', '--standby', '--configuration', file]
  const { status, complaint } = await startCellar(words)
  t.equal(status, 1, 'the process ends')
  t.match(complaint, 'the search server is away')

  const database = await Database.open(path)
  const child = spawn(process.execPath, [cli, ...words], { env: childEnvironment })
  let out = ''
  const says = (text: string): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => void (out.includes(text) && resolve())
      child.stdout.on('data', look)
      look()
    })
  child.stdout.on('data', (text: Buffer) => (out += text.toString()))
  await says('waits for')
  await database.close()
  await says('leads')
  t.pass('the second attempt succeeds after the first has failed')
  child.kill('SIGTERM')
  t.equal(await new Promise((resolve) => child.once('close', resolve)), 0)
})
