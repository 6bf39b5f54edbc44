/**
 * An export to HFiles that fails or dies at any operation of the file system: nothing is left that
 * stops a second one, which then survives a power cut, and no load takes a part of it.
 *
 * @runs campaign
 */
import t from 'tap'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { CellarError } from '../../../../src/api/index.js'
import { exportHFiles, exportOnce } from '../../../../src/hbase/hfile/export-hfiles.js'
import { loadHFiles } from '../../../../src/hbase/hfile/load-hfiles.js'
import { fileError, syntheticError } from '../../../../src/storage/fs/errors.js'
import { FaultyFileSystem } from '../../../doubles/faulty-fs.js'
import { crashPolicies } from '../../../doubles/power-cut.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { randomFrom, seed } from '../../storage/version/fixtures.js'

const database = await openMemoryDatabase()
await database.createTable('t', { families: { f: {}, g: {} } })
database.table('t').putSync({ row: 'r', cells: { 'f:q': 'x', 'g:q': 'y' } })

const directory = '/out'

/** The files below a path. */
function filesOf(disk: SimulatedDisk, path: string): string[] {
  const kind = disk.statSync(path)?.kind
  if (kind !== 'directory') return kind === undefined ? [] : [path]
  return disk.listSync(path).flatMap((name) => filesOf(disk, disk.join(path, name)))
}

/** The files that HBase would load: it passes over an underscore, and not over a dot. */
function shown(disk: SimulatedDisk): string[] {
  return filesOf(disk, directory).filter((path) => !/\/_[^/]*$/.test(path))
}

/** The number of files that HBase would load after a power cut: one of each family. */
function loadable(disk: SimulatedDisk): number {
  return shown(disk.crash('dropUnsynced', randomFrom(seed))).length
}

/** Runs an export that dies at an operation; false if it ends before. */
async function dies(
  disk: SimulatedDisk,
  run: typeof exportAnew,
  dieAt: number,
  observe: () => void = () => undefined,
): Promise<boolean> {
  let operations = 0
  disk.beforeOperation = ({ kind, path }) => {
    observe()
    // Not even a cleanup works any more.
    if (++operations >= dieAt) throw fileError(kind, path, syntheticError('EIO'))
  }
  await run(disk).catch(() => undefined)
  disk.beforeOperation = undefined
  return operations >= dieAt
}

/** As a move exports, which continues what another call has completed. */
async function exportOrFind(fileSystem: SimulatedDisk | FaultyFileSystem): Promise<void> {
  await exportOnce(database, 't', directory, 'id', { fileSystem })
}

/** As a caller of the function. */
async function exportAnew(fileSystem: SimulatedDisk | FaultyFileSystem): Promise<void> {
  await exportHFiles(database, 't', directory, { fileSystem })
}

void t.test('an export that fails leaves no file', async (t) => {
  for (const run of [exportAnew, exportOrFind]) {
    for (let failAt = 1, failures = 1; failures > 0; failAt++) {
      const disk = new SimulatedDisk()
      const faulty = new FaultyFileSystem(disk, { failAt, errno: 'EIO' })
      const outcome = await run(faulty).then(
        () => 'done',
        () => 'failed',
      )
      failures = faulty.failures
      if (outcome === 'done') continue
      t.strictSame(filesOf(disk, directory), [], `call ${failAt}`)
      await run(disk)
      t.equal(loadable(disk), 2, `call ${failAt}`)
    }
  }
})

void t.test('an export that dies is made again, or completed', async (t) => {
  for (const run of [exportAnew, exportOrFind]) {
    for (let dieAt = 1, isDone = false; !isDone; dieAt++) {
      const disk = new SimulatedDisk()
      isDone = !(await dies(disk, run, dieAt))
      const named = filesOf(disk, directory).filter((path) => /\/[0-9a-f]{32}$/.test(path))
      if (run === exportOrFind || named.length < 2) await run(disk)
      else await t.rejects(run(disk), { code: 'ERR_DIRECTORY_NOT_EMPTY' }, 'all have their names')
      if (run === exportOrFind || named.length < 2) t.equal(loadable(disk), 2, `died at ${dieAt}`)
    }
  }
})

void t.test('no file is shown without the list of all, at any moment', async (t) => {
  const complaints: string[] = []
  let moments = 0
  const check = (disk: SimulatedDisk, where: string): void => {
    for (const policy of crashPolicies) {
      const image = disk.crash(policy, randomFrom(++moments))
      if (shown(image).length === 0 || image.statSync(`${directory}/_CELLAR`)) continue
      complaints.push(`${where}, ${policy}: ${shown(image).join(' ')}`)
    }
  }
  const whole = new SimulatedDisk()
  await dies(whole, exportAnew, Infinity, () => check(whole, 'an export'))
  for (let dieAt = 1; ; dieAt++) {
    const disk = new SimulatedDisk()
    if (!(await dies(disk, exportAnew, dieAt))) break
    await dies(disk, exportAnew, Infinity, () => check(disk, `a second one, died at ${dieAt}`))
  }
  t.comment(`${moments} moments`)
  t.strictSame(complaints.slice(0, 3), [], `${complaints.length} complaints`)
})

void t.test('an export after two that died', async (t) => {
  const complaints: string[] = []
  for (let first = 1; ; first++) {
    const start = new SimulatedDisk()
    if (!(await dies(start, exportAnew, first))) break
    for (let second = 1; ; second++) {
      const disk = start.kill()
      if (!(await dies(disk, exportAnew, second))) break
      if (filesOf(disk, directory).filter((path) => /\/[0-9a-f]{32}$/.test(path)).length === 2)
        continue
      const error = await exportAnew(disk).catch((failure: Error) => failure)
      if (error === undefined && loadable(disk) === 2) continue
      complaints.push(`${first}, ${second}: ${String(error)}`)
    }
  }
  t.strictSame(complaints.slice(0, 3), [], `${complaints.length} complaints`)
})

void t.test('an export that died is loaded as a whole or not at all', async (t) => {
  let refused = 0
  for (let dieAt = 1, isDone = false; !isDone; dieAt++) {
    const disk = new SimulatedDisk()
    isDone = !(await dies(disk, exportAnew, dieAt))
    const target = await openMemoryDatabase()
    const loaded = await loadHFiles(target, 't', [directory], { fileSystem: disk }).catch(
      (error: unknown) => error,
    )
    if (loaded instanceof CellarError) {
      refused++
      const isNamed = disk.statSync(`${directory}/_CELLAR`) === undefined
      t.equal(loaded.code, isNamed ? 'ERR_INVALID_ARGUMENT' : 'ERR_CORRUPTION', loaded.message)
      t.strictSame(target.admin.listTableNames(), [], 'no table was made')
    } else t.match(loaded, { files: 2, cells: 2 }, `died at ${dieAt}`)
    await target.close()
  }
  t.ok(refused > 10, `${refused} refused`)
})

void t.test('a copy of an export without a file is refused', async (t) => {
  const disk = new SimulatedDisk()
  const { files } = await exportHFiles(database, 't', directory, { fileSystem: disk })
  const path = `${directory}/${files[1].family}/${files[1].file}`
  disk.unlinkSync(path)
  const loading = loadHFiles(database, 'u', [directory], { fileSystem: disk })
  await t.rejects(loading, { code: 'ERR_CORRUPTION', corruption: { file: path } })
})
