import t from 'tap'
import { SimulatedDisk } from '../../../../doubles/simulated-disk.js'
import { Database } from '../../../../../src/entries/index.js'

const options = { executor: 'inline' as const }

/** A database with one row in its log, as a killed process leaves it. */
async function makeDatabase(fileSystem: SimulatedDisk, directory: string): Promise<void> {
  const database = await Database.open(directory, { ...options, fileSystem })
  const table = await database.createTable('t', { families: { f: {} } })
  await table.put({ row: directory, cells: { 'f:q': 'v' }, durability: 'FSYNC_WAL' })
  await database.close()
}

function copy(fileSystem: SimulatedDisk, from: string, to: string): void {
  const source = fileSystem.openSync(from, 'read')
  const bytes = Buffer.alloc(source.sizeSync())
  source.readSync(bytes, 0, bytes.length, 0)
  source.closeSync()
  fileSystem.unlinkSync(to)
  const target = fileSystem.openSync(to, 'create')
  target.writeSync(bytes, 0, bytes.length, 0)
  target.closeSync()
}

function nameLike(fileSystem: SimulatedDisk, directory: string, pattern: RegExp): string {
  const name = fileSystem.listSync(directory).find((each) => pattern.test(each))
  return `${directory}/${name}`
}

for (const pattern of [/\.log$/, /^MANIFEST/]) {
  void t.test(`a file ${pattern} of another database is refused by its identity`, async (t) => {
    const fileSystem = new SimulatedDisk()
    await makeDatabase(fileSystem, '/one')
    await makeDatabase(fileSystem, '/two')
    const foreign = nameLike(fileSystem, '/one', pattern)
    copy(fileSystem, foreign.replace('/one', '/two'), foreign)
    const opening = Database.open('/one', { ...options, fileSystem })
    const failure = await opening.then(
      async (database) => database.close(),
      (error: unknown) => error as Error & { corruption: { file: string } },
    )
    t.match(failure, { code: 'ERR_CORRUPTION' })
    t.match(failure?.message, /expected database [0-9a-f]{32}.*found database/)
    t.match(failure?.corruption.file, /^\/one\//)
  })
}

void t.test('a database keeps the identity that it got from the injected generator', async (t) => {
  const fileSystem = new SimulatedDisk()
  const identity = Buffer.from('0123456789abcdef')
  let calls = 0
  const randomBytes = (length: number): Uint8Array => {
    calls++
    return identity.subarray(0, length)
  }
  for (let i = 0; i < 3; i++) {
    const database = await Database.open('/db', { ...options, fileSystem, randomBytes })
    await database.close()
    const path = nameLike(fileSystem, '/db', /^MANIFEST/)
    const file = fileSystem.openSync(path, 'read')
    const header = Buffer.alloc(120)
    file.readSync(header, 0, header.length, 0)
    file.closeSync()
    t.equal(header.toString('latin1', 24, 40), '0123456789abcdef')
  }
  t.equal(calls, 1)
})
