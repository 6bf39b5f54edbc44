/**
 * Repairs under power cuts and failing calls: another repair finds all that an undisturbed one
 * finds. `CELLAR_REPAIR_EVERY` fails each n-th call, and judges each n-th image of a cut.
 *
 * @runs campaign
 */
import t from 'tap'
import { Database, type RepairOptions } from '../../../src/entries/index.js'
import { FaultyFileSystem } from '../../doubles/faulty-fs.js'
import { crashPolicies } from '../../doubles/power-cut.js'
import type { SimulatedDisk } from '../../doubles/simulated-disk.js'
import { closed, directory, openIn } from '../../helpers/damage.js'
import { lengthOf } from '../../helpers/length.js'
import { generatorOf } from '../recovery.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 1)
const random = generatorOf(seed)
const every = lengthOf('CELLAR_REPAIR_EVERY', 4, 1)
const steps = new Set('open write sync rename link unlink makeDirectory syncDirectory'.split(' '))
const backup = '/backup'

async function contentOf(fileSystem: SimulatedDisk): Promise<string[]> {
  const database = await openIn(fileSystem)
  const found = database.table('large').scanSync()
  const lines = [...found].map(
    (result) => `${result.row!.toString()}=${result.value('f:q', 'utf8')}`,
  )
  await database.close()
  return lines
}

/** A backed up database whose only file with such a name is damaged in the middle. */
async function damaged(ending: 'sst' | 'val'): Promise<SimulatedDisk> {
  const fileSystem = await closed(async (_table, database) => {
    const families = { f: { blockBytes: 1024, mob: true, mobThreshold: 300 } }
    const table = await database.createTable('large', { families })
    for (let i = 0; i < 40; i++) {
      const value = `${i} `.padEnd(i % 5 === 0 ? 400 : 200, 'x')
      table.putSync({ row: `r${i}`, cells: { 'f:q': value } })
    }
    await database.backup(backup)
    await table.put({ row: 'logged', cells: { 'f:q': 'v' }, durability: 'FSYNC_WAL' })
  })
  const name = fileSystem.listSync(directory).find((each) => each.endsWith(ending))!
  // The backup shares the file by a link; a copy is damaged.
  const image = fileSystem.crash('keepAll', random)
  const file = image.openSync(`${directory}/${name}`, 'write')
  const at = Math.floor(file.sizeSync() / 3)
  const byte = Buffer.alloc(1)
  file.readSync(byte, 0, 1, at)
  byte[0] ^= 1
  file.writeSync(byte, 0, 1, at)
  file.syncSync()
  return image
}

/** What an interrupted repair has left: what is missing or wrong after another one. */
async function judge(
  fileSystem: SimulatedDisk,
  expected: readonly string[],
  options: RepairOptions,
): Promise<string | undefined> {
  try {
    await Database.repair(directory, { ...options, apply: true, fileSystem })
  } catch (error) {
    return (error as Error).message
  }
  return damageOf(fileSystem, expected)
}

/** What is missing or wrong in a directory that was repaired. */
async function damageOf(
  fileSystem: SimulatedDisk,
  expected: readonly string[],
): Promise<string | undefined> {
  try {
    const { sound, problems } = await Database.verify(directory, { fileSystem })
    if (!sound) return problems[0].message
    const found = await contentOf(fileSystem)
    const missing = expected.filter((line) => !found.includes(line))
    return missing.length === 0 ? undefined : `${missing.length} rows are missing`
  } catch (error) {
    return (error as Error).message
  }
}

for (const ending of ['sst', 'val'] as const) {
  for (const options of [{}, { backup }]) {
    const name = `${ending}, ${options.backup === undefined ? 'no backup' : 'a backup'}`
    const repair = (fileSystem: SimulatedDisk | FaultyFileSystem): Promise<unknown> =>
      Database.repair(directory, { ...options, apply: true, fileSystem })
    const expectedOf = async (start: SimulatedDisk): Promise<string[]> => {
      const whole = start.crash('keepAll', random)
      await repair(whole)
      return contentOf(whole)
    }

    void t.test(`a failing call of a repair loses nothing: ${name}`, async (t) => {
      const start = await damaged(ending)
      const expected = await expectedOf(start)
      if (options.backup === undefined) t.ok(expected.length > 30 && expected.length < 41)
      else t.equal(expected.length, 41)
      const complaints: string[] = []
      let runs = 0
      for (const persistent of [false, true]) {
        for (let failAt = 1 + (seed % every); ; failAt += every) {
          const disk = start.crash('keepAll', random)
          const only = ({ kind }: { readonly kind: string }): boolean => steps.has(kind)
          const fileSystem = new FaultyFileSystem(disk, { failAt, persistent, errno: 'EIO', only })
          const failure = await repair(fileSystem).catch((error: unknown) => error)
          if (fileSystem.failures === 0) break
          runs++
          for (const image of [disk.kill(), disk.crash('anyDirectoryOperations', random)]) {
            const complaint = await judge(image, expected, options)
            if (complaint === undefined) continue
            complaints.push(`${failAt} ${persistent} ${String(failure)}: ${complaint}`)
          }
        }
      }
      t.comment(`${runs} runs`)
      t.strictSame(complaints.slice(0, 3), [], `${complaints.length} complaints`)
    })

    void t.test(`a power cut after a repair that finished a killed one: ${name}`, async (t) => {
      const start = await damaged(ending)
      const expected = await expectedOf(start)
      const disk = start.crash('keepAll', random)
      const killed: (readonly [string, SimulatedDisk])[] = []
      disk.beforeOperation = ({ kind, path }) => {
        killed.push([`killed before ${kind} ${path}`, disk.kill()])
      }
      await repair(disk)
      const complaints: string[] = []
      for (const [where, image] of killed) {
        await repair(image)
        for (const policy of crashPolicies) {
          const cut = image.crash(policy, random)
          const complaint = await damageOf(cut, expected)
          if (complaint !== undefined) complaints.push(`${where}, ${policy}: ${complaint}`)
        }
      }
      t.comment(`${killed.length} kills`)
      t.strictSame(complaints.slice(0, 3), [], `${complaints.length} complaints`)
    })

    void t.test(`a power cut at any step of a repair loses nothing: ${name}`, async (t) => {
      const start = await damaged(ending)
      const expected = await expectedOf(start)
      const disk = start.crash('keepAll', random)
      const images: (readonly [string, SimulatedDisk])[] = []
      disk.beforeOperation = ({ kind, path }) => {
        for (const policy of crashPolicies) {
          images.push([`${policy} before ${kind} ${path}`, disk.crash(policy, random)])
        }
      }
      await repair(disk)
      const complaints: string[] = []
      for (const [i, [where, image]] of images.entries()) {
        if (i % every !== seed % every) continue
        const complaint = await judge(image, expected, options)
        if (complaint !== undefined) complaints.push(`${where}: ${complaint}`)
      }
      t.comment(`${images.length / every} images`)
      t.strictSame(complaints.slice(0, 3), [], `${complaints.length} complaints`)
    })
  }
}

void t.test('a failing repair leaves a damaged file in its place until the copy is', async (t) => {
  const start = await damaged('sst')
  const name = start.listSync(directory).find((each) => each.endsWith('.sst'))!
  for (let failAt = 1; ; failAt++) {
    const disk = start.crash('keepAll', random)
    const only = ({ kind }: { readonly kind: string }): boolean => steps.has(kind)
    const fileSystem = new FaultyFileSystem(disk, { failAt, errno: 'ENOSPC', only })
    const options = { apply: true, backup, fileSystem }
    await Database.repair(directory, options).catch(() => undefined)
    if (fileSystem.failures === 0) break
    if (disk.statSync(`${directory}/${name}`) === undefined) t.fail(`call ${failAt}: it is gone`)
  }
  t.pass('no call of a repair takes the file away')
})
