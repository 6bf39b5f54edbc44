/**
 * Runs one operation of a database under a power cut at each of its steps, and with each of its
 * calls to the file system failing.
 *
 * The judge gets the database as it is found afterwards, and whether the operation had been
 * acknowledged; it returns a complaint or nothing.
 */
import { ManualClock } from '../../src/base/clock.js'
import { FaultyFileSystem } from '../doubles/faulty-fs.js'
import { SimulatedDisk } from '../doubles/simulated-disk.js'
import { crashPolicies } from '../doubles/power-cut.js'
import { Database, type DatabaseOptions, type FileSystem } from '../../src/entries/index.js'
import { randomFrom, seed } from '../unit/storage/version/fixtures.js'

/** Says what is wrong with a database that was found; undefined = nothing. */
export type Judge = (
  database: Database,
  acknowledged: boolean,
  fileSystem: FileSystem,
) => Promise<string | undefined> | string | undefined

/** One operation and what may be found after it was interrupted. */
export interface Interrupted {
  /** Runs undisturbed; what it leaves is made durable by its own calls. */
  readonly prepare: (database: Database, fileSystem: FileSystem) => Promise<void>
  readonly act: (database: Database, fileSystem: FileSystem) => Promise<unknown>
  readonly judge: Judge
  /** Judges what the operation leaves when one call has failed. Default: nothing is wrong. */
  readonly judgeFailed?: (fileSystem: FileSystem) => string | undefined
  readonly options?: DatabaseOptions
  /** Judges only each n-th image, and fails only each n-th call; the seed says which. Default 1. */
  readonly every?: number
}

const directory = '/database'

function open(fileSystem: FileSystem, options: DatabaseOptions | undefined): Promise<Database> {
  return Database.open(directory, {
    executor: 'inline',
    compactionEnabled: false,
    ...options,
    clock: new ManualClock(),
    fileSystem,
  })
}

async function judgeFound(
  test: Interrupted,
  fileSystem: FileSystem,
  acknowledged: boolean,
): Promise<string | undefined> {
  try {
    const database = await open(fileSystem, test.options)
    try {
      return await test.judge(database, acknowledged, fileSystem)
    } finally {
      await database.close()
    }
  } catch (error) {
    return `${(error as Error).message}`
  }
}

/** Cuts the power before every operation of the file system and after the last, in every way. */
export async function cutEverywhere(
  test: Interrupted,
): Promise<{ images: number; places: number; complaints: string[] }> {
  const fileSystem = new SimulatedDisk()
  const database = await open(fileSystem, test.options)
  await test.prepare(database, fileSystem)
  const random = randomFrom(seed)
  const images: { name: string; image: SimulatedDisk; acknowledged: boolean }[] = []
  let places = 0
  const photograph = (what: string, acknowledged: boolean): void => {
    places++
    for (const policy of crashPolicies) {
      const image = fileSystem.crash(policy, random)
      images.push({ name: `${policy} before ${what}`, image, acknowledged })
    }
  }
  fileSystem.beforeOperation = ({ kind, path }) => photograph(`${places} ${kind} ${path}`, false)
  await test.act(database, fileSystem)
  fileSystem.beforeOperation = undefined
  photograph('the end', true)
  await database.close()
  const complaints: string[] = []
  const { every = 1 } = test
  let judged = 0
  for (const [i, { name, image, acknowledged }] of images.entries()) {
    if (i % every !== seed % every) continue
    judged++
    const complaint = await judgeFound(test, image, acknowledged)
    if (complaint !== undefined) complaints.push(`${name}: ${complaint}`)
  }
  return { images: judged, places, complaints }
}

/** Lets every call of the file system fail once, and from then on. */
export async function failEverywhere(
  test: Interrupted,
): Promise<{ runs: number; complaints: string[] }> {
  const complaints: string[] = []
  let runs = 0
  for (const persistent of [false, true]) {
    const { every = 1 } = test
    for (let failAt = 1 + (seed % every); ; failAt += every) {
      const memory = new SimulatedDisk()
      const fileSystem = new FaultyFileSystem(memory)
      const database = await open(fileSystem, test.options)
      await test.prepare(database, fileSystem)
      fileSystem.arm({ failAt, persistent, errno: 'EIO' })
      let failure: Error | undefined
      await test.act(database, fileSystem).catch((error: unknown) => (failure = error as Error))
      const { failures } = fileSystem
      fileSystem.disarm()
      const name = `${persistent ? 'all calls from' : 'call'} ${failAt} failing`
      if (failures === 0) {
        if (failure !== undefined) complaints.push(`without a failing call: ${String(failure)}`)
        await database.close()
        break
      }
      runs++
      if (failure !== undefined && !('code' in failure)) complaints.push(`${name}: ${failure}`)
      if (failure !== undefined && !persistent) {
        const complaint = test.judgeFailed?.(fileSystem)
        if (complaint !== undefined) complaints.push(`${name}, at once: ${complaint}`)
      }
      if (database.failure === undefined) {
        const complaint = await test.judge(database, failure === undefined, fileSystem)
        if (complaint !== undefined) complaints.push(`${name}, still open: ${complaint}`)
      }
      await database.close().catch(() => undefined)
      const complaint = await judgeFound(test, memory, failure === undefined)
      if (complaint !== undefined) complaints.push(`${name}, opened again: ${complaint}`)
    }
  }
  return { runs, complaints }
}
