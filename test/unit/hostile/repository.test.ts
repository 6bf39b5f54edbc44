/** The records of `cellardb/repository` with values that no caller should give. */
import t from 'tap'
import { Database, MemoryFileSystem } from '../../../src/index.js'
import * as repository from '../../../src/repository/index.js'
import { checkEntry, isCellarError, isOfCalledClass } from './check-entry.js'
import type { LiveObjects } from './hostile-calls.js'
import { searchSide, searchSideOfManager } from './repository-sides.js'

t.setTimeout(1_800_000)

const title = '{n}title'
const type = '{n}r'

async function openManager(): Promise<[Database, repository.RepositoryManager]> {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/d', { fileSystem, executor: 'inline' })
  const manager = await repository.RepositoryManager.open(database)
  const { types } = manager
  await types.createFieldType({ name: title, scope: 'VERSIONED' })
  await types.createFieldType({ name: '{n}file', valueType: 'BLOB' })
  await types.createFieldType({ name: '{n}next', valueType: 'LINK' })
  await types.createFieldType({ name: '{n}times', valueType: 'LIST<DATETIME>' })
  await types.createFieldType({ name: '{n}bytes', valueType: 'BYTEARRAY' })
  await types.createFieldType({ name: '{n}inner', valueType: 'RECORD' })
  const names = ['title', 'file', 'next', 'times', 'bytes', 'inner']
  await types.createRecordType({
    name: type,
    fields: names.map((name) => ({ name: `{n}${name}` })),
  })
  const table = manager.repository().table()
  await table.create({ id: 'USER.a', type, fields: { [title]: 'one' } })
  await table.update({ id: 'USER.a', fields: { [title]: 'two' } })
  await table.indexes.create({ name: 'i', fields: [title] })
  return [database, manager]
}

const definition = repository.defineRecordType('{n}defined', {
  defined: { type: 'STRING', mandatory: true },
})

async function open(): Promise<LiveObjects> {
  const [database, manager] = await openManager()
  await repository.applySchema(manager.types, [definition])
  const one = manager.repository()
  const table = one.table()
  const objects = {
    manager,
    types: manager.types,
    links: manager.links,
    scanners: manager.scanners,
    repository: one,
    table,
    'field indexes': table.indexes,
    'typed records': table.typed(definition),
    scan: table.scan(),
    id: repository.RecordId.user('a'),
    link: repository.Link.to('USER.a'),
    draft: new repository.RecordDraft(),
    'reader of names': new repository.NameReader([['n', 'n']]),
    'writer of names': new repository.NameWriter(),
    number: new repository.JsonNumber('1'),
  }
  const close = async (): Promise<void> => {
    await manager.close()
    await database.close()
  }
  return { objects, close }
}

function except(names: readonly string[], reason: string): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, reason]))
}

const ofSearch = new Set(searchSide)
const ofRecords = Object.fromEntries(
  Object.entries(repository).filter(([name]) => !ofSearch.has(name)),
)

/** Values that records have. */
const plausible = [
  ...['USER.a', 'record', title, type, '{n}next', 'i', 'STRING', 1, 1n],
  ...[{ id: 'USER.a' }, { [title]: 'x' }, { id: 'USER.a', fields: { [title]: 'x' } }],
]

void t.test('the repository', (t) =>
  checkEntry(
    t,
    {
      exports: ofRecords,
      open,
      except: {
        ...except(searchSideOfManager, 'is of the other part'),
        ...except(['new RecordId', 'new RepositoryManager'], 'is private'),
      },
      plausible,
    },
    (error) => isCellarError(error) || isOfCalledClass(error),
  ),
)
