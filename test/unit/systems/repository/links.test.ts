/** Random writes: the link index that followed them is that of a full rebuild. */
import t from 'tap'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import { Link, RepositoryManager } from '../../../../src/systems/repository/index.js'
import { seededRandom } from '../../../../src/base/random.js'
import { lengthOf } from '../../../helpers/length.js'

const live = '{org.lilyproject.vtag}live'

void t.test('the link index after random writes is that of a rebuild', async (t) => {
  const seed = Number(process.env['CELLAR_SEED'] ?? 1605)
  t.comment(`seed ${seed}`)
  const random = seededRandom(seed)
  const pick = (count: number): number => Math.floor(random() * count)
  const database = await Database.open('/database', {
    fileSystem: new MemoryFileSystem(),
    executor: 'inline',
  })
  const manager = await RepositoryManager.open(database)
  const { types } = manager
  await types.createFieldType({ name: live, valueType: 'LONG' })
  await types.createFieldType({ name: '{n}one', valueType: 'LINK' })
  await types.createFieldType({ name: '{n}many', valueType: 'LIST<LINK>', scope: 'VERSIONED' })
  const mutable = { name: '{n}mutable', valueType: 'LINK', scope: 'VERSIONED_MUTABLE' } as const
  await types.createFieldType(mutable)
  await types.createFieldType({ name: '{n}inner', valueType: 'RECORD', scope: 'VERSIONED' })
  await types.createRecordType({ name: '{n}r', fields: [{ name: '{n}one' }] })
  const tables = [manager.repository().table(), await manager.repository().createTable('other')]
  const following = await manager.followLinks({ lanes: 3, retryMilliseconds: 0 })

  const id = (): string => `USER.${pick(6)}${random() < 0.3 ? '.lang=en' : ''}`
  const link = (): Link => {
    const rules = random() < 0.3 ? '.-lang' : ''
    return random() < 0.1 ? Link.parse('.') : Link.parse(`USER.${pick(6)}${rules}`)
  }
  const values = (): Record<string, unknown> => ({
    ...(random() < 0.5 ? { '{n}one': link() } : {}),
    ...(random() < 0.5 ? { '{n}many': Array.from({ length: pick(4) }, link) } : {}),
    ...(random() < 0.3 ? { '{n}mutable': link() } : {}),
    ...(random() < 0.3 ? { '{n}inner': { type: '{n}r', fields: { '{n}one': link() } } } : {}),
  })
  const codes = new Set<string>()
  const write = async (): Promise<unknown> => {
    const table = tables[pick(2)]
    const own = id()
    const kind = random()
    if (kind < 0.5) {
      const fields = { '{n}one': link(), ...values() }
      return table.createOrUpdate({ id: own, type: '{n}r', fields })
    }
    if (kind < 0.6) return table.update({ id: own, fieldsToDelete: ['{n}many', '{n}inner'] })
    if (kind < 0.7) return table.update({ id: own, fields: values() }, { version: 1 + pick(3) })
    if (kind < 0.85) return table.tag(own, live, pick(5))
    if (kind < 0.9) return table.untag(own, live)
    if (kind < 0.95) return table.pruneVersions(own, { keep: 2 })
    return table.delete(own)
  }
  for (let round = 0; round < lengthOf('CELLAR_REPOSITORY_WRITES', 200, 4000); round++) {
    await write().catch((error: unknown) => codes.add((error as { code: string }).code))
  }
  t.strictSame(
    [...codes].sort(),
    ['ERR_RECORD_NOT_FOUND', 'ERR_VERSION_NOT_FOUND'],
    'nothing else is refused',
  )
  await following.caughtUp()
  t.strictSame(await following.deadLetters(), [])
  await following.close()
  const followed = await manager.links.rows()
  t.ok(followed.length > 50, `${followed.length} rows`)
  await manager.links.rebuild()
  t.strictSame(await manager.links.rows(), followed)
  await manager.close()
  await database.close()
})

void t.test('a link is written in both directions at once, however many there are', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/database', { fileSystem, executor: 'inline' })
  const manager = await RepositoryManager.open(database)
  await manager.types.createFieldType({ name: '{n}many', valueType: 'LIST<LINK>' })
  await manager.types.createRecordType({ name: '{n}r' })
  const table = manager.repository().table()
  const following = await manager.followLinks()
  const newest = (): number => {
    const snapshot = database.snapshot()
    const { sequence } = snapshot
    snapshot.close()
    return sequence
  }
  const fromSequence = newest() + 1
  const id = 'USER.a'
  const many = Array.from({ length: 2500 }, (_, at) => Link.to(`USER.${at}`))
  await table.create({ id, type: '{n}r', fields: { '{n}many': many } })
  await following.caughtUp()
  await table.update({ id, fields: { '{n}many': many.slice(0, 3) } })
  await following.caughtUp()
  await following.close()
  // Each batch as the change feed has it: as many rows by the source as by the target.
  const counts: [number, number][] = []
  const end = newest()
  const feed = database.changes({ fromSequence, durability: 'SYNC_WAL' })
  for await (const { sequence, cells } of feed) {
    const own = cells.filter((cell) => cell.table === 'repository.links')
    const by = (first: string): number =>
      own.filter(({ row }) => row[0] === first.charCodeAt(0)).length
    if (own.length > 0) counts.push([by('f'), by('b')])
    if (sequence >= end) break
  }
  t.ok(counts.length >= 6, 'several batches')
  t.same(
    counts.filter(([forward, backward]) => forward !== backward),
    [],
  )
  t.equal(
    counts.reduce((sum, [forward]) => sum + forward, 0),
    2500 + 2497,
  )
  await manager.close()
  await database.close()
})
