/** Field indexes whose declaration cannot be written, and drops that come at once. */
import t, { type Test } from 'tap'
import type { AtomicBatch } from '../../../../src/api/index.js'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import { RepositoryManager, type RecordTable } from '../../../../src/systems/repository/index.js'

const type = '{n}r'

interface Scene {
  readonly database: Database
  readonly table: RecordTable
  readonly close: () => Promise<void>
}

async function open(fileSystem: MemoryFileSystem): Promise<Scene> {
  const database = await Database.open('/database', { fileSystem, executor: 'inline' })
  const manager = await RepositoryManager.open(database)
  const close = async (): Promise<void> => {
    await manager.close()
    await database.close()
  }
  return { database, table: manager.repository().table(), close }
}

/** A table with some records. */
async function filled(fileSystem: MemoryFileSystem): Promise<Scene> {
  const scene = await open(fileSystem)
  const { table } = scene
  const { types } = await RepositoryManager.open(scene.database)
  for (const name of ['{n}a', '{n}b'] as const) {
    await types.createFieldType({ name, valueType: 'INTEGER' })
  }
  await types.createRecordType({ name: type })
  for (let i = 0; i < 5; i++) {
    await table.create({ id: `USER.${i}`, type, fields: { '{n}a': i, '{n}b': 10 - i } })
  }
  return scene
}

/** The first batch fails, and `meanwhile` runs before that. */
function failFirst(t: Test, database: Database, meanwhile: () => Promise<unknown>): void {
  const atomic = database.atomic.bind(database)
  let isFirst = true
  t.intercept(database, 'atomic', {
    value: async (batch: AtomicBatch) => {
      if (!isFirst) return atomic(batch)
      isFirst = false
      await meanwhile()
      throw new Error('no space')
    },
  })
}

void t.test('an index that could not be declared leaves no rows to the next one', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const { database, table, close } = await filled(fileSystem)
  failFirst(t, database, () => table.update({ id: 'USER.1', fields: { '{n}a': 50 } }))
  await t.rejects(table.indexes.create({ name: 'a', fields: ['{n}a'] }), { message: 'no space' })
  await close()
  const again = await open(fileSystem)
  await again.table.update({ id: 'USER.1', fields: { '{n}a': 60 } })
  await again.table.indexes.create({ name: 'a', fields: ['{n}a'] })
  t.same(await again.table.indexes.check('a'), { rows: 5, missing: 0, surplus: 0 })
  const { records } = await again.table.query({ equals: { '{n}a': 50 } })
  t.equal(records.length, 0)
  await again.close()
})

void t.test('an index whose drop could not be noted is kept', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const { database, table, close } = await filled(fileSystem)
  await table.indexes.create({ name: 'a', fields: ['{n}a'] })
  const update = (a: number): Promise<unknown> => {
    return table.update({ id: 'USER.1', fields: { '{n}a': a } })
  }
  failFirst(t, database, () => update(50))
  await t.rejects(table.indexes.drop('a'), { message: 'no space' })
  await update(60)
  await close()
  const again = await open(fileSystem)
  t.same(await again.table.indexes.check('a'), { rows: 5, missing: 0, surplus: 0 })
  const { records } = await again.table.query({ equals: { '{n}a': 60 } })
  t.equal(records.length, 1)
  await again.table.indexes.drop('a')
  await again.close()
})

void t.test('a drop that comes twice does not take the next index of the name', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const { database, table, close } = await filled(fileSystem)
  await table.indexes.create({ name: 'x', fields: ['{n}a'] })
  const atomic = database.atomic.bind(database)
  let made: Promise<unknown> = Promise.resolve()
  let removals = 0
  t.intercept(database, 'atomic', {
    value: async (batch: AtomicBatch) => {
      const [first, ...others] = batch.mutations
      const isRemoval = first.mutations?.some((each) => 'delete' in each) === true
      const isLast = others.length === 0 && isRemoval
      // The second drop, if there is one, ends behind the next index.
      if (isLast && ++removals === 2) await made
      const result = await atomic(batch)
      if (isLast && removals === 1) {
        made = Promise.resolve().then(async () => {
          while (table.indexes.list().length > 0) await Promise.resolve()
          await table.indexes.create({ name: 'x', fields: ['{n}b'] })
        })
      }
      return result
    },
  })
  await Promise.all([table.indexes.drop('x'), table.indexes.drop('x')])
  await made
  await close()
  const again = await open(fileSystem)
  t.same(
    again.table.indexes.list().map(({ fields }) => fields[0].field),
    ['{n}b'],
  )
  await again.close()
})
