/**
 * The configuration file: what is of the wrong type, or is not the file's to set, is refused.
 *
 * @runs long
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { readConfiguration } from '../../../src/server/configuration.js'

const directory = mkdtempSync(join(tmpdir(), 'cellar-configuration-'))
t.teardown(() => rmSync(directory, { recursive: true, force: true }))
let files = 0

function fileOf(text: string, extension = 'mjs'): string {
  const file = join(directory, `${files++}.${extension}`)
  writeFileSync(file, text)
  return file
}

void t.test('limits of the server are an object, without what the command sets', async (t) => {
  const { server } = await readConfiguration(fileOf('export default {}; export const server = {}'))
  t.strictSame(server, {})
  for (const [text, message] of [
    ['null', 'must be an object'],
    ['5', 'must be an object'],
    ['[]', 'must be an object'],
    ["'x'", 'must be an object'],
    ["{ hosts: 'db.example' }", 'hosts must be an array'],
    ['{ hosts: 5 }', 'hosts must be an array'],
    ['{ token: "token-of-ada" }', 'no token'],
    ['{ port: 80 }', 'no port'],
    ['{ host: "0.0.0.0" }', 'no host'],
    ['{ principals: [] }', 'no principals'],
  ]) {
    const file = fileOf(`export default {}\nexport const server = ${text}`)
    const refusal = { code: 'ERR_INVALID_ARGUMENT', message: new RegExp(message) }
    await t.rejects(readConfiguration(file), refusal, text)
  }
})

void t.test(
  'options of messaging and transactions that the command sets are refused',
  async (t) => {
    for (const text of [
      "{ messaging: { tablePrefix: 'other' } }",
      "{ messaging: { durability: 'SKIP_WAL' } }",
      '{ messaging: { clock: undefined } }',
      "{ transactions: { table: 'other' } }",
    ]) {
      const refusal = { code: 'ERR_INVALID_ARGUMENT', message: /the command sets it/ }
      await t.rejects(readConfiguration(fileOf(`export default ${text}`)), refusal, text)
      const made = await readConfiguration(fileOf(`export default () => (${text})`))
      await t.rejects(made.for(undefined as never), refusal, text)
    }
  },
)

void t.test('an export with another name is refused: it would count for nothing', async (t) => {
  for (const text of [
    'export default {}; export const Server = { connectionsMax: 5 }',
    'export default {}; export const servers = { connectionsMax: 5 }',
    'export default () => ({}); export const messaging = { ttlSecondsDefault: 5 }',
  ]) {
    const refusal = { code: 'ERR_INVALID_ARGUMENT', message: /unknown export '(S|s|m)/ }
    await t.rejects(readConfiguration(fileOf(text)), refusal, text)
  }
  // The members of a CommonJS module are exports of their own, too.
  const common = 'module.exports = { pruneInvalidTransactions: true, messaging: {} }'
  const { for: made } = await readConfiguration(fileOf(common, 'cjs'))
  t.match(await made(undefined as never), { pruneInvalidTransactions: true })
})

void t.test('wrong options of each part are found before a database is open', async (t) => {
  for (const [text, message] of [
    ['{ messaging: { ttlSecondDefault: 5 } }', /ttlSecondDefault/],
    ['{ messaging: { ttlSecondsDefault: -1 } }', /ttlSecondsDefault/],
    ['{ messaging: { ttlSecondsDefault: "1" } }', /ttlSecondsDefault/],
    ['{ transactions: { timeout: 5 } }', /timeout/],
    ['{ transactions: { timeoutMilliseconds: 0 } }', /timeoutMilliseconds/],
    ['{ maintenance: { interval: 5 } }', /interval/],
    ['{ repository: { undelete: 5 } }', /undelete/],
    ['{}; export const server = { chunkBytes: 0 }', /chunkBytes/],
  ] as const) {
    const file = fileOf(`export default ${text}`)
    await t.rejects(readConfiguration(file), { code: 'ERR_INVALID_ARGUMENT', message }, text)
  }
})
