/** @runs long */
import t from 'tap'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import type { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { crashPolicies } from '../../../doubles/power-cut.js'
import type { Durability } from '../../../../src/storage/wal/log-options.js'
import { Log } from '../../../../src/storage/wal/log.js'
import {
  append,
  databaseId,
  directory,
  newFileSystem,
  range,
  recover,
  seededRandom,
} from './support.js'
import { lengthOf } from '../../../helpers/length.js'

const seed = Number(process.env.CELLAR_SEED ?? 20_261_121)

/** What must be true of any image taken at one moment. */
interface Promises {
  /** Highest sequence acknowledged with FSYNC_WAL. */
  fsynced: number
  /** Highest sequence acknowledged with at least SYNC_WAL. */
  written: number
  /** Highest sequence appended. */
  appended: number
  /** What a manifest would hold: recorded durably before segments are removed. */
  floor: number
  flushed: number
}

/** Runs random operations on a log, from `promises.appended` on. */
async function run(log: Log, promises: Promises, random: () => number): Promise<void> {
  const below = (limit: number) => Math.floor(random() * limit)
  const waits: Promise<void>[] = []
  const steps = 5 + below(40)
  for (let step = 0; step < steps; step++) {
    const count = 1 + below(4)
    for (let i = 0; i < count; i++) {
      append(log, promises.appended + 1, below(10) === 0 ? below(4000) : below(200))
      promises.appended++
    }
    const durabilities: Durability[] = ['SKIP_WAL', 'ASYNC_WAL', 'SYNC_WAL', 'FSYNC_WAL']
    const durability = durabilities[below(4)]
    const sequence = promises.appended
    const acknowledge = () => {
      if (durability === 'FSYNC_WAL') promises.fsynced = Math.max(promises.fsynced, sequence)
      if (durability === 'FSYNC_WAL' || durability === 'SYNC_WAL') {
        promises.written = Math.max(promises.written, sequence)
      }
    }
    if (below(3) === 0) {
      log.commitSync(durability)
      acknowledge()
    } else {
      waits.push(log.commit(durability).then(acknowledge))
    }
    if (below(6) === 0) log.roll()
    if (below(10) === 0) {
      const { lastSequence } = log.segments[below(log.segments.length)]
      promises.flushed = Math.max(promises.flushed, lastSequence)
      promises.floor = log.floorFor(promises.flushed)
      log.removeObsolete(promises.flushed)
    }
    if (below(3) === 0) await new Promise((resolve) => setImmediate(resolve))
    else if (below(2) === 0) await Promise.resolve()
  }
  if (below(2) === 0) await log.close()
  await Promise.all(waits)
}

/** Recovers an image and checks the promises; returns what the next round needs. */
function check(image: SimulatedDisk, promises: Promises, processOnly: boolean) {
  const floor = promises.floor
  const result = recover(image, { fileNumberFloor: floor })
  const { sequences, recovered } = result
  const last = recovered.lastSequence
  // What is flushed may be there in part; behind it there must be no hole.
  const needed = sequences.filter((sequence) => sequence > promises.flushed)
  if (needed.join() !== range(promises.flushed + 1, last).join()) {
    throw new Error(`a hole: ${sequences.join()}, flushed up to ${promises.flushed}`)
  }
  const promised = processOnly ? promises.written : promises.fsynced
  if (last < promised && promised > promises.flushed) {
    throw new Error(`recovered up to ${last}, acknowledged ${promised}`)
  }
  if (last > promises.appended) throw new Error('something that was never appended')
  return result
}

const chains = lengthOf('CELLAR_CRASH_CHAINS', 4, 40)

for (const policy of crashPolicies) {
  void t.test(`power cuts with ${policy}, seed ${seed}`, async (t) => {
    await loadChecksums()
    let images = 0
    for (let chain = 0; chain < chains; chain++) {
      const random = seededRandom(seed + chain)
      let fs = newFileSystem()
      let fileNumber = 1
      let promises: Promises = { fsynced: 0, written: 0, appended: 0, floor: 0, flushed: 0 }
      for (let round = 0; round < 5; round++) {
        // A cut within recovery itself, before the one that the round goes on from.
        const state = { ...promises }
        const untouched = fs.crash('keepAll', random)
        fs.beforeOperation = () => {
          if (random() < 0.5) return
          images++
          check(fs.crash(policy, random), state, false)
        }
        const { recovered, sequences } = check(fs, state, false)
        const twice = recover(untouched, { fileNumberFloor: state.floor })
        t.same(twice.sequences, sequences)
        const last = Math.max(recovered.lastSequence, promises.flushed)
        promises = { ...promises, fsynced: last, written: last, appended: last }
        const image: { fs: SimulatedDisk; promises: Promises } = { fs, promises }
        const rate = random() < 0.5 ? 0.05 : 0.3
        fs.beforeOperation = () => {
          if (random() >= rate) return
          images++
          const then = { ...promises }
          const cut = fs.crash(policy, random)
          image.fs = cut.crash('keepAll', random)
          image.promises = then
          check(cut, then, policy === 'keepAll')
        }
        const { predecessor, segments } = recovered
        const allocateFileNumber = () => fileNumber++
        const log = Log.createSync({
          fileSystem: fs,
          directory,
          databaseId,
          allocateFileNumber,
          recovered: segments,
          predecessor,
        })
        await run(log, promises, random)
        images++
        check(fs.crash(policy, random), { ...promises }, policy === 'keepAll')
        fs.beforeOperation = undefined
        // Without a cut, the process dies: what it left running must not write any more.
        fs = image.fs === fs ? fs.crash('keepAll', random) : image.fs
        promises = { ...image.promises }
      }
    }
    t.ok(images > 12 * chains, `${images} images`)
  })
}
