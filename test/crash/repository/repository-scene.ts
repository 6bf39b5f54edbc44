/**
 * What the crash tests of the content repository write, and how they judge what they find: record,
 * version, blobs, event, unique value, links and field indexes are of one state; no blob is without
 * a row that leads to its bytes; no event is lost; nothing stays reserved.
 */
import { ManualClock } from '../../../src/base/clock.js'
import type { SimulatedDisk } from '../../doubles/simulated-disk.js'
import { Database } from '../../../src/entries/index.js'
import {
  FileBlobStore,
  Link,
  RepositoryManager,
  TableBlobStore,
  type Blob,
  type RecordTable,
  type Subscription,
} from '../../../src/systems/repository/index.js'
import type { FileSystem } from '../../../src/storage/fs/types.js'

/** The record that the steps write. */
export const id = 'USER.a'
/** The name of a field or type. */
export const field = (name: string): `{${string}}${string}` => `{n}${name}`
const slugOf = (step: number): string => `slug-${step}`
/** The last step, which deletes the record. */
export const lastStep = 3

/** An open repository. */
export interface Scene {
  readonly database: Database
  readonly manager: RepositoryManager
  readonly table: RecordTable
}

/** Opens the repository of a file system; blobs in a table and in files. */
export async function openScene(fileSystem: FileSystem): Promise<Scene> {
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

/** Closes a repository whose file system may fail. */
export async function closeScene({ manager, database }: Scene): Promise<void> {
  await manager.close().catch(() => undefined)
  await database.close().catch(() => undefined)
}

function bytesOf(size: number, value: number): Buffer {
  return Buffer.alloc(size, value)
}

/** Types, indexes, and subscriptions whose positions are stored. */
export async function prepareScene({ manager, table }: Scene): Promise<void> {
  const { types } = manager
  await types.createFieldType({ name: field('table'), valueType: 'BLOB', scope: 'VERSIONED' })
  await types.createFieldType({ name: field('file'), valueType: 'BLOB' })
  await types.createFieldType({ name: field('step'), valueType: 'INTEGER' })
  await types.createFieldType({ name: field('slug') })
  await types.createFieldType({ name: field('words'), valueType: 'LIST<STRING>' })
  await types.createFieldType({ name: field('to'), valueType: 'LINK' })
  const fields = [{ name: field('slug'), unique: true }]
  await types.createRecordType({ name: field('doc'), fields })
  await table.indexes.create({ name: 'steps', fields: [field('step'), field('slug')] })
  await table.indexes.create({ name: 'words', fields: [field('words')] })
  await table.create({ id: 'USER.z', type: field('doc'), fields: { [field('step')]: 0 } })
  await (await audit(manager, [])).close()
  await (await manager.followLinks()).close()
}

/** A subscription that notes what it is told of the record; resolves when it has come so far. */
async function audit(manager: RepositoryManager, told: string[]): Promise<Subscription> {
  const own = await manager.subscribe('audit', ({ event }) => {
    if (event.id === id) told.push(`${event.type} ${event.versionCreated ?? '-'}`)
  })
  await own.caughtUp()
  return own
}

const eventsOf = ['record-created 1', 'record-updated 2', 'record-deleted -']

/** Steps of one record; each is acknowledged before the next begins. */
export async function act({ manager, table }: Scene, done: (step: number) => void): Promise<void> {
  const upload = (size: number, value: number): Promise<Blob> => {
    return manager.blobs.upload(bytesOf(size, value), { mediaType: 'a/b' })
  }
  for (const step of [1, 2]) {
    const fields = {
      [field('table')]: await upload(500, step),
      [field('file')]: await upload(2000, step),
      [field('step')]: step,
      [field('slug')]: slugOf(step),
      [field('words')]: ['both', `only-${step}`],
      [field('to')]: Link.to(step === 1 ? 'USER.z' : 'USER.y'),
    }
    await table.createOrUpdate({ id, type: field('doc'), fields })
    done(step)
  }
  await table.delete(id)
  done(lastStep)
}

async function contentOf(manager: RepositoryManager, blob: Blob): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const piece of manager.blobs.read(blob)) parts.push(piece)
  return Buffer.concat(parts)
}

function filesBelow(fileSystem: SimulatedDisk, path: string): string[] {
  const stat = fileSystem.statSync(path)
  if (stat === undefined) return []
  if (stat.kind === 'file') return [path.split('/').at(-1)!]
  return fileSystem
    .listSync(path)
    .flatMap((name) => filesBelow(fileSystem, fileSystem.join(path, name)))
}

/** Keys of all bytes that are stored anywhere, in hexadecimal. */
async function storedKeys(database: Database, fileSystem: SimulatedDisk): Promise<string[]> {
  const rows = await database.table('repository.blobdata').scan().all()
  const inTable = new Set(rows.map(({ row }) => row!.toString('hex', 0, 16)))
  return [...inTable, ...filesBelow(fileSystem, '/blobs')].sort()
}

/** The step that the record shows, and what does not fit it. */
async function judgeRecord({ database, manager, table }: Scene): Promise<[number, string[]]> {
  const complaints: string[] = []
  const row = await database.table('repository.r.default..record').get({ row: '\0a' })
  const event = row.value('r:e', 'json') as { type: string; versionCreated?: number } | undefined
  if (!(await table.exists(id))) {
    if (event === undefined) return [0, complaints]
    if (event.type !== 'record-deleted') complaints.push('the event is of another write')
    return [lastStep, complaints]
  }
  const { fields, version } = await table.read(id)
  const step = fields[field('step')] as number
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
  return [step, complaints]
}

/** What is wrong with events, links and indexes of a record at a step. */
async function judgeIndexes({ manager, table }: Scene, step: number): Promise<string[]> {
  const complaints: string[] = []
  const told: string[] = []
  const own = await audit(manager, told)
  await own.close()
  // A cut may come before the position of an event that was handled.
  if (told.join() !== eventsOf.slice(0, step).join()) {
    complaints.push(`at step ${step} the events are ${told.join()}`)
  }
  for (const name of ['steps', 'words']) {
    const { missing, surplus } = await table.indexes.check(name)
    if (missing + surplus > 0) complaints.push(`${name}: ${missing} missing, ${surplus} surplus`)
  }
  const isThere = step === 1 || step === 2
  const { records } = await table.query({ equals: { [field('words')]: 'both' } })
  if (records.length !== (isThere ? 1 : 0)) complaints.push(`${records.length} have the word`)
  const following = await manager.followLinks({ retryMilliseconds: 0 })
  await following.caughtUp()
  await following.close()
  const followed = await manager.links.rows()
  await manager.links.rebuild()
  if (followed.join() !== (await manager.links.rows()).join()) complaints.push('links differ')
  if (followed.length !== (isThere ? 2 : 0)) complaints.push(`${followed.length} rows of links`)
  for (const slug of [1, 2]) {
    const fields = { [field('slug')]: slugOf(slug) }
    const probe = { id: 'USER.probe', type: field('doc'), fields }
    const code = await table.create(probe).then(
      () => 'free',
      (error: unknown) => (error as { code: string }).code,
    )
    const wanted = isThere && slug === step ? 'ERR_NOT_UNIQUE' : 'free'
    if (code !== wanted) complaints.push(`${slugOf(slug)} is ${code} at step ${step}`)
    if (code === 'free') await table.delete(probe.id)
  }
  return complaints
}

/** What is wrong with what a crash has left behind. */
export async function judge(fileSystem: SimulatedDisk, acknowledged: number): Promise<string[]> {
  const scene = await openScene(fileSystem)
  const { database, manager } = scene
  const [step, complaints] = await judgeRecord(scene)
  if (step < acknowledged || step > acknowledged + 1) {
    complaints.push(`step ${step} is found, ${acknowledged} was acknowledged`)
  }
  complaints.push(...(await judgeIndexes(scene, step)))
  const known = [...(await manager.blobs.states()).keys()].map((key) => key.slice(0, 32))
  const lost = (await storedKeys(database, fileSystem)).filter((key) => !known.includes(key))
  if (lost.length > 0) complaints.push(`nothing leads to the bytes of ${lost.join()}`)
  await manager.blobs.sweep({ ageMillisecondsMin: 0 })
  const used = [...(await manager.blobs.states()).values()]
  if (used.some(({ kind }) => kind !== 'used')) complaints.push('a sweep leaves unused blobs')
  const wanted = step === 0 || step === lastStep ? 0 : step + 1
  const left = await storedKeys(database, fileSystem)
  if (used.length !== wanted || left.length !== wanted) {
    complaints.push(`${used.length} states and ${left.length} blobs at step ${step}`)
  }
  // Nothing stands in the way of the same writes once more.
  await act(scene, () => undefined)
  await manager.close()
  await database.close()
  return complaints
}
