/**
 * Random histories of records beside the model, with a clock that steps in both directions.
 *
 * CELLAR_SEED: the first seed. CELLAR_RECORD_HISTORIES: how many.
 *
 * @runs campaign
 */
import t, { type Test } from 'tap'
import { seededRandom } from '../../../../src/base/random.js'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  RepositoryManager,
  type BatchWrite,
  type RecordInput,
  type RecordTable,
  type StoredRecord,
} from '../../../../src/systems/repository/index.js'
import { lengthOf } from '../../../helpers/length.js'
import { RecordModel, type ModelInput, type ModelStatus, type ModelView } from './record-model.js'

const ids = ['USER.a', 'USER.b', 'USER.b.lang=en', 'USER.c']
const own = ['n1', 'n2', 'v1', 'v2', 'm1', 'm2']
const tags = ['x1', 'x2']
const tagSpace = 'org.lilyproject.vtag'
const nameOf = (local: string): string => `{${local.startsWith('x') ? tagSpace : 'h'}}${local}`
const localOf = (name: string): string => name.slice(name.indexOf('}') + 1)
const type = '{h}r'

async function open(
  t: Test,
  clock: { now(): number },
  undeleteMilliseconds: number,
): Promise<RecordTable> {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/database', { fileSystem, executor: 'inline' })
  const manager = await RepositoryManager.open(database, { clock, undeleteMilliseconds })
  t.teardown(async () => {
    await manager.close()
    await database.close()
  })
  for (const local of [...own, ...tags]) {
    const isTag = local.startsWith('x')
    const scopes = {
      n: 'NON_VERSIONED',
      x: 'NON_VERSIONED',
      v: 'VERSIONED',
      m: 'VERSIONED_MUTABLE',
    }
    const scope = scopes[local[0] as 'n'] as 'NON_VERSIONED'
    const valueType = isTag ? 'LONG' : 'STRING'
    await manager.types.createFieldType({ name: nameOf(local), valueType, scope })
  }
  await manager.types.createRecordType({ name: type })
  return manager.repository().table()
}

const qualified = <V>(values: Readonly<Record<string, V>>): Record<string, V | bigint> => {
  const entries = Object.entries(values).map(([local, value]): [string, V | bigint] => {
    return [nameOf(local), local.startsWith('x') ? BigInt(value as number) : value]
  })
  return Object.fromEntries(entries)
}

function viewOf({ version, fields, metadata }: StoredRecord): ModelView {
  const shown = Object.entries(fields).map(([name, value]) => {
    return [localOf(name), typeof value === 'bigint' ? Number(value) : value]
  })
  const beside = Object.entries(metadata).map(([name, value]) => [localOf(name), value])
  return {
    version,
    fields: Object.fromEntries(shown) as Record<string, unknown>,
    metadata: Object.fromEntries(beside) as Record<string, unknown>,
  }
}

const statuses: Readonly<Record<string, ModelStatus>> = {
  ERR_RECORD_NOT_FOUND: 'NOT_FOUND',
  ERR_RECORD_EXISTS: 'EXISTS',
  ERR_VERSION_NOT_FOUND: 'NO_VERSION',
}

/** The status of a write, or what its error stands for; undefined of another error. */
async function statusOf(write: Promise<{ readonly status: string }>): Promise<string> {
  try {
    return (await write).status
  } catch (error) {
    const { code } = error as { code?: string }
    const known = statuses[code ?? '']
    if (known === undefined) throw error
    return known
  }
}

/** A result, or undefined if there is no such record or version. */
async function found<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (statuses[(error as { code?: string }).code ?? ''] === undefined) throw error
    return undefined
  }
}

async function compare(
  t: Test,
  table: RecordTable,
  id: string,
  model: RecordModel,
  times: readonly number[],
): Promise<boolean> {
  const shown: unknown[] = []
  const wanted: unknown[] = []
  const add = (actual: unknown, expected: unknown): void => {
    shown.push(actual)
    wanted.push(expected)
  }
  const read = async (reading: Promise<StoredRecord | undefined>): Promise<unknown> => {
    const record = await found(reading)
    return record === undefined ? undefined : viewOf(record)
  }
  add(await read(table.read(id)), model.view(model.newest))
  for (let version = 1; version <= model.newest + 1; version++) {
    add(await read(table.read(id, { version })), model.view(version))
  }
  for (const time of times) {
    const at = model.at(time)
    add(await read(table.readAt(id, time)), at === undefined ? undefined : model.view(at))
  }
  for (const tag of tags) {
    const at = model.tagged(tag)
    // Tag 0 is the view without versions, which others test.
    if (at === 0) continue
    add(await read(table.readTagged(id, tag)), at === undefined ? undefined : model.view(at))
  }
  return t.strictSame(shown, wanted, id)
}

type Draw = { readonly random: () => number; readonly input: () => ModelInput }

/** A batch of random writes of some of the records: what was told, and what the models say. */
async function batch(
  table: RecordTable,
  models: Map<string, RecordModel>,
  now: number,
  { random, input }: Draw,
): Promise<{ told: unknown; expected: unknown }> {
  const writes: BatchWrite[] = []
  const after = new Map<string, RecordModel>()
  const expected: string[] = []
  let failure: string | undefined
  for (const [id, model] of models) {
    if (random() < 0.4) continue
    const given = input()
    const { fieldsToDelete } = given
    if (Object.keys(given.fields).every((name) => fieldsToDelete.includes(name))) continue
    const conditions = random() < 0.15 ? [{ field: nameOf('n1'), value: '1' }] : []
    const own = model.copy()
    const isConflict = conditions.length > 0 && !own.has('n1', '1')
    let status: string
    const isCreate = model.exists ? random() < 0.03 : random() < 0.9
    if (isCreate) {
      writes.push({ create: { ...writtenOf(id, given), type } })
      status = own.create(given, now)
    } else if (random() < 0.2) {
      writes.push({ delete: id, options: { conditions } })
      status = own.delete(now)
    } else {
      const autosave = random() < 0.5
      writes.push({ update: writtenOf(id, given), options: { autosave, conditions } })
      status = own.update(given, now, autosave)
    }
    if (status === 'EXISTS' || status === 'NOT_FOUND') failure ??= status
    expected.push(!isCreate && isConflict ? 'CONFLICT' : status)
    after.set(id, own)
  }
  const told = await table.batch(writes).then(
    (results) => results.map(({ status }) => status),
    (error: unknown) => statuses[(error as { code: string }).code],
  )
  if (failure !== undefined) return { told, expected: failure }
  if (!expected.includes('CONFLICT')) {
    for (const [id, model] of after) models.set(id, model)
    return { told, expected }
  }
  const isLeft = (status: string): boolean => status !== 'CONFLICT' && status !== 'UP_TO_DATE'
  return { told, expected: expected.map((status) => (isLeft(status) ? 'NOT_WRITTEN' : status)) }
}

function writtenOf(id: string, { fields, fieldsToDelete, metadata }: ModelInput): RecordInput {
  return {
    id,
    fields: qualified(fields),
    fieldsToDelete: fieldsToDelete.map(nameOf),
    metadata: qualified(metadata) as Record<string, Record<string, string>>,
  }
}

async function history(t: Test, seed: number, steps: number): Promise<void> {
  const random = seededRandom(seed)
  const pick = (count: number): number => Math.floor(random() * count)
  const oneOf = <T>(list: readonly T[]): T => list[pick(list.length)]
  let now = 1_700_000_000_000
  const keeps = oneOf([0, 50])
  const table = await open(t, { now: () => now }, keeps)
  const models = new Map(ids.map((id) => [id, new RecordModel(keeps)]))
  const times: number[] = [now]
  const input = (): ModelInput => {
    const fields: Record<string, unknown> = {}
    const metadata: Record<string, Record<string, unknown>> = {}
    for (const local of own) {
      if (random() < 0.25) fields[local] = `${pick(3)}`
      const mayHave = !local.startsWith('m') && random() < 0.1
      if (mayHave) metadata[local] = { [oneOf(['a', 'b'])]: pick(2) }
    }
    if (random() < 0.1) fields[oneOf(tags)] = pick(8)
    const fieldsToDelete = [...own, ...tags].filter(() => random() < 0.07)
    return { fields, fieldsToDelete, metadata }
  }
  for (let step = 0; step < steps; step++) {
    now += random() < 0.15 ? -pick(100) : pick(20)
    if (random() < 0.3) times.push(now + pick(20) - 10)
    const id = oneOf(ids)
    if (random() < 0.1) {
      const { told, expected } = await batch(table, models, now, { random, input })
      if (!t.strictSame(told, expected, `${step}: a batch`)) return
      if (!(await compare(t, table, id, models.get(id)!, [now]))) return
      continue
    }
    const model = models.get(id)!
    const given = input()
    const { fields, fieldsToDelete } = given
    const written = writtenOf(id, given)
    const version = 1 + pick(model.newest + 1)
    const act = random()
    let status: string
    let expected: string
    let what: string
    if (!model.exists && act < 0.6) {
      what = 'create'
      if (Object.keys(fields).every((name) => fieldsToDelete.includes(name))) continue
      status = await statusOf(table.create({ ...written, type }))
      expected = model.create(given, now)
    } else if (act < 0.5) {
      const autosave = random() < 0.6
      what = `update, autosave ${autosave}`
      status = await statusOf(table.update(written, { autosave }))
      expected = model.update(given, now, autosave)
    } else if (act < 0.75) {
      what = `mutable update of ${version}`
      const own = { id, fields: written.fields, fieldsToDelete: written.fieldsToDelete }
      status = await statusOf(table.update(own, { version }))
      expected = model.mutate(given, version, now)
    } else if (act < 0.82) {
      what = `restore ${version}`
      status = await statusOf(table.restore(id, version))
      expected = model.restore(version, now)
    } else if (act < 0.88) {
      const tag = oneOf(tags)
      what = `tag ${version}`
      status = await statusOf(table.tag(id, nameOf(tag), version))
      const tagged = { fields: { [tag]: version }, fieldsToDelete: [], metadata: {} }
      expected = model.update(tagged, now, false)
    } else if (act < 0.93) {
      const keep = 1 + pick(4)
      const ageMillisecondsMin = random() < 0.5 ? pick(100) : undefined
      const keepTagged = random() < 0.5
      what = `prune ${keep} ${ageMillisecondsMin} ${keepTagged}`
      status = await statusOf(table.pruneVersions(id, { keep, ageMillisecondsMin, keepTagged }))
      const since = ageMillisecondsMin === undefined ? undefined : now - ageMillisecondsMin
      expected = model.prune(keep, since, keepTagged)
    } else if (act < 0.96) {
      what = 'delete'
      status = await statusOf(table.delete(id))
      expected = model.delete(now)
    } else if (act < 0.98) {
      what = 'undelete'
      status = await statusOf(table.undelete(id))
      expected = model.undelete(now)
      if (expected === 'LATE') expected = 'NOT_FOUND'
    } else {
      what = 'purge'
      await table.purgeDeleted()
      for (const each of models.values()) each.purge(now)
      status = expected = 'PURGED'
    }
    if (!t.equal(status, expected, `${step}: ${what} of ${id}`)) return
    const some = [oneOf(times), oneOf(times), now, now - 30]
    if (!(await compare(t, table, id, model, some))) return
    const [from, to] = [1 + pick(model.newest + 1), 1 + pick(model.newest + 1)]
    const differences = await found(table.diff(id, from, to))
    const names = differences?.map(({ field }) => localOf(field)).sort()
    if (!t.strictSame(names, model.diff(from, to), `the difference of ${from} and ${to}`)) return
  }
}

void t.test('the order of metadata makes no difference, in model and repository', async (t) => {
  const table = await open(t, { now: () => 0 }, 0)
  const model = new RecordModel(0)
  const id = ids[0]
  const write = (metadata: Record<string, number>): ModelInput => {
    return { fields: { v1: '1' }, fieldsToDelete: [], metadata: { v1: metadata } }
  }
  const first = write({ a: 1, b: 1 })
  await table.create({ ...writtenOf(id, first), type })
  model.create(first, 0)
  const away = { fields: { v2: '1' }, fieldsToDelete: ['v1'], metadata: {} }
  const back = { ...write({ b: 1, a: 1 }), fieldsToDelete: ['v2'] }
  for (const input of [away, back]) {
    await table.update(writtenOf(id, input))
    model.update(input, 0, false)
  }
  for (const [from, to, names] of [
    [1, 3, []],
    [1, 2, ['v1', 'v2']],
  ] as const) {
    t.strictSame(
      (await table.diff(id, from, to)).map(({ field }) => localOf(field)),
      names,
    )
    t.strictSame(model.diff(from, to), names)
  }
  t.equal((await table.restore(id, 1)).status, 'UP_TO_DATE')
  t.equal(model.restore(1, 0), 'UP_TO_DATE')
})

/** Writes that run at once: each makes one version of each of its records, or of none. */
async function concurrentWrites(t: Test, seed: number): Promise<void> {
  const random = seededRandom(seed)
  const table = await open(t, { now: () => 1_700_000_000_000 }, 0)
  const versions = new Map<string, number>()
  for (const id of ids) {
    await table.create({ id, type, fields: { [nameOf('v1')]: 'first' } })
    versions.set(id, 1)
  }
  let written = 0
  for (let turn = 0; turn < 20; turn++) {
    const calls = Array.from({ length: 2 + Math.floor(random() * 4) }, async () => {
      const some = ids.filter(() => random() < 0.5)
      const [only] = some
      if (only === undefined) return
      const writes = some.map((id) => ({
        update: { id, fields: { [nameOf('v1')]: `${++written}` } },
      }))
      if (some.length === 1) await table.update(writes[0].update)
      else await table.batch(writes)
      for (const id of some) versions.set(id, versions.get(id)! + 1)
    })
    for (const outcome of await Promise.allSettled(calls)) {
      if (outcome.status === 'rejected')
        t.match(outcome.reason, { code: 'ERR_CONCURRENT_RECORD_UPDATE' })
    }
  }
  for (const [id, version] of versions) {
    t.equal((await table.read(id)).version, version, `seed ${seed}: no version of ${id} is lost`)
  }
}

const firstSeed = Number(process.env['CELLAR_SEED'] ?? 2300)
const rounds = lengthOf('CELLAR_RECORD_HISTORIES', 3, 60)

for (let round = 0; round < rounds; round++) {
  const seed = firstSeed + round
  void t.test(`a random history is that of the model, seed ${seed}`, async (t) => {
    await history(t, seed, 300)
    await concurrentWrites(t, seed)
    t.comment('1 histories')
  })
}
