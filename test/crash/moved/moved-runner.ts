/**
 * A database whose directory is moved while it is open, and a second one at the old path: neither
 * ever writes into the directory of the other, and both keep what they acknowledged.
 */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Database, type CellarError } from '../../../src/entries/index.js'

const rowCount = 60
const families = { f: {}, g: { mob: true, mobThreshold: 100 } }

/** One of the databases, and what it must hold. */
class Tenant {
  readonly mark: string
  readonly rows = new Map<string, string>()
  database: Database

  constructor(mark: string, database: Database) {
    this.mark = mark
    this.database = database
  }

  /** One of the things that make, rename or remove files. */
  async step(random: () => number): Promise<void> {
    const { database, mark } = this
    const draw = random()
    if (draw < 0.1) return database.flush()
    if (draw < 0.15) return database.compact('t')
    if (draw < 0.2) return database.admin.rollWALWriter()
    if (draw < 0.25) {
      await database.admin.snapshot('s', 't')
      return database.admin.deleteSnapshot('s')
    }
    const row = `row ${Math.floor(random() * rowCount)}`
    const value = `${mark} ${random()}`
    const cells = { 'f:v': value, 'g:large': value.repeat(20) }
    await database.table('t').put({ row, cells })
    this.rows.set(row, value)
  }

  check(): void {
    const found = [...this.database.table('t').scanSync()]
    if (found.length !== this.rows.size) {
      throw new Error(`${this.mark} has ${found.length} rows, not ${this.rows.size}`)
    }
    for (const result of found) {
      const wanted = this.rows.get(result.row!.toString())
      const large = result.value('g:large')?.toString()
      if (result.value('f:v')?.toString() !== wanted || large !== wanted?.repeat(20)) {
        throw new Error(`${this.mark} has a wrong ${result.row!.toString()}`)
      }
    }
  }
}

/** Rounds of moves. */
export class MovedTest {
  readonly counts = { rounds: 0, moves: 0, steps: 0 }

  /** Throws if anything is lost, or the path gives a database that is held. */
  async round(random: () => number): Promise<void> {
    const home = mkdtempSync(join(tmpdir(), 'cellar-moved-'))
    const executor = random() < 0.5 ? ('inline' as const) : ('auto' as const)
    const options = { executor, manifestBytesMax: 1024, flushBytes: 64 * 1024 }
    const path = join(home, 'db')
    const tenants: Tenant[] = []
    const places: string[] = []
    try {
      for (let number = 0; number < 3; number++) {
        mkdirSync(path)
        const tenant = new Tenant(`tenant ${number}`, await Database.open(path, options))
        await tenant.database.createTable('t', { families })
        tenants.push(tenant)
        await this.play(tenants, random)
        const place = join(home, `moved ${number}`)
        renameSync(path, place)
        places.push(place)
        this.counts.moves++
        await this.play(tenants, random)
        await expectLocked(place)
      }
      for (const [i, tenant] of tenants.entries()) {
        tenant.check()
        await tenant.database.close()
        tenant.database = await Database.open(places[i], options)
        tenant.check()
        await tenant.database.close()
        const left = readdirSync(places[i]).filter((name) => name.startsWith('LOCK'))
        if (left.length > 0) throw new Error(`${left.join()} is left in ${places[i]}`)
      }
      this.counts.rounds++
    } finally {
      for (const { database } of tenants) await database.close().catch(() => undefined)
      rmSync(home, { recursive: true, force: true })
    }
  }

  private async play(tenants: readonly Tenant[], random: () => number): Promise<void> {
    const steps = 20 + Math.floor(random() * 60)
    for (let i = 0; i < steps; i++) {
      await tenants[Math.floor(random() * tenants.length)].step(random)
      this.counts.steps++
    }
  }
}

async function expectLocked(place: string): Promise<void> {
  try {
    const database = await Database.open(place, { executor: 'inline' })
    await database.close()
  } catch (error) {
    if ((error as CellarError).code === 'ERR_LOCKED') return
    throw error
  }
  throw new Error(`${place} was opened although it is held`)
}
