/**
 * Histories of records over HTTP, against `cellar serve` in a process of its own that is killed or
 * asked to end, and started again on the same directory.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Database } from '../../../src/entries/index.js'
import { RepositoryManager } from '../../../src/systems/repository/index.js'
import { childEnvironment } from '../../helpers/child-environment.js'
import { projectRoot } from '../../helpers/project-root.js'
import { generatorOf } from '../recovery.js'
import { drawSteps, History, type HistoryStore, type Judgement } from './history.js'
import type { RowName, Shown } from './history-model.js'

const cli = join(projectRoot, 'build/package/cellar.js')
const fields = ['{h}v', '{h}w'] as const
const recordType = '{h}row'
const json = { 'content-type': 'application/json' }
const lives = 3

/** What histories over HTTP did so far. */
export type HttpCounts = {
  rounds: number
  histories: number
  calls: number
  unknown: number
  kills: number
}

/** An answer that says that nothing was written. */
class Refused extends Error {
  override readonly name = 'Refused'
}

/** Records of a repository as rows; the server is one that listens at the address. */
class HttpStore implements HistoryStore {
  /** Called before each request. */
  onCall: () => void = () => {}
  readonly #address: string

  constructor(address: string) {
    this.#address = address
  }

  async get(row: RowName): Promise<Shown> {
    const { status, body } = await this.#call('GET', row)
    if (status === 404) return { value: undefined, count: 0 }
    if (status !== 200) throw new Error(`get: ${status}`)
    const [value, other] = fields.map((field) => {
      return (body['fields'] as Record<string, string>)[field]
    })
    return { value: value === other ? value : `torn: ${value}, ${other}`, count: 0 }
  }

  async put(row: RowName, value: string): Promise<void> {
    const { status } = await this.#call('PUT', row, recordOf(value))
    if (status >= 400) throw failure('put', status)
  }

  async compareAndSet(row: RowName, expected: string | undefined, value: string): Promise<boolean> {
    if (expected === undefined) {
      const { status } = await this.#call('PUT', row, recordOf(value), { 'if-none-match': '*' })
      if (status === 412) return false
      if (status >= 400) throw failure('create', status)
      return true
    }
    const conditions = [{ field: fields[0], value: expected }]
    const update = { action: 'update', record: recordOf(value), conditions }
    const { status, body } = await this.#call('POST', row, update)
    // A condition that does not hold is answered with the record, another writer with an error.
    if (status === 404 || (status === 409 && 'fields' in body)) return false
    if (status >= 400) throw failure('update', status)
    return true
  }

  async delete(row: RowName): Promise<void> {
    const { status } = await this.#call('DELETE', row)
    if (status >= 400 && status !== 404) throw failure('delete', status)
  }

  increment(): Promise<number> {
    throw new Error('records have no counters')
  }

  batch(): Promise<boolean> {
    throw new Error('a request writes one record')
  }

  /** Reads one by one: for the end of a life, when nobody writes. */
  async scan(rows: readonly RowName[]): Promise<readonly Shown[]> {
    const found: Shown[] = []
    for (const row of rows) found.push(await this.get(row))
    return found
  }

  async #call(
    method: string,
    row: RowName,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> {
    this.onCall()
    const response = await fetch(
      `${this.#address}/repository/record/USER.${row.replace(':', '')}?nsprefixes=false`,
      {
        method,
        headers: body === undefined ? headers : { ...json, ...headers },
        body: body === undefined ? null : JSON.stringify(body),
      },
    )
    const text = await response.text()
    const parsed = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
    return { status: response.status, body: parsed }
  }
}

function recordOf(value: string): object {
  return { type: recordType, fields: Object.fromEntries(fields.map((field) => [field, value])) }
}

function failure(what: string, status: number): Error {
  return status < 500 ? new Refused(`${what}: ${status}`) : new Error(`${what}: ${status}`)
}

/** A server, and its end. */
interface Serving {
  readonly address: string
  readonly child: ChildProcess
  readonly ended: Promise<unknown>
}

async function serve(directory: string): Promise<Serving> {
  const child = spawn(process.execPath, [cli, 'serve', '--port', '0', '--directory', directory], {
    env: childEnvironment,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  let said = ''
  child.stderr.on('data', (data: Buffer) => (said += data.toString()))
  const address = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (data: Buffer) => {
      said += data.toString()
      const [address] = /http:\/\/[\d.]+:\d+/.exec(said) ?? []
      if (address !== undefined) resolve(address)
    })
    void ended.then((code) => reject(new Error(`the server ended with ${String(code)}: ${said}`)))
  })
  return { address, child, ended }
}

async function makeSchema(directory: string): Promise<void> {
  const database = await Database.open(directory, { executor: 'inline' })
  const manager = await RepositoryManager.open(database)
  for (const name of fields) {
    await manager.types.createFieldType({ name, valueType: 'STRING', scope: 'NON_VERSIONED' })
  }
  await manager.types.createRecordType({ name: recordType })
  await manager.close()
  await database.close()
}

/** Runs one history; what is wrong with it, or undefined. */
export async function checkHttpHistory(
  seed: number,
  counts: HttpCounts,
  plant: (store: HistoryStore) => HistoryStore = (store) => store,
): Promise<string | undefined> {
  const home = mkdtempSync(join(tmpdir(), 'cellar-http-'))
  const directory = join(home, 'database')
  const random = generatorOf(seed, 13)
  const weights = { get: 4, put: 2, compareAndSet: 6, delete: 1 }
  const clients = 3 + Math.floor(random() * 3)
  const steps = drawSteps(random, lives, clients, 16, weights)
  const history = new History()
  let server: Serving | undefined
  try {
    await makeSchema(directory)
    for (let life = 0; life < lives; life++) {
      server = await serve(directory)
      const { address, child, ended } = server
      const http = new HttpStore(address)
      const store = plant(http)
      await history.observe(store)
      const mine = steps.filter((step) => step.life === life)
      const signal = random() < 0.8 ? 'SIGKILL' : 'SIGTERM'
      // By work done: a busy machine would be cut before it has answered anything.
      const last = Math.floor(random() * mine.length)
      const milliseconds = random() * 8
      let begun = 0
      let timer: NodeJS.Timeout | undefined
      http.onCall = () => {
        if (begun++ === last) timer = setTimeout(() => child.kill(signal), milliseconds)
      }
      const judge = (error: unknown): Judgement => {
        const { cause } = error as { readonly cause?: { readonly code?: string } }
        const reachedNobody = cause?.code === 'ECONNREFUSED'
        return reachedNobody || error instanceof Refused ? 'not done' : 'unknown'
      }
      await history.run(store, mine, judge)
      clearTimeout(timer)
      child.kill(signal)
      await ended
      history.crash()
      counts.kills++
    }
    server = await serve(directory)
    await history.observe(new HttpStore(server.address))
  } finally {
    server?.child.kill('SIGKILL')
    await server?.ended
    rmSync(home, { recursive: true, force: true })
  }
  counts.histories++
  counts.calls += history.answered
  counts.unknown += history.unknown
  return history.judgeRows()
}
