/**
 * Field indexes beside a naive scan: random writes and queries; builds while writes go on.
 *
 * @runs long
 */
import type { AtomicBatch } from '../../../../src/api/index.js'
import t from 'tap'
import { seededRandom } from '../../../../src/base/random.js'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  RepositoryManager,
  type FieldQuery,
  type RecordTable,
  type StoredRecord,
} from '../../../../src/systems/repository/index.js'
import { simpleTypes } from '../../../../src/systems/repository/values/simple-types.js'
import { lengthOf } from '../../../helpers/length.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 1606)
const random = seededRandom(seed)
const pick = (count: number): number => Math.floor(random() * count)
const oneOf = <T>(list: readonly T[]): T => list[pick(list.length)]

/** Values of each type, few enough to be met again. */
const values: Readonly<Record<string, readonly unknown[]>> = {
  STRING: ['', 'a', 'a\0', 'a\0b', 'ab', 'é', '\u{10ffff}', '\x01', '\x00'],
  INTEGER: [0, -1, 1, 2 ** 31 - 1, -(2 ** 31), 256],
  LONG: [0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 255n],
  DOUBLE: [0, -0, -1.5, Infinity, -Infinity, NaN, 5e-324],
  DECIMAL: ['0', '-0.1', '1.50', '1.5', '10', '-10', '99999999999999999999'],
  BOOLEAN: [true, false],
  DATE: ['0000-01-01', '2024-02-29', '9999-12-31'],
  DATETIME: [new Date(0), new Date(-1), new Date(8.64e15)],
  BYTEARRAY: [Buffer.alloc(0), Buffer.of(0), Buffer.of(0, 255), Buffer.of(255), Buffer.of(1)],
}
const typeNames = Object.keys(values)
const fieldOf = (type: string): string => `{n}${type.toLowerCase()}`
const listOf = (type: string): string => `{n}list-${type.toLowerCase()}`

async function open(fileSystem: MemoryFileSystem): Promise<{
  database: Database
  manager: RepositoryManager
  table: RecordTable
}> {
  const database = await Database.open('/database', { fileSystem, executor: 'inline' })
  const manager = await RepositoryManager.open(database)
  return { database, manager, table: manager.repository().table() }
}

async function createTypes({ types }: RepositoryManager): Promise<void> {
  for (const valueType of typeNames) {
    const scope = oneOf(['NON_VERSIONED', 'VERSIONED', 'VERSIONED_MUTABLE'] as const)
    await types.createFieldType({ name: fieldOf(valueType), valueType, scope })
    await types.createFieldType({ name: listOf(valueType), valueType: `LIST<${valueType}>`, scope })
  }
  await types.createRecordType({ name: '{n}r' })
}

function randomFields(): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const type of typeNames) {
    if (random() < 0.5) fields[fieldOf(type)] = oneOf(values[type])
    if (random() < 0.3) {
      fields[listOf(type)] = Array.from({ length: pick(4) }, () => oneOf(values[type]))
    }
  }
  return fields
}

const refusals = new Set<string>()

async function randomWrite(table: RecordTable): Promise<void> {
  const id = `USER.${pick(30)}${random() < 0.2 ? '.lang=en' : ''}`
  const kind = random()
  try {
    if (kind < 0.6) {
      const fields = { [fieldOf('BOOLEAN')]: true, ...randomFields() }
      await table.createOrUpdate({ id, type: '{n}r', fields })
    } else if (kind < 0.75) {
      const fieldsToDelete = [fieldOf(oneOf(typeNames)), listOf(oneOf(typeNames))]
      await table.update({ id, fieldsToDelete })
    } else if (kind < 0.85) {
      await table.update({ id, fields: randomFields() }, { version: 1 + pick(3) })
    } else await table.delete(id)
  } catch (error) {
    refusals.add((error as { code: string }).code)
  }
}

interface Part {
  readonly type: string
  readonly isList: boolean
  readonly isDescending: boolean
}

const nameOf = ({ type, isList }: Part): string => (isList ? listOf(type) : fieldOf(type))

/** Order of two values of a part; undefined = absent. */
function compare({ type, isDescending }: Part, a: unknown, b: unknown): number {
  const direction = isDescending ? -1 : 1
  if (a === undefined || b === undefined) {
    return direction * (Number(a !== undefined) - Number(b !== undefined))
  }
  const order = simpleTypes[type](undefined, () => undefined as never).compare!
  return direction * Math.sign(order(a as never, b as never))
}

/** What a query finds, by looking at all entries of all records. */
function naive(
  records: readonly StoredRecord[],
  parts: readonly Part[],
  wants: (entry: readonly unknown[]) => boolean,
  isReversed: boolean,
): string[] {
  const entries = records.flatMap(({ id, fields }) => {
    let rows: unknown[][] = [[]]
    for (const part of parts) {
      const value = fields[nameOf(part)]
      const list = part.isList ? ((value as unknown[] | undefined) ?? []) : [value]
      rows = rows.flatMap((row) => {
        return (list.length === 0 ? [undefined] : list).map((each) => [...row, each])
      })
    }
    return rows.filter(wants).map((row) => ({ id, row }))
  })
  entries.sort((x, y) => {
    for (const [at, part] of parts.entries()) {
      const order = compare(part, x.row[at], y.row[at])
      if (order !== 0) return order
    }
    return Buffer.compare(x.id.bytes, y.id.bytes)
  })
  if (isReversed) entries.reverse()
  return [...new Set(entries.map(({ id }) => id.text))]
}

function randomParts(): Part[] {
  const types = [...typeNames].sort(() => random() - 0.5).slice(0, 1 + pick(3))
  const listAt = random() < 0.4 ? pick(types.length) : -1
  return types.map((type, at) => {
    return { type, isList: at === listAt, isDescending: random() < 0.5 }
  })
}

async function allPages(table: RecordTable, query: FieldQuery): Promise<string[]> {
  const found: string[] = []
  let page: string | undefined
  do {
    const part = await table.query({ ...query, limit: 1 + pick(9), page })
    found.push(...part.records.map(({ id }) => id.text))
    page = part.next
  } while (page !== undefined)
  return found
}

function randomQuery(parts: readonly Part[]): {
  readonly query: FieldQuery
  readonly wants: (entry: readonly unknown[]) => boolean
  readonly isReversed: boolean
} {
  const count = pick(parts.length + 1)
  const equals = parts.slice(0, count).map(({ type }) => {
    return random() < 0.2 ? undefined : oneOf(values[type])
  })
  const rest = parts.slice(count)
  const tests: ((entry: readonly unknown[]) => boolean)[] = equals.map((value, at) => {
    return (entry) => compare(parts[at], entry[at], value) === 0
  })
  let range: FieldQuery['range']
  if (rest.length > 0 && random() < 0.6) {
    const part = { ...rest[0], isDescending: false }
    const bound = (): unknown => (random() < 0.3 ? undefined : oneOf(values[part.type]))
    const [from, to = from === undefined ? oneOf(values[part.type]) : undefined] = [
      bound(),
      bound(),
    ]
    const [fromInclusive, toInclusive] = [random() < 0.5, random() < 0.5]
    range = { field: nameOf(part), from, to, fromInclusive, toInclusive }
    tests.push((entry) => {
      const value = entry[count]
      if (value === undefined) return false
      const [low, high] = [compare(part, value, from), compare(part, value, to)]
      const isLow = from === undefined || low > 0 || (fromInclusive && low === 0)
      return isLow && (to === undefined || high < 0 || (toInclusive && high === 0))
    })
  }
  const sortCount = rest.length === 0 ? 0 : pick(rest.length + 1)
  const isReversed = sortCount > 0 && random() < 0.5
  const sort = rest.slice(0, sortCount).map((part) => {
    const order = part.isDescending === isReversed ? 'ASCENDING' : 'DESCENDING'
    return { field: nameOf(part), order } as const
  })
  const query: FieldQuery = {
    index: 'index',
    equals: Object.fromEntries(equals.map((value, at) => [nameOf(parts[at]), value ?? null])),
    range,
    sort,
    fields: 'none',
  }
  return { query, wants: (entry) => tests.every((test) => test(entry)), isReversed }
}

void t.test('queries find what a naive scan finds', async (t) => {
  t.comment(`seed ${seed}`)
  const { database, manager, table } = await open(new MemoryFileSystem())
  await createTypes(manager)
  const rounds = lengthOf('CELLAR_REPOSITORY_INDEXES', 8, 60)
  let answers = 0
  for (let round = 0; round < rounds; round++) {
    const parts = randomParts()
    const fields = parts.map((part) => {
      return { field: nameOf(part), order: part.isDescending ? 'DESCENDING' : 'ASCENDING' } as const
    })
    for (let i = 0; i < 15; i++) await randomWrite(table)
    // The build and writes at the same time.
    const building = table.indexes.create({ name: 'index', fields })
    await Promise.all([building, ...Array.from({ length: 10 }, () => randomWrite(table))])
    for (let i = 0; i < 15; i++) await randomWrite(table)
    const check = await table.indexes.check('index')
    t.strictSame([check.missing, check.surplus], [0, 0], `round ${round}`)
    const records: StoredRecord[] = []
    for await (const record of table.scan()) records.push(record)
    for (let i = 0; i < 25; i++) {
      const { query, wants, isReversed } = randomQuery(parts)
      const wanted = naive(records, parts, wants, isReversed)
      t.strictSame(await allPages(table, query), wanted, `round ${round}, query ${i}`)
      answers += wanted.length
    }
    await table.indexes.drop('index')
  }
  t.ok(answers > rounds * 25, `${answers} records were found`)
  const left = await database.table('repository.index').scan().all()
  t.equal(left.length, 0, 'nothing stays of an index that was dropped')
  const expected = new Set(['ERR_RECORD_NOT_FOUND', 'ERR_VERSION_NOT_FOUND'])
  // Writes at the same time may meet at one record.
  for (const code of ['ERR_CONCURRENT_RECORD_UPDATE', 'ERR_RECORD_EXISTS']) expected.add(code)
  t.ok(
    [...refusals].every((code) => expected.has(code)),
    [...refusals].join(),
  )
  await manager.close()
  await database.close()
})

void t.test('a build goes on behind a crash, and a drop is ended', async (t) => {
  const fileSystem = new MemoryFileSystem()
  let { database, manager, table } = await open(fileSystem)
  await manager.types.createFieldType({ name: '{n}a', valueType: 'INTEGER' })
  await manager.types.createRecordType({ name: '{n}r' })
  const create = (count: number, from: number): Promise<unknown> => {
    return table.batch(
      Array.from({ length: count }, (_, i) => {
        return { create: { id: `USER.${from + i}`, type: '{n}r', fields: { '{n}a': i } } }
      }),
    )
  }
  await create(450, 0)
  const stop = new AbortController()
  const input = { name: 'a', fields: ['{n}a'] }
  const reopen = async (): Promise<void> => {
    await manager.close()
    await database.close()
    ;({ database, manager, table } = await open(fileSystem))
  }
  let steps = 0
  database.atomic = (batch: AtomicBatch) => {
    if (batch.mutations.length > 100 && ++steps === 2) stop.abort(new Error('stopped'))
    return Database.prototype.atomic.call(database, batch)
  }
  await t.rejects(table.indexes.create(input, { signal: stop.signal }), { message: 'stopped' })
  await reopen()
  t.match(table.indexes.list(), [{ state: 'BUILDING', built: 400 }])
  await t.rejects(table.query({ index: 'a' }), { code: 'ERR_FIELD_INDEX_NOT_FOUND' })
  await create(5, 450)
  await table.delete('USER.0')
  await table.update({ id: 'USER.9', fields: { '{n}a': 1000 } })
  t.match(await table.indexes.create(input), { state: 'ACTIVE', built: 450 })
  t.strictSame(await table.indexes.check('a'), { rows: 454, missing: 0, surplus: 0 })
  database.atomic = () => Promise.reject(new Error('no more'))
  await t.rejects(table.indexes.drop('a'), { message: 'no more' })
  delete (database as { atomic?: unknown }).atomic
  // The declaration of the drop was not written: the index is there as it was.
  await reopen()
  t.strictSame(await table.indexes.check('a'), { rows: 454, missing: 0, surplus: 0 })
  let calls = 0
  database.atomic = (batch: AtomicBatch) => {
    return ++calls === 2
      ? Promise.reject(new Error('no more'))
      : Database.prototype.atomic.call(database, batch)
  }
  await t.rejects(table.indexes.drop('a'), { message: 'no more' })
  await reopen()
  t.strictSame(table.indexes.list(), [])
  t.equal((await database.table('repository.index').scan().all()).length, 0)
  await manager.close()
  await database.close()
})

void t.test('an index that is being dropped is not made, and the refusal says so', async (t) => {
  const { database, manager, table } = await open(new MemoryFileSystem())
  await manager.types.createFieldType({ name: '{n}a', valueType: 'INTEGER' })
  await manager.types.createFieldType({ name: '{n}b', valueType: 'INTEGER' })
  const exists = 'ERR_FIELD_INDEX_EXISTS'
  const input = { name: 'a', fields: ['{n}a'] }
  await table.indexes.create(input)
  const others = table.indexes.create({ name: 'a', fields: ['{n}b'] })
  await t.rejects(others, { code: exists, message: 'the index a has other fields' })
  const dropping = table.indexes.drop('a')
  const message = 'the index a is being dropped'
  await t.rejects(table.indexes.create(input), { code: exists, message })
  await dropping
  t.match(await table.indexes.create(input), { state: 'ACTIVE' })
  await manager.close()
  await database.close()
})

void t.test('an index is written with the durability of the manager that makes it', async (t) => {
  const { database, manager, table } = await open(new MemoryFileSystem())
  const durable = await RepositoryManager.open(database, { durability: 'FSYNC_WAL' })
  await manager.types.createFieldType({ name: '{n}a', valueType: 'INTEGER' })
  await manager.types.createRecordType({ name: '{n}r' })
  await durable.types.settled()
  await table.create({ id: 'USER.a', type: '{n}r', fields: { '{n}a': 1 } })
  const used: unknown[] = []
  database.atomic = (batch: AtomicBatch) => {
    used.push(batch.durability)
    return Database.prototype.atomic.call(database, batch)
  }
  for (const [each, durability] of [
    [durable, 'FSYNC_WAL'],
    [manager, 'SYNC_WAL'],
  ] as const) {
    const { indexes } = each.repository().table()
    await indexes.create({ name: 'a', fields: ['{n}a'] })
    await indexes.drop('a')
    // Declarations of the three states, the records, the rows and the declaration of the drop.
    t.same(used.splice(0), Array(6).fill(durability))
  }
  await durable.close()
  await manager.close()
  await database.close()
})
