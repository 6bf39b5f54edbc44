/**
 * Plants each fault of the lists in this folder, one at a time, in a copy of the build, and runs
 * the tests that must find it: `npm run planted -- [options]`.
 *
 * A fault counts as found if one of its tests passes without the fault and fails with it.
 *
 * Exit codes: 0 all were found, 1 a fault was not found or its tests fail without it, 2 the command
 * line is wrong.
 */
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { PlantedBuild, staleness } from './plant.js'
import { faultsOf, type RoomFault } from './rooms.js'

const usage = `usage: npm run planted -- [options]

  --room ROOM   only the faults of test/planted/ROOM.ts
  --match TEXT  only faults whose name has this text
  --seconds N   how long one test file may take; default 300
  --jobs N      how many at the same time; default: the number of processors
  --campaign    only faults that a kind of the campaign finds, by one round of it
  --list        prints the faults and ends
`

function wholeNumber(name: string, text: string): number {
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1) {
    throw new TypeError(`--${name} must be a whole number of at least 1, not '${text}'`)
  }
  return number
}

/** Runs tests without a fault once each, however many faults they must find. */
class SoundRuns {
  readonly #outcomes = new Map<string, Promise<boolean>>()

  passes(build: PlantedBuild, [test, ...args]: Check, secondsMax: number): Promise<boolean> {
    const name = [test, ...args].join(' ')
    let outcome = this.#outcomes.get(name)
    if (outcome === undefined) {
      outcome = build.run(test, secondsMax, args).then(({ passed }) => passed)
      this.#outcomes.set(name, outcome)
    }
    return outcome
  }
}

/** A test file or another program, and its arguments. */
type Check = readonly [program: string, ...args: string[]]

/** The checks of a fault: its tests, or one round of a kind of the campaign. */
function checksOf({ tests, foundBy, seed = 1 }: RoomFault, ofCampaign: boolean): readonly Check[] {
  if (!ofCampaign && tests.length > 0) return tests.map((test) => [test])
  return [['test/crash/campaign/main.ts', '--kind', foundBy!, '--seed', String(seed)]]
}

/** The line of a fault, and whether it was found. */
async function tryFault(
  build: PlantedBuild,
  fault: RoomFault,
  sound: SoundRuns,
  secondsMax: number,
  ofCampaign: boolean,
): Promise<[boolean, string]> {
  const stale = staleness(fault)
  if (stale !== undefined) return [false, stale]
  const checks = checksOf(fault, ofCampaign)
  for (const check of checks) {
    if (await sound.passes(build, check, secondsMax)) continue
    return [false, `${check.join(' ')} fails without it`]
  }
  build.plant(fault)
  try {
    for (const [test, ...args] of checks) {
      const { passed, reason } = await build.run(test, secondsMax, args)
      if (!passed) return [true, `${[test, ...args].join(' ')}: ${reason.slice(0, 120)}`]
    }
  } finally {
    build.remove(fault)
  }
  return [false, `not found by ${checks.map((check) => check.join(' ')).join(', ')}`]
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      room: { type: 'string' },
      match: { type: 'string', default: '' },
      seconds: { type: 'string', default: '300' },
      jobs: { type: 'string', default: String(availableParallelism()) },
      campaign: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(usage)
    return 0
  }
  const secondsMax = wholeNumber('seconds', values.seconds)
  const jobs = wholeNumber('jobs', values.jobs)
  const ofCampaign = values.campaign
  const faults = (await faultsOf(values.room)).filter(({ name, foundBy }) => {
    return name.includes(values.match) && (!ofCampaign || foundBy !== undefined)
  })
  if (faults.length === 0) throw new TypeError('no fault has this room and name')
  if (values.list) {
    for (const fault of faults) process.stdout.write(`${fault.room}: ${fault.name}\n`)
    return 0
  }
  const waiting = [...faults]
  const sound = new SoundRuns()
  let found = 0
  const worker = async (): Promise<void> => {
    const build = new PlantedBuild()
    try {
      for (let fault = waiting.shift(); fault !== undefined; fault = waiting.shift()) {
        const [ok, line] = await tryFault(build, fault, sound, secondsMax, ofCampaign)
        if (ok) found++
        process.stdout.write(
          `${ok ? 'found' : 'MISSED'}  ${fault.room}: ${fault.name}\n        ${line}\n`,
        )
      }
    } finally {
      build.dispose()
    }
  }
  await Promise.all(Array.from({ length: Math.min(jobs, faults.length) }, worker))
  process.stdout.write(`${found} of ${faults.length} planted faults found\n`)
  return found === faults.length ? 0 : 1
}

try {
  process.exitCode = await main()
} catch (error) {
  if (!(error instanceof TypeError)) throw error
  process.stderr.write(`${error.message}\n\n${usage}`)
  process.exitCode = 2
}
