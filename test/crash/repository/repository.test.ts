/**
 * Power cuts and failing calls at every step of writes of records with blobs, unique values, links
 * and field indexes: all of it is there together or not at all (repository-scene.ts). And a process
 * that is killed.
 *
 * @runs campaign
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { FaultyFileSystem, type Fault } from '../../doubles/faulty-fs.js'
import { crashPolicies } from '../../doubles/power-cut.js'
import { SimulatedDisk } from '../../doubles/simulated-disk.js'
import { Database, NodeFileSystem } from '../../../src/entries/index.js'
import {
  FileBlobStore,
  RepositoryManager,
  type Blob,
} from '../../../src/systems/repository/index.js'
import { childEnvironment } from '../../helpers/child-environment.js'
import { lengthOf } from '../../helpers/length.js'
import { randomFrom, seed } from '../../unit/storage/version/fixtures.js'
import { act, closeScene, judge, openScene, prepareScene } from './repository-scene.js'

void t.test('a power cut at any step leaves all of a write or nothing', async (t) => {
  const fileSystem = new SimulatedDisk()
  const opened = await openScene(fileSystem)
  await prepareScene(opened)
  const random = randomFrom(seed)
  const images: { name: string; image: () => SimulatedDisk; acknowledged: number }[] = []
  let acknowledged = 0
  const chosen = lengthOf('CELLAR_REPOSITORY_CUTS', 0.02, 1)
  fileSystem.beforeOperation = ({ kind, path }) => {
    for (const policy of crashPolicies) {
      if (random() >= chosen) continue
      const image = fileSystem.crash(policy, random)
      images.push({ name: `${policy} before ${kind} ${path}`, image: () => image, acknowledged })
    }
  }
  await act(opened, (step) => void (acknowledged = step))
  fileSystem.beforeOperation = undefined
  await closeScene(opened)
  t.comment(`seed ${seed}, ${images.length} images`)
  t.ok(images.length >= 2)
  for (const { name, image, acknowledged: step } of images) {
    t.strictSame(await judge(image(), step), [], name)
  }
})

const faults: readonly Omit<Fault, 'failAt'>[] = [
  { errno: 'EIO' },
  { errno: 'EIO', partialWrite: true },
  { errno: 'ENOSPC', persistent: true },
  { errno: 'EIO', syncFailure: 'revert' },
]

/** Lets one call of the steps fail; the complaints, and how many calls there are. */
async function withFault(fault: Fault): Promise<{ complaints: string[]; calls: number }> {
  const fileSystem = new SimulatedDisk()
  const faulty = new FaultyFileSystem(fileSystem)
  const scene = await openScene(faulty)
  await prepareScene(scene)
  faulty.arm(fault)
  let acknowledged = 0
  const complaints: string[] = []
  try {
    await act(scene, (step) => void (acknowledged = step))
  } catch (error) {
    // A failure is told as one of the file system or of the database, never as a mistake of ours.
    const { code } = error as { code?: unknown }
    if (typeof code !== 'string') complaints.push(`an error without code: ${String(error)}`)
  }
  const { callCount: calls } = faulty
  faulty.disarm()
  await closeScene(scene)
  complaints.push(...(await judge(fileSystem, acknowledged)))
  return { complaints, calls }
}

void t.test('a call that fails leaves all of a write or nothing', async (t) => {
  const random = randomFrom(seed + 1)
  const chosen = lengthOf('CELLAR_REPOSITORY_FAULTS', 0.02, 1)
  let runs = 0
  for (const fault of faults) {
    const { calls } = await withFault({ ...fault, failAt: Number.MAX_SAFE_INTEGER })
    const surely = 1 + Math.floor(random() * calls)
    for (let failAt = 1; failAt <= calls; failAt++) {
      if (random() >= chosen && failAt !== surely) continue
      runs++
      const { complaints } = await withFault({ ...fault, failAt })
      t.strictSame(complaints, [], `${JSON.stringify(fault)} at call ${failAt}, seed ${seed}`)
    }
  }
  t.comment(`seed ${seed}, ${runs} runs`)
  t.ok(runs >= faults.length)
})

const childPath = fileURLToPath(new URL('repository-child.js', import.meta.url))

/**
 * Runs a process that writes records, and kills it when it has acknowledged so many writes, however
 * long that takes; the versions that it has acknowledged.
 */
async function runAndKill(home: string, writes: number): Promise<Map<string, number>> {
  const child = spawn(process.execPath, [childPath, home], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: childEnvironment,
  })
  let output = ''
  child.stdout.on('data', (data: Buffer) => {
    output += data.toString()
    // The first line says that the database is open.
    if (output.split('\n').length - 2 >= writes) child.kill('SIGKILL')
  })
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  if (code !== null) throw new Error(`the child ended with code ${code}`)
  const acknowledged = new Map<string, number>()
  // Behind the last newline there is nothing, or half a line.
  for (const line of output.split('\n').slice(0, -1)) {
    const [id, version] = line.split(' ')
    if (version !== undefined) acknowledged.set(id, Number(version))
  }
  return acknowledged
}

void t.test('a process that is killed leaves whole records', async (t) => {
  const home = t.testdir()
  const random = randomFrom(seed + 2)
  const told = new Map<string, number>()
  for (let round = 0; round < lengthOf('CELLAR_REPOSITORY_KILLS', 1, 20); round++) {
    const acknowledged = await runAndKill(home, 1 + Math.floor(random() * 100))
    const database = await Database.open(join(home, 'database'))
    const store = new FileBlobStore(new NodeFileSystem(), join(home, 'blobs'))
    const blobStores = [{ store, bytesMax: Infinity }]
    const manager = await RepositoryManager.open(database, { blobStores, inlineBlobBytesMax: 10 })
    const table = manager.repository().table()
    for (const [id, version] of acknowledged) {
      const found = (await table.read(id)).version ?? 0
      // A write that was not acknowledged may be there.
      t.ok(found === version || found === version + 1, `${id}: ${found}, not ${version}`)
    }
    let blobs = 0
    for await (const { id, fields, version } of table.scan()) {
      const blob = fields['{n}blob'] as Blob
      const parts: Buffer[] = []
      for await (const piece of manager.blobs.read(blob)) parts.push(piece)
      const content = Buffer.concat(parts)
      if (!content.equals(Buffer.alloc(blob.size, `${id.text} ${version}`))) t.fail(id.text)
      blobs += version ?? 0
    }
    const { missing, surplus } = await table.indexes.check('numbers')
    t.same([missing, surplus], [0, 0], 'the index is that of the records')
    await manager.blobs.sweep({ ageMillisecondsMin: 0 })
    t.equal((await manager.blobs.states()).size, blobs, 'each version has its blob, and no other')
    const own = await manager.subscribe('audit', ({ event }) => {
      told.set(event.id, Math.max(told.get(event.id) ?? 0, event.versionCreated ?? 0))
    })
    const following = await manager.followLinks()
    await Promise.all([own.caughtUp(), following.caughtUp()])
    for await (const { id, version } of table.scan()) {
      if (told.get(id.text) !== version) t.fail(`no event of version ${version} of ${id.text}`)
    }
    await following.close()
    const followed = await manager.links.rows()
    await manager.links.rebuild()
    t.strictSame(await manager.links.rows(), followed, 'links are those of a rebuild')
    await manager.close()
    await database.close()
  }
  t.ok(told.size > 0, `${told.size} records`)
})
