/**
 * Openers whose steps mix at random, and who die anywhere: never two owners.
 *
 * @runs long
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { CellarError, ErrorCode, hasCode } from '../../../../src/base/errors.js'
import {
  dropLockFile,
  removeLeftovers,
  takeLockFile,
  type Liveness,
  type LockEntry,
} from '../../../../src/storage/fs/lock-file.js'
import { generatorOf } from '../../../crash/recovery.js'

const seed = Number(process.env.CELLAR_SEED ?? 20261122)
const rounds = 300
const openersPerRound = 12

const held = (): CellarError => new CellarError(ErrorCode.locked, 'held')

/** One simulated process. It waits before each step until it is told to go on. */
class Opener {
  readonly id: string
  isDead = false
  owns: LockEntry | undefined
  isDone = false
  private go: (() => void) | undefined
  private readonly world: World

  constructor(world: World, number: number) {
    this.id = number.toString(16).padStart(32, '0')
    this.world = world
  }

  get isWaiting(): boolean {
    return this.go !== undefined
  }

  readonly step = (): Promise<void> => {
    this.world.arrived()
    return new Promise((resolve) => (this.go = resolve))
  }

  resume(): void {
    const { go } = this
    this.go = undefined
    go!()
  }

  async run(): Promise<void> {
    const { directory } = this.world
    const text = JSON.stringify({ id: this.id, pid: 1, hostname: 'h', inode: '1' })
    const judge = ({ id }: LockEntry): Promise<'alive' | 'dead'> =>
      Promise.resolve(this.world.isDead(id) ? 'dead' : 'alive')
    try {
      await this.step()
      this.owns = await takeLockFile(directory, this.id, text, { judge, held, step: this.step })
      this.world.owned(this)
      await removeLeftovers(directory, this.id, (id) => Promise.resolve(this.world.isDead(id)))
      await this.step()
      dropLockFile(directory, this.owns)
      this.owns = undefined
    } catch (error) {
      if (!hasCode(error, ErrorCode.locked)) throw error
      this.world.refused++
    }
    this.isDone = true
    this.world.arrived()
  }
}

class World {
  readonly directory = mkdtempSync(join(tmpdir(), 'cellar-lock-file-'))
  readonly openers: Opener[] = []
  ownerships = 0
  refused = 0
  private wake: (() => void) | undefined

  isDead(id: string): boolean {
    return this.openers.some((opener) => opener.id === id && opener.isDead)
  }

  owned(owner: Opener): void {
    this.ownerships++
    const others = this.openers.filter((opener) => opener !== owner && !opener.isDead)
    const second = others.find((opener) => opener.owns !== undefined)
    if (second !== undefined) throw new Error(`${owner.id} and ${second.id} own the directory`)
  }

  arrived(): void {
    this.wake?.()
  }

  /** Lets one step after the other happen, in an order by chance. */
  async play(random: () => number, deaths: number): Promise<void> {
    const runs = this.openers.map((opener) => opener.run())
    const failed = Promise.race(runs.map((run) => run.then(() => new Promise<never>(() => {}))))
    for (;;) {
      const ready = this.openers.filter((opener) => !opener.isDead && opener.isWaiting)
      if (ready.length === 0) break
      const opener = ready[Math.floor(random() * ready.length)]
      if (random() < deaths) {
        opener.isDead = true
        opener.owns = undefined
        continue
      }
      const next = new Promise<void>((resolve) => (this.wake = resolve))
      opener.resume()
      await Promise.race([next, failed])
    }
  }
}

void t.test(
  `openers that come together or die own a directory in turn, seed ${seed}`,
  async (t) => {
    const random = generatorOf(seed)
    let ownerships = 0
    let refused = 0
    for (let round = 0; round < rounds; round++) {
      const world = new World()
      try {
        for (let i = 1; i <= openersPerRound; i++) world.openers.push(new Opener(world, i))
        await world.play(random, round % 3 === 0 ? 0 : 0.15)
        ownerships += world.ownerships
        refused += world.refused
        // Whatever they left, somebody who comes later gets the directory, and cleans up.
        const last = new Opener(world, openersPerRound + 1)
        world.openers.push(last)
        const run = last.run()
        while (!last.isDone) {
          if (last.isWaiting) last.resume()
          await new Promise((resolve) => setImmediate(resolve))
        }
        await run
        t.same(readdirSync(world.directory), [], `round ${round}`)
      } finally {
        rmSync(world.directory, { recursive: true, force: true })
      }
    }
    t.ok(ownerships > rounds && refused > rounds, `${ownerships} owned, ${refused} were refused`)
  },
)

void t.test('an opener that cannot replace LOCK leaves no file', async (t) => {
  const directory = t.testdir({ LOCK: {} })
  const host = { judge: (): Promise<Liveness> => Promise.resolve('dead'), held }
  for (const id of ['a', 'b']) {
    await t.rejects(takeLockFile(directory, id, '', host), { code: 'EISDIR' })
    t.same(readdirSync(directory), ['LOCK'])
  }
})
