/**
 * Random groups of calls beside a plain model: calls of one turn, of several handles, some of which
 * fail. Each call has the answer that it would have alone behind those before, and the feed tells
 * exactly what was changed. Small limits cut groups, commits and rows of the feed.
 *
 * CELLAR_SEED: the first seed. CELLAR_GROUP_HISTORIES: how many.
 *
 * @runs campaign
 */
import t, { type Test } from 'tap'
import { Database, MemoryFileSystem } from '../../src/entries/index.js'
import {
  metadataStoreOf,
  type BatchOperation,
  type CellarMetadataStore,
} from '../../src/systems/metastore/pulsar/index.js'
import { limitsForTests } from '../../src/systems/metastore/pulsar/store/store-core.js'
import { lengthOf } from '../helpers/length.js'

function randomOf(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const ok = 'OK'
const badVersion = 'ERR_METADATA_BAD_VERSION'
const notFound = 'ERR_METADATA_NOT_FOUND'
const notEmpty = 'ERR_METADATA_NOT_EMPTY'
const noChildren = 'ERR_METADATA_NO_CHILDREN_FOR_EPHEMERALS'
const invalidArgument = 'ERR_METADATA_INVALID_ARGUMENT'

const cellBytesMax = 3_000
const limits = {
  groupCallsMax: 9,
  groupBytesMax: 8_000,
  commitBytesMax: 25_000,
  feedRowBytesMax: 300,
}

interface ModelRecord {
  readonly value: string
  readonly version: number
  readonly owner: number
}

/** What the records are after the calls so far. */
class Model {
  records = new Map<string, ModelRecord>()

  hasBelow(path: string): boolean {
    for (const each of this.records.keys()) if (each.startsWith(`${path}/`)) return true
    return false
  }

  isBelowOwned(path: string): boolean {
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
      if ((this.records.get(path.slice(0, at))?.owner ?? 0) !== 0) return true
    }
    return false
  }

  /** The code of a step; a step that is in order is applied. */
  step(step: BatchOperation, owner: number): string {
    const path = 'put' in step ? step.put : 'delete' in step ? step.delete : step.check
    const { expected } = step
    const before = this.records.get(path)
    if ('delete' in step && before === undefined) return notFound
    if (expected !== undefined && expected !== (before?.version ?? -1)) return badVersion
    if ('put' in step) {
      const version = before === undefined ? 0 : before.version + 1
      const owned = step.ephemeral === true ? owner : 0
      const session = before === undefined ? owned : before.owner
      const isParent = owned !== 0 && this.hasBelow(path)
      if (before === undefined && (isParent || this.isBelowOwned(path))) return noChildren
      if (step.value.length > cellBytesMax) return invalidArgument
      this.records.set(path, { value: step.value as string, version, owner: session })
    } else if ('delete' in step) {
      if (this.hasBelow(path)) return notEmpty
      this.records.delete(path)
    }
    return ok
  }

  /** All steps, or none. */
  batch(steps: readonly BatchOperation[], owner: number): string {
    const before = new Map(this.records)
    let answer = ok
    for (const step of steps) {
      answer = this.step(step, owner)
      if (answer !== ok) break
    }
    if (answer !== ok) this.records = before
    return answer
  }

  removeBelow(path: string): void {
    for (const each of [...this.records.keys()]) {
      if (each === path || each.startsWith(`${path}/`)) this.records.delete(each)
    }
  }

  endSession(owner: number): void {
    for (const [path, record] of this.records) {
      if (record.owner === owner) this.records.delete(path)
    }
  }
}

const answerOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => ok,
    (error: { code?: string }) => error.code ?? 'no code',
  )

async function history(t: Test, seed: number): Promise<void> {
  const random = randomOf(seed)
  const path = (): string => {
    const parts = [`/${'x'.repeat(random(40))}p${random(3)}`]
    while (random(3) > 0 && parts.length < 4) parts.push(`/${random(4)}`)
    return parts.join('')
  }
  const step = (): BatchOperation => {
    const kind = random(10)
    const expected = random(3) === 0 ? random(4) - 1 : undefined
    if (kind === 0) return { check: path(), expected: expected ?? -1 }
    if (kind < 3) return { delete: path(), ...(expected !== undefined && { expected }) }
    const value = random(12) === 0 ? 'b'.repeat(cellBytesMax + 500) : 'v'.repeat(random(60))
    const ephemeral = random(3) === 0
    return { put: path(), value, ...(expected !== undefined && { expected }), ephemeral }
  }
  const database = await Database.open('/database', {
    fileSystem: new MemoryFileSystem(),
    executor: 'inline',
    cellBytesMax,
  })
  limitsForTests.set(database, limits)
  const watcher = await metadataStoreOf(database)
  const handles: CellarMetadataStore[] = [
    await metadataStoreOf(database),
    await metadataStoreOf(database),
  ]
  const model = new Model()
  const told = new Set<string>()
  watcher.registerListener(({ type, path }) => {
    if (type === 'Created') told.add(path)
    if (type === 'Deleted') told.delete(path)
  })
  const from = watcher.sequence + 1
  for (let group = 0; group < 12; group++) {
    const calls: Promise<string>[] = []
    const wanted: string[] = []
    for (let i = random(40); i >= 0; i--) {
      const at = random(handles.length)
      const handle = handles[at]
      const owner = handle.sessionId
      const kind = random(20)
      if (kind === 0) {
        const root = path()
        model.removeBelow(root)
        calls.push(answerOf(handle.deleteRecursive(root)))
        wanted.push(ok)
      } else if (kind === 1 && calls.length === 0) {
        model.endSession(owner)
        calls.push(answerOf(handle.close()))
        handles.splice(at, 1)
        wanted.push(ok)
        // Its calls would fail from now on, those under way included.
        break
      } else if (kind < 6) {
        const steps = Array.from({ length: 1 + random(5) }, step)
        wanted.push(model.batch(steps, owner))
        calls.push(answerOf(handle.batch(steps)))
      } else {
        const one = step()
        if ('check' in one) continue
        wanted.push(model.batch([one], owner))
        if ('delete' in one) calls.push(answerOf(handle.delete(one.delete, one.expected)))
        else {
          const options = { ephemeral: one.ephemeral }
          calls.push(answerOf(handle.put(one.put, one.value, one.expected, options)))
        }
      }
    }
    t.same(await Promise.all(calls), wanted, `seed ${seed}, group ${group}: each answer`)
    while (handles.length < 2) handles.push(await metadataStoreOf(database))
    for (const [each, { value, version }] of model.records) {
      const found = await watcher.get(each)
      if (found?.value.toString() === value && found.stat.version === version) continue
      t.fail(`seed ${seed}, group ${group}: ${each}`)
    }
    await new Promise((resolve) => setImmediate(resolve))
    t.same([...told].sort(), [...model.records.keys()].sort(), 'listeners know all records')
  }
  const { sequence: last } = await watcher.put('/end', '')
  model.step({ put: '/end', value: '' }, 0)
  const live = new Set<string>()
  let before = from - 1
  for await (const { sequence, events } of watcher.subscribe({ fromSequence: from })) {
    if (sequence <= before) t.fail(`seed ${seed}: sequence ${sequence} behind ${before}`)
    before = sequence
    for (const { type, path } of events) {
      if (type === 'Created') live.add(path)
      if (type === 'Deleted') live.delete(path)
    }
    if (sequence === last) break
  }
  t.same([...live].sort(), [...model.records.keys()].sort(), 'so does the feed')
  for (const handle of handles) await handle.close()
  for (const [each, { owner }] of model.records) {
    t.equal(await watcher.exists(each), owner === 0, 'only persistent records stay')
  }
  await watcher.close()
  await database.close()
}

const firstSeed = Number(process.env.CELLAR_SEED ?? 1)
const rounds = lengthOf('CELLAR_GROUP_HISTORIES', 8, 200)

void t.test(`groups beside a model, from seed ${firstSeed} on`, async (t) => {
  for (let seed = firstSeed; seed < firstSeed + rounds; seed++) await history(t, seed)
  t.comment(`${rounds} histories`)
})
