/**
 * Power cuts at every step of writes of records with blobs in files: record, blob and event are
 * there together or not at all, no bytes are without a row that leads to them, and a sweep leaves
 * exactly the blobs that records have.
 */
import t from 'tap'
import { ManualClock } from '../../src/base/clock.js'
import { crashPolicies } from '../../src/fs/power-cut.js'
import { Database, MemoryFileSystem } from '../../src/index.js'
import {
  FileBlobStore,
  RepositoryManager,
  TableBlobStore,
  type Blob,
  type RecordTable,
} from '../../src/repository/index.js'
import { lengthOf } from '../helpers/length.js'
import { randomFrom, seed } from '../unit/version/fixtures.js'

const id = 'USER.a'
const field = (name: string): string => `{n}${name}`

interface Opened {
  readonly database: Database
  readonly manager: RepositoryManager
  readonly table: RecordTable
}

async function open(fileSystem: MemoryFileSystem): Promise<Opened> {
  const clock = new ManualClock()
  const database = await Database.open('/database', {
    executor: 'inline',
    compactionEnabled: false,
    clock,
    fileSystem,
  })
  const durability = 'FSYNC_WAL'
  await database.ensureTable('repository.blobdata', { families: { b: {} } })
  const inTable = new TableBlobStore(database.table('repository.blobdata'), durability)
  const manager = await RepositoryManager.open(database, {
    clock,
    durability,
    inlineBlobBytesMax: 10,
    blobStores: [
      { store: inTable, bytesMax: 1000 },
      { store: new FileBlobStore(fileSystem, '/blobs'), bytesMax: Infinity },
    ],
  })
  return { database, manager, table: manager.repository().table() }
}

function bytesOf(size: number, value: number): Buffer {
  return Buffer.alloc(size, value)
}

async function prepare({ manager, table }: Opened): Promise<void> {
  const { types } = manager
  await types.createFieldType({ name: field('table'), valueType: 'BLOB', scope: 'VERSIONED' })
  await types.createFieldType({ name: field('file'), valueType: 'BLOB' })
  await types.createFieldType({ name: field('step'), valueType: 'INTEGER' })
  await types.createRecordType({ name: field('doc') })
  await table.create({ id: 'USER.z', type: field('doc'), fields: { [field('step')]: 0 } })
}

/** Steps of one record; each is acknowledged before the next begins. */
async function act({ manager, table }: Opened, done: (step: number) => void): Promise<void> {
  const upload = (size: number, value: number): Promise<Blob> => {
    return manager.blobs.upload(bytesOf(size, value), { mediaType: 'a/b' })
  }
  for (const step of [1, 2]) {
    const fields = {
      [field('table')]: await upload(500, step),
      [field('file')]: await upload(2000, step),
      [field('step')]: step,
    }
    await table.createOrUpdate({ id, type: field('doc'), fields })
    done(step)
  }
  await table.delete(id)
  done(3)
}

async function contentOf(manager: RepositoryManager, blob: Blob): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const piece of manager.blobs.read(blob)) parts.push(piece)
  return Buffer.concat(parts)
}

function filesBelow(fileSystem: MemoryFileSystem, path: string): string[] {
  const stat = fileSystem.statSync(path)
  if (stat === undefined) return []
  if (stat.kind === 'file') return [path.split('/').at(-1)!]
  return fileSystem
    .listSync(path)
    .flatMap((name) => filesBelow(fileSystem, fileSystem.join(path, name)))
}

/** Keys of all bytes that are stored anywhere, in hexadecimal. */
async function storedKeys(database: Database, fileSystem: MemoryFileSystem): Promise<string[]> {
  const rows = await database.table('repository.blobdata').scan().all()
  const inTable = new Set(rows.map(({ row }) => row!.toString('hex', 0, 16)))
  return [...inTable, ...filesBelow(fileSystem, '/blobs')].sort()
}

/** What is wrong with what was found. */
async function judge(fileSystem: MemoryFileSystem, acknowledged: number): Promise<string[]> {
  const complaints: string[] = []
  const opened = await open(fileSystem)
  const { database, manager, table } = opened
  const row = await database.table('repository.r.default..record').get({ row: '\0a' })
  const event = row.value('r:e', 'json') as { type: string; versionCreated?: number } | undefined
  let step = 0
  if (await table.exists(id)) {
    const { fields, version } = await table.read(id)
    step = fields[field('step')] as number
    if (version !== step) complaints.push(`version ${version} at step ${step}`)
    if (event?.versionCreated !== step) complaints.push('the event is of another write')
    for (const [name, size] of [
      ['table', 500],
      ['file', 2000],
    ] as const) {
      const content = await contentOf(manager, fields[field(name)] as Blob)
      if (!content.equals(bytesOf(size, step))) complaints.push(`${name} has other bytes`)
    }
    const [first] = await table.readVersions(id, [1])
    const old = await contentOf(manager, first.fields[field('table')] as Blob)
    if (!old.equals(bytesOf(500, 1))) complaints.push('the first version has other bytes')
  } else if (event !== undefined) {
    step = 3
    if (event.type !== 'record-deleted') complaints.push('the event is of another write')
  }
  if (step < acknowledged || step > acknowledged + 1) {
    complaints.push(`step ${step} is found, ${acknowledged} was acknowledged`)
  }
  const known = [...(await manager.blobs.states()).keys()].map((key) => key.slice(0, 32))
  const lost = (await storedKeys(database, fileSystem)).filter((key) => !known.includes(key))
  if (lost.length > 0) complaints.push(`nothing leads to the bytes of ${lost.join()}`)
  await manager.blobs.sweep({ ageMillisecondsMin: 0 })
  const used = [...(await manager.blobs.states()).values()]
  if (used.some(({ kind }) => kind !== 'used'))
    complaints.push('a sweep leaves more than used blobs')
  const wanted = step === 0 || step === 3 ? 0 : step + 1
  const left = await storedKeys(database, fileSystem)
  if (used.length !== wanted || left.length !== wanted) {
    complaints.push(`${used.length} states and ${left.length} blobs at step ${step}`)
  }
  // Nothing stands in the way of the same writes once more.
  await act(opened, () => undefined)
  await manager.close()
  await database.close()
  return complaints
}

void t.test('a power cut at any step leaves record, blob and event together', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const opened = await open(fileSystem)
  await prepare(opened)
  const random = randomFrom(seed)
  const images: { name: string; image: () => MemoryFileSystem; acknowledged: number }[] = []
  let acknowledged = 0
  const chosen = lengthOf('CELLAR_REPOSITORY_CUTS', 0.06, 1)
  fileSystem.beforeOperation = ({ kind, path }) => {
    for (const policy of crashPolicies) {
      if (random() >= chosen) continue
      const image = fileSystem.crash(policy, random)
      images.push({ name: `${policy} before ${kind} ${path}`, image: () => image, acknowledged })
    }
  }
  await act(opened, (step) => void (acknowledged = step))
  fileSystem.beforeOperation = undefined
  await opened.manager.close()
  await opened.database.close()
  t.comment(`seed ${seed}, ${images.length} images`)
  t.ok(images.length >= 10)
  for (const { name, image, acknowledged: step } of images) {
    t.strictSame(await judge(image(), step), [], name)
  }
})
