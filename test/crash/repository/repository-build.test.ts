/**
 * The build of an index that ends at any stage: before its ranges are known, while the documents
 * are removed, in the middle of ranges, and when only its end is missing. The next open goes on
 * from the checkpoints while writes go on, and the documents are those of an undisturbed build.
 *
 * @runs campaign
 */
import t, { type Test } from 'tap'
import { ManualClock } from '../../../src/base/clock.js'
import { crashPolicies } from '../../doubles/power-cut.js'
import { SimulatedDisk } from '../../doubles/simulated-disk.js'
import { Database } from '../../../src/entries/index.js'
import {
  EmbeddedSearch,
  Link,
  RepositoryManager,
  SearchIndexes,
  type BuildProgress,
  type IndexConfiguration,
  type RecordTable,
  type SearchIndex,
} from '../../../src/systems/repository/index.js'
import { lengthOf } from '../../helpers/length.js'
import { randomFrom, seed } from '../../unit/storage/version/fixtures.js'

const recordCount = lengthOf('CELLAR_REPOSITORY_BUILD_RECORDS', 80, 1500)
const configuration: IndexConfiguration = {
  recordFilter: { includes: [{ versionTags: ['last'] }] },
  fields: [
    { name: 'title_t', value: '{n}title' },
    { name: 'next_t', value: '{n}next=>{n}title' },
  ],
}

interface Scene {
  readonly table: RecordTable
  readonly indexes: SearchIndexes
  /** Events that the index was told of since the open, replays among them. */
  readonly told: () => number
  readonly close: () => Promise<void>
}

async function open(fileSystem: SimulatedDisk): Promise<Scene> {
  const clock = new ManualClock()
  const options = { fileSystem, clock, executor: 'inline', compactionEnabled: false } as const
  const database = await Database.open('/database', options)
  const manager = await RepositoryManager.open(database, { clock })
  const indexes = await SearchIndexes.open(manager, {
    backend: ({ name }) => EmbeddedSearch.open(database, { name, clock }),
    commitMilliseconds: 0,
  })
  const close = async (): Promise<void> => {
    await indexes.close()
    await manager.close()
    await database.close()
  }
  if (manager.types.listRecordTypes().length === 0) {
    await manager.types.createFieldType({ name: '{n}title' })
    await manager.types.createFieldType({ name: '{n}next', valueType: 'LINK' })
    await manager.types.createRecordType({ name: '{n}page' })
  }
  const told = (): number => {
    return manager.subscriptions.find(({ name }) => name === 'Indexer_pages')?.counts.handled ?? 0
  }
  return { table: manager.repository().table(), indexes, told, close }
}

const idOf = (number: number): string => `USER.${String(number).padStart(4, '0')}`

async function write(table: RecordTable, number: number, title: string): Promise<void> {
  const next = Link.to(idOf((number + 7) % recordCount))
  const fields = { '{n}title': `${title} of ${number}`, '{n}next': next }
  await table.createOrUpdate({ id: idOf(number), type: '{n}page', fields })
}

/** All documents, in the order of their keys. */
async function documentsOf(index: SearchIndex): Promise<string[]> {
  const { hits } = await index.search({ query: '*:*', limit: 10_000 })
  return hits.map(({ key, fields }) => `${key} ${JSON.stringify(fields)}`).sort()
}

type Stage = 'requested' | 'clearing' | 'first' | 'middle' | 'ending'

function stageOf({ ranges, rangesDone, records }: BuildProgress): Stage {
  if (ranges === 0) return 'requested'
  if (rangesDone === ranges) return 'ending'
  if (rangesDone > 0) return 'middle'
  return records === 0 ? 'clearing' : 'first'
}

interface Image {
  readonly stage: Stage
  readonly what: string
  readonly fileSystem: SimulatedDisk
  readonly progress: BuildProgress
}

/** A build with writes beside it; what a machine would find that ends at its steps. */
async function images(perStage: number): Promise<Image[]> {
  const fileSystem = new SimulatedDisk()
  const random = randomFrom(seed)
  const { table, indexes, close } = await open(fileSystem)
  for (let number = 0; number < recordCount; number++) await write(table, number, 'old')
  await indexes.create({ name: 'pages', configuration, build: true })
  await indexes.index('pages').built()
  // The index knows a record that is gone, and does not know of its end.
  await table.delete(idOf(3), { attributes: { 'lily.mq': 'false' } })
  const taken = new Map<Stage, { seen: number; kept: Image[] }>()
  fileSystem.beforeOperation = ({ kind, path }) => {
    const progress = indexes.running[0]?.buildProgress
    if (progress === undefined) return
    const stage = stageOf(progress)
    const { seen, kept } = taken.get(stage) ?? { seen: 0, kept: [] }
    const at = seen < perStage ? seen : Math.floor(random() * (seen + 1))
    if (at < perStage) {
      // A process that is killed leaves what it has written; a power cut may take the end of it.
      const isCut = random() < 0.3
      const policy = isCut ? crashPolicies[Math.floor(random() * crashPolicies.length)] : 'keepAll'
      const what = `${stage}: ${policy} before ${kind} ${path}`
      kept[at] = { stage, what, fileSystem: fileSystem.crash(policy, random), progress }
    }
    taken.set(stage, { seen: seen + 1, kept })
  }
  await indexes.update('pages', { build: true, buildArguments: { clear: true } })
  const index = indexes.index('pages')
  let isDone = false
  const built = index.built().finally(() => (isDone = true))
  for (let round = 0; !isDone; round++) {
    await write(table, Math.floor(random() * recordCount), `during ${round}`)
    await new Promise(setImmediate)
  }
  await built
  fileSystem.beforeOperation = undefined
  await close()
  return [...taken.values()].flatMap(({ kept }) => kept)
}

async function goOn(t: Test, { what, stage, fileSystem, progress }: Image): Promise<void> {
  const { table, indexes, told, close } = await open(fileSystem)
  if ((await indexes.list()).length === 0) {
    t.notMatch(what, /keepAll/, 'a power cut took the index too')
    return close()
  }
  const index = indexes.index('pages')
  const { build } = await indexes.get('pages')
  const before = index.counts.documentsWritten
  let round = 0
  let last: BuildProgress = { records: 0, failed: 0, ranges: 0, rangesDone: 0 }
  let isDone = false
  const built = index.built().finally(() => (isDone = true))
  while (!isDone) {
    await write(table, (round * 37) % recordCount, `after ${round++}`)
    const now = index.buildProgress
    if (now !== undefined && now.rangesDone < last.rangesDone) t.fail(`${what}: goes back`)
    last = now ?? last
    await new Promise(setImmediate)
  }
  const report = await built
  await index.waitFor()
  if (build === 'BUILDING') {
    t.ok(report !== undefined && report.failed === 0, `${what}: it ends`)
    t.equal((await indexes.get('pages')).build, 'INACTIVE', what)
    t.ok(last.ranges > 1, `${what}: progress is seen`)
  }
  // What was stored as done is not done again. Half of the pages were done at the last checkpoint,
  // but every second range is empty here: a full page of each of the other three lanes may still
  // have been under way. So a quarter of the records is stored at least.
  const again = index.counts.documentsWritten - before
  if (stage === 'ending' && build === 'BUILDING' && what.includes('keepAll')) {
    t.ok(
      again < (recordCount * 3) / 4 + 3 * told(),
      `${what}: ${again} documents, ${progress.records} before, ${told()} events`,
    )
  }
  const found = await documentsOf(index)
  const fresh = await indexes.create({ name: 'fresh', configuration, build: true })
  t.equal((await fresh.built())?.failed, 0)
  t.strictSame(found, await documentsOf(fresh), what)
  t.strictSame(await index.storedRows(), await fresh.storedRows(), what)
  if (what.includes('keepAll')) t.ok(found.length >= recordCount - 1, `${found.length} documents`)
  await close()
}

void t.test('a build that is broken off at any stage ends as one that was not', async (t) => {
  const all = await images(lengthOf('CELLAR_REPOSITORY_BUILDS', 1, 20))
  t.comment(`seed ${seed}, ${all.length} images`)
  const stages = new Set(all.map(({ stage }) => stage))
  for (const stage of ['requested', 'clearing', 'middle', 'ending'] as const) {
    t.ok(stages.has(stage), stage)
  }
  for (const image of all) await goOn(t, image)
})
