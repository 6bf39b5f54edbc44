/** @runs campaign */
import t from 'tap'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import type { Fault } from '../../../doubles/faulty-fs.js'
import type { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { crashPolicies, type CrashPolicy } from '../../../doubles/power-cut.js'
import type { FileSystem } from '../../../../src/storage/fs/types.js'
import { CellarError } from '../../../../src/base/errors.js'
import { formatFileName } from '../../../../src/storage/version/file-names.js'
import { VersionSet } from '../../../../src/storage/version/version-set.js'
import { openVersionSet } from '../../../doubles/version-set.js'
import { forEachFile } from '../../../../src/storage/version/version.js'
import {
  describe,
  directory,
  FaultyManifests,
  lifeSteps,
  listFiles,
  manifestName,
  newFileSystem,
  randomFrom,
  seed,
} from './fixtures.js'

t.before(() => loadChecksums())

type Mode = 'sync' | 'async'

/** How far a life got. */
interface Progress {
  /** Publishes that were acknowledged. */
  acknowledged: number
  set: VersionSet | undefined
}

/** Runs all steps, reopening in the middle, with manifests that are replaced after a few edits. */
async function runLife(fileSystem: FileSystem, mode: Mode, progress: Progress): Promise<void> {
  const options = { manifestBytesMax: 1 }
  let set = openVersionSet(fileSystem, directory, options)
  progress.set = set
  for (const [index, step] of lifeSteps.entries()) {
    const edit = step(set, fileSystem)
    if (mode === 'sync') set.publishSync(edit)
    else await set.publish(edit)
    progress.acknowledged = index + 1
    set.removeObsoleteFiles()
    if (index % 4 === 2) {
      set.close()
      progress.set = undefined
      set = openVersionSet(fileSystem, directory, options)
      progress.set = set
    }
  }
  set.close()
  progress.set = undefined
}

/** Descriptions of the states after 0, 1, 2, ... publishes. */
function expectedStates(): string[] {
  const fileSystem = newFileSystem()
  const set = openVersionSet(fileSystem, directory)
  const states = [describe(set.current)]
  for (const step of lifeSteps) {
    set.publishSync(step(set, fileSystem))
    states.push(describe(set.current))
  }
  return states.map(withoutFileNumbers)
}

/** File numbers, and the sizes that follow from them, depend on how often a life was reopened. */
function withoutFileNumbers(state: string): string {
  return state.replace(/"(fileNumber|fileBytes)":\d+/g, '"$1":0')
}

/** Which of the legal states the directory opens with, and whether it is as it should be then. */
function check(
  image: FileSystem,
  states: readonly string[],
  acknowledged: number,
): string | undefined {
  const set = openVersionSet(image, directory)
  const state = withoutFileNumbers(describe(set.current))
  const found = states.indexOf(state, acknowledged)
  if (found !== acknowledged && found !== acknowledged + 1) {
    return `acknowledged ${acknowledged}, found ${states.indexOf(state)}`
  }
  const names = [manifestName(image)]
  forEachFile(set.current, ({ fileNumber }) => names.push(formatFileName('table', fileNumber)))
  const left = listFiles(image).join()
  if (left !== names.sort().join()) return `holds ${left} instead of ${names.join()}`
  const lastSequence = set.current.lastSequence + 1
  set.publishSync({ lastSequence })
  set.close()
  const again = openVersionSet(image, directory)
  again.close()
  return again.current.lastSequence === lastSequence ? undefined : 'a later publish is lost'
}

interface Image {
  readonly fileSystem: SimulatedDisk
  readonly policy: CrashPolicy
  readonly acknowledged: number
  readonly place: string
}

for (const mode of ['sync', 'async'] as const) {
  void t.test(`a power cut loses no acknowledged ${mode} publish (seed ${seed})`, async (t) => {
    const states = expectedStates()
    const random = randomFrom(seed)
    const fileSystem = newFileSystem()
    const images: Image[] = []
    const progress: Progress = { acknowledged: 0, set: undefined }
    fileSystem.beforeOperation = ({ kind, path }) => {
      for (const policy of crashPolicies) {
        for (let repetition = 0; repetition < 3; repetition++) {
          const place = `${kind} ${path} (operation ${fileSystem.operationCount})`
          const image = fileSystem.crash(policy, random)
          images.push({ fileSystem: image, policy, ...progress, place })
        }
      }
    }
    await runLife(fileSystem, mode, progress)
    t.equal(progress.acknowledged, lifeSteps.length)
    let failures = 0
    for (const { fileSystem: image, policy, acknowledged, place } of images) {
      let wrong: string | undefined
      try {
        wrong = check(image, states, acknowledged)
      } catch (error) {
        wrong = String(error)
      }
      if (wrong !== undefined && failures++ < 10) t.fail(`${policy} before ${place}: ${wrong}`)
    }
    t.equal(failures, 0, `${images.length} images`)
    t.ok(images.length > 1500)
  })
}

void t.test(`a power cut during an open changes nothing (seed ${seed})`, async (t) => {
  const states = expectedStates()
  const random = randomFrom(seed)
  const fileSystem = newFileSystem()
  const images: Image[] = []
  const progress: Progress = { acknowledged: 0, set: undefined }
  fileSystem.beforeOperation = ({ kind, path }) => {
    if (random() < 0.5) return
    const policy = crashPolicies[Math.floor(random() * crashPolicies.length)]
    const image = fileSystem.crash(policy, random)
    images.push({ fileSystem: image, policy, ...progress, place: `${kind} ${path}` })
  }
  await runLife(fileSystem, 'sync', progress)
  let checked = 0
  for (const { fileSystem: image, acknowledged, place } of images) {
    const during: SimulatedDisk[] = []
    image.beforeOperation = () => {
      for (const policy of crashPolicies) during.push(image.crash(policy, random))
    }
    const set = openVersionSet(image, directory)
    const state = withoutFileNumbers(describe(set.current))
    const after = states.indexOf(state, acknowledged)
    for (const second of during) {
      // Exactly the state that the interrupted open had found, not one of two.
      const again = openVersionSet(second, directory)
      if (withoutFileNumbers(describe(again.current)) !== state) {
        t.fail(`cut while opening after a cut at ${place}, state ${after}`)
      }
      const manifests = listFiles(second).filter((name) => name.startsWith('MANIFEST'))
      if (manifests.length !== 1) t.fail(`manifests pile up: ${manifests.join()}`)
      checked++
    }
  }
  t.ok(checked > 1000, `${checked} second cuts`)
})

void t.test(`a power cut among concurrent publishes keeps a prefix (seed ${seed})`, async (t) => {
  const random = randomFrom(seed)
  const fileSystem = newFileSystem()
  const set = openVersionSet(fileSystem, directory, { manifestBytesMax: 1500 })
  let issued = 0
  let acknowledged = 0
  const images: { image: SimulatedDisk; issued: number; acknowledged: number }[] = []
  fileSystem.beforeOperation = () => {
    for (const policy of crashPolicies) {
      images.push({ image: fileSystem.crash(policy, random), issued, acknowledged })
    }
  }
  const running: Promise<void>[] = []
  for (let round = 0; round < 100; round++) {
    const sequence = ++issued
    if (random() < 0.2) {
      set.publishSync({ lastSequence: sequence })
      acknowledged = sequence
      if (set.current.lastSequence !== sequence)
        t.fail('publishSync returned before it was visible')
    } else {
      const done = set.publish({ lastSequence: sequence }).then(() => {
        if (set.current.lastSequence < sequence) t.fail('resolved before it was visible')
        acknowledged = Math.max(acknowledged, sequence)
      })
      running.push(done)
    }
    if (random() < 0.3) await running[Math.floor(random() * running.length)]
    if (random() < 0.3) await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.all(running)
  set.close()
  for (const { image, issued, acknowledged } of images) {
    const { lastSequence } = openVersionSet(image, directory).current
    if (lastSequence < acknowledged || lastSequence > issued) {
      t.fail(`found ${lastSequence}, acknowledged ${acknowledged}, issued ${issued}`)
    }
  }
  t.ok(images.length > 500, `${images.length} images`)
})

const faults: readonly Omit<Fault, 'failAt'>[] = [
  { errno: 'EIO' },
  { errno: 'EIO', syncFailure: 'revert' },
  { errno: 'EIO', syncFailure: 'clean', persistent: true },
  { errno: 'ENOSPC', partialWrite: true },
  { errno: 'ENOSPC', persistent: true },
]

for (const mode of ['sync', 'async'] as const) {
  void t.test(`every failing call of a life of ${mode} publishes is survived`, async (t) => {
    const states = expectedStates()
    const random = randomFrom(seed)
    let poisonings = 0
    for (const kind of faults) {
      for (let failAt = 1; ; failAt++) {
        const inner = newFileSystem()
        const fileSystem = new FaultyManifests(inner, { ...kind, failAt })
        const progress: Progress = { acknowledged: 0, set: undefined }
        let failed: unknown
        try {
          await runLife(fileSystem, mode, progress)
        } catch (error) {
          failed = error
        }
        if (fileSystem.failures === 0) break
        const what = `${JSON.stringify(kind)} at call ${failAt}`
        if (failed !== undefined && !(failed instanceof CellarError)) {
          t.fail(`${what}: an error of another class`)
        }
        const { set, acknowledged } = progress
        fileSystem.disarm()
        if (set?.failure !== undefined) {
          poisonings++
          if (set.failure.code === 'ERR_POISONED') t.fail(`${what}: the cause is lost`)
          t.throws(() => set.publishSync({}), { code: 'ERR_POISONED', cause: set.failure })
        }
        const image = inner.crash(crashPolicies[failAt % crashPolicies.length], random)
        for (const found of [image, inner]) {
          const wrong = check(found, states, acknowledged)
          if (wrong !== undefined)
            t.fail(`${what}, ${found === inner ? 'reopen' : 'cut'}: ${wrong}`)
        }
      }
    }
    t.ok(poisonings > 50, `${poisonings} poisonings`)
  })
}
