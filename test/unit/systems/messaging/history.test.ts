/**
 * Histories of messaging and transactions under crashes: a power cut at a sample of all operations
 * of the file system, a kill at each write of the log; and defects that the model must find.
 * CELLAR_SEED repeats the history.
 *
 * @runs campaign
 */
import t from 'tap'
import { ManualClock } from '../../../../src/base/clock.js'
import { seededRandom } from '../../../../src/base/random.js'
import { SimulatedDisk, type FileOperation } from '../../../doubles/simulated-disk.js'
import { crashPolicies } from '../../../doubles/power-cut.js'
import type {
  AtomicBatch,
  AtomicMutation,
  DurabilityOption,
} from '../../../../src/entries/index.js'
import { lengthOf } from '../../../helpers/length.js'
import { withMembers } from '../../../helpers/planted.js'
import { complaintsOf, History, openAll, type Known, type Plant } from './history.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20261122)
const steps = lengthOf('CELLAR_HISTORY_STEPS', 40, 600)
const imagesMax = lengthOf('CELLAR_HISTORY_IMAGES', 30, 500)
const killedSteps = lengthOf('CELLAR_HISTORY_KILLED_STEPS', 14, 200)

/** What a crash leaves, and what was known then. */
interface Crash {
  readonly image: SimulatedDisk
  readonly known: Known
  readonly time: number
}

/** Runs a history; `crashOf` answers with an image where it wants a crash, and a place for it. */
async function crashes(
  stepCount: number,
  durability: DurabilityOption,
  crashOf: (
    fileSystem: SimulatedDisk,
    operation: FileOperation,
    taken: number,
  ) => { image: SimulatedDisk; place: number } | undefined,
  plant?: Plant,
  first = seed,
): Promise<Crash[]> {
  const clock = new ManualClock(1_489_707_864_000)
  const fileSystem = new SimulatedDisk()
  const opened = await openAll(fileSystem, clock, durability, plant)
  const history = new History(opened, seededRandom(first), clock)
  const taken: Crash[] = []
  fileSystem.beforeOperation = (operation) => {
    const crash = crashOf(fileSystem, operation, taken.length)
    if (crash === undefined) return
    const { image, place } = crash
    taken[place] = { image, known: history.known, time: clock.milliseconds }
  }
  await history.run(stepCount)
  taken.push({ image: fileSystem.kill(), known: history.known, time: clock.milliseconds })
  delete fileSystem.beforeOperation
  await opened.close()
  return taken
}

async function judge({ image, known, time }: Crash, durability: DurabilityOption) {
  const clock = new ManualClock(time - 1000)
  const opened = await openAll(image, clock, durability)
  const complaints = await complaintsOf(opened, clock, known)
  await opened.close()
  return complaints
}

const isLogWrite = ({ kind, path }: FileOperation): boolean =>
  kind === 'write' && path.endsWith('.log')

/** A kill before each write of the log. */
const killAtLogWrites = (fileSystem: SimulatedDisk, operation: FileOperation, place: number) =>
  isLogWrite(operation) ? { image: fileSystem.kill(), place } : undefined

void t.test('a power cut at any operation of the file system', async (t) => {
  t.comment(`CELLAR_SEED=${seed}`)
  const random = seededRandom(seed + 1)
  let seen = 0
  const all = await crashes(steps, 'FSYNC_WAL', (fileSystem, _operation, taken) => {
    // A sample of all operations, each as likely as the others.
    seen++
    const place = taken < imagesMax ? taken : Math.floor(random() * seen)
    if (place >= imagesMax) return undefined
    const policy = crashPolicies[seen % crashPolicies.length]
    return { image: fileSystem.crash(policy, random), place }
  })
  for (const crash of all) t.strictSame(await judge(crash, 'FSYNC_WAL'), [])
  t.ok(all.length > 20, `${all.length} images, of ${seen} crashes`)
})

void t.test('a rollback finds messages whose clock was behind the write pointer', async (t) => {
  const clock = new ManualClock(1_489_707_864_000)
  const opened = await openAll(new SimulatedDisk(), clock, 'SYNC_WAL')
  const { manager, service } = opened
  const topic = { namespace: 'n', topic: 'a' }
  const transaction = await manager.startShort()
  clock.milliseconds -= 1000
  const request = { messages: ['m'], transactionWritePointer: transaction.writePointer }
  await service.publish(topic, request)
  await service.rollbackTransaction(topic, transaction.writePointer)
  await manager.commit(transaction)
  const reader = await manager.startShort()
  t.strictSame(await service.poll(topic, { transaction: reader }), [])
  await opened.close()
})

void t.test('a kill at each write of the log', async (t) => {
  const all = await crashes(killedSteps, 'SYNC_WAL', killAtLogWrites)
  for (const crash of all) t.strictSame(await judge(crash, 'SYNC_WAL'), [])
  t.ok(all.length > killedSteps, `${all.length} kills`)
})

/** A defect of how batches are written. */
const inBatches = (change: (batch: AtomicBatch) => readonly AtomicBatch[]): Plant => {
  return (database) =>
    withMembers(database, {
      atomic: async (batch: AtomicBatch) => {
        let result = { success: true, failedCheck: undefined, sequence: undefined } as Awaited<
          ReturnType<typeof database.atomic>
        >
        for (const each of change(batch)) {
          if (each.mutations.length > 0) result = await database.atomic(each)
        }
        return result
      },
    })
}

const without = (goes: (mutation: AtomicMutation) => boolean): Plant =>
  inBatches((batch) => [{ ...batch, mutations: batch.mutations.filter((each) => !goes(each)) }])

const isMarking = ({ table, mutations: [mutation] = [] }: AtomicMutation): boolean => {
  const { cells } = (mutation as { put?: { cells?: Record<string, Buffer> } }).put ?? {}
  return table === 'tms.message' && (cells?.['d:t']?.readInt8(0) ?? 0) < 0
}

const defects: Readonly<Record<string, { plant: Plant; finds: RegExp }>> = {
  'a batch in two frames': {
    plant: inBatches(({ mutations, ...rest }) => {
      const isMessage = ({ table }: AtomicMutation): boolean => table === 'tms.message'
      return [
        { ...rest, mutations: mutations.filter((each) => !isMessage(each)) },
        { ...rest, mutations: mutations.filter(isMessage) },
      ]
    }),
    finds: /is (not whole|lost|not there)/,
  },
  'an acknowledgement before the log is written': {
    plant: inBatches((batch) => [{ ...batch, durability: 'SKIP_WAL' }]),
    finds: /is lost/,
  },
  'a producer that is not remembered': {
    plant: without(({ table }) => table === 'tms.producer'),
    finds: /twice in a/,
  },
  'a rollback that marks nothing': { plant: without(isMarking), finds: /is seen/ },
  'a message that is not written': {
    plant: without(({ table, row }) => table === 'tms.message' && (row as Buffer).at(-1) === 1),
    finds: /is lost|is not there/,
  },
}

/** Histories until a defect is found: a short one may have no step that the defect spoils. */
const defectHistoriesMax = 20

for (const [name, { plant, finds }] of Object.entries(defects)) {
  void t.test(`the model finds ${name}`, async (t) => {
    const complaints: string[] = []
    for (let run = 0; run < defectHistoriesMax && !finds.test(complaints.join()); run++) {
      try {
        const all = await crashes(killedSteps, 'SYNC_WAL', killAtLogWrites, plant, seed + run)
        for (const crash of all) {
          complaints.push(...(await judge(crash, 'SYNC_WAL')))
          if (finds.test(complaints.join())) break
        }
      } catch (error) {
        complaints.push((error as Error).message)
      }
    }
    t.match(complaints.join('\n'), finds)
  })
}
