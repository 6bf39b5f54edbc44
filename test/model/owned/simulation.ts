/**
 * Owners of one log on a {@link RowStore}, with all their calls in the hands of a scheduler that
 * draws what happens next: a call is carried out and answered, its answer is lost, the call itself
 * is lost or arrives much later, an owner dies between two calls, another one takes over while the
 * first is alive.
 *
 * What must hold is stated at the end over the history that all owners and the feed have seen:
 * every acknowledged batch is in the log at its sequence, no batch is there twice, the log has no
 * gap, and the data are those of the log, applied in order, and nothing else.
 */
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { seededRandom, type Random } from '../../../src/base/random.js'
import { roundsOf, rowWrites } from '../../../src/hbase/owned/log/apply.js'
import { chunkRow, type LogPlace, type LogStore } from '../../../src/hbase/owned/log/log-store.js'
import type { LoggedBatch, LoggedCell } from '../../../src/hbase/owned/log/logged-batch.js'
import { OwnerLog } from '../../../src/hbase/owned/log/owner-log.js'
import { claim, readOwner, recover } from '../../../src/hbase/owned/log/takeover.js'
import { RowStore } from './row-store.js'

interface Call {
  readonly process: Process
  readonly execute: () => unknown
  readonly resolve: (value: never) => void
  readonly reject: (reason: unknown) => void
}

interface Process {
  readonly id: number
  /** How far the clock of the process is from that of the others. */
  readonly skew: number
  alive: boolean
  /** Step up to which no call of the process is carried out, so that others pass it by. */
  frozenUntil: number
  log: OwnerLog | undefined
}

/** What a run has met, so that a test can see that the faults happened. */
export interface Happened {
  acknowledged: number
  takeovers: number
  deposed: number
  lost: number
  late: number
  killed: number
}

/** Steps of a run. */
export const ownedSteps = 250

/** Runs one seed. Throws an AssertionError if a promise is broken. */
export async function simulate(seed: number, steps = ownedSteps): Promise<Happened> {
  const simulation = new Simulation(seed)
  await simulation.run(steps)
  return simulation.happened
}

class Simulation {
  readonly happened: Happened = {
    acknowledged: 0,
    takeovers: 0,
    deposed: 0,
    lost: 0,
    late: 0,
    killed: 0,
  }
  readonly #random: Random
  readonly #store = new RowStore()
  readonly #processes: Process[] = []
  #calls: Call[] = []
  /** Calls whose callers know nothing, and that may still arrive. */
  #late: (() => unknown)[] = []
  /** Whether calls may fail. */
  #faulty = true
  #now = 1_000
  #step = 0
  #batches = 0
  /** Names of batches by sequence, as they were acknowledged. */
  readonly #acknowledged = new Map<number, string>()
  /** The batches by sequence, as the feed has shown them. */
  readonly #feed = new Map<number, LoggedBatch>()
  #feedPosition = 1
  readonly #retentionBytes: number
  readonly #batchesMax: number

  constructor(seed: number) {
    this.#random = seededRandom(seed)
    this.#retentionBytes = this.#below(3) * 300
    this.#batchesMax = 2 + this.#below(6)
  }

  async run(steps: number): Promise<void> {
    this.#start()
    for (; this.#step < steps; this.#step++) {
      this.#now += this.#below(3)
      this.#act()
      await setImmediate()
    }
    await this.#finish()
    this.#check()
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound)
  }

  #act(): void {
    const drawn = this.#below(100)
    if (drawn < 60) this.#answer()
    else if (drawn < 80) this.#hand()
    else if (drawn < 88) this.#beat()
    else if (drawn < 92) this.#arrive()
    else if (drawn < 93) this.#kill()
    else if (drawn < 95) this.#freeze()
    else if (drawn < 97 || this.#owners().length === 0) this.#start()
    else this.#answer()
  }

  #owners(): Process[] {
    return this.#processes.filter(({ alive, log }) => alive && log?.failure === undefined)
  }

  /** Carries out a call that is under way, or not. */
  #answer(): void {
    const calls = this.#calls.filter(({ process }) => process.frozenUntil <= this.#step)
    if (calls.length === 0) return
    const call = calls[this.#below(calls.length)]
    this.#calls.splice(this.#calls.indexOf(call), 1)
    const fault = this.#faulty ? this.#below(10) : 9
    if (fault > 2) {
      call.resolve(call.execute() as never)
      return
    }
    this.happened.lost++
    if (fault === 0) call.execute()
    if (fault === 1) this.#late.push(call.execute)
    call.reject(new Error('the answer is lost'))
  }

  #arrive(): void {
    if (this.#late.length === 0) return
    this.happened.late++
    const [execute] = this.#late.splice(this.#below(this.#late.length), 1)
    execute()
  }

  #kill(): void {
    const owners = this.#processes.filter(({ alive }) => alive)
    if (owners.length === 0) return
    const process = owners[this.#below(owners.length)]
    process.alive = false
    this.happened.killed++
    for (const call of this.#calls) {
      if (call.process === process && this.#below(2) === 0) this.#late.push(call.execute)
    }
    this.#calls = this.#calls.filter((call) => call.process !== process)
  }

  #freeze(): void {
    const owners = this.#processes.filter(({ alive }) => alive)
    if (owners.length === 0) return
    owners[this.#below(owners.length)].frozenUntil = this.#step + this.#below(150)
  }

  #start(): void {
    if (this.#processes.filter(({ alive }) => alive).length >= 3) return
    const process: Process = {
      id: this.#processes.length,
      skew: this.#below(2_000) - 1_000,
      alive: true,
      frozenUntil: 0,
      log: undefined,
    }
    this.#processes.push(process)
    void this.#own(process).catch((error: unknown) => {
      // Who loses the log while taking it over is deposed as well.
      process.alive = false
      if ((error as { code?: string }).code !== 'ERR_LOCKED') this.#broken ??= error as Error
      this.happened.deposed++
    })
  }

  /** An error that no owner should see. */
  #broken: Error | undefined = undefined

  async #own(process: Process): Promise<void> {
    const place = this.#placeOf(process)
    const claimed = await claim(place, `owner ${process.id}`, await readOwner(place))
    if (claimed === undefined) {
      process.alive = false
      return
    }
    const apply = (batches: readonly LoggedBatch[]): Promise<void> => this.#apply(process, batches)
    const recovered = await recover(place, claimed, apply)
    this.happened.takeovers++
    process.log = new OwnerLog(place, recovered, {
      apply,
      neededFrom: () => this.#feedPosition,
      retentionBytes: this.#retentionBytes,
      batchesMax: this.#batchesMax,
      bytesMax: 1_000,
      onFailure: (error) => {
        this.happened.deposed++
        if (error.code !== 'ERR_LOCKED') this.#broken ??= error
      },
    })
    void this.#follow(process.log)
  }

  #placeOf(process: Process): LogPlace {
    const call = <T>(execute: () => T): Promise<T> => this.#call(process, execute)
    const store: LogStore = {
      read: (row, what) => call(() => this.#store.read(row, what)),
      change: (row, change) => call(() => this.#store.change(row, change)),
      remove: (row) => call(() => this.#store.remove(row)),
    }
    return { store, name: 'simulated', patience: async () => undefined }
  }

  #call<T>(process: Process, execute: () => T): Promise<T> {
    // A dead process is never answered, and sends nothing.
    if (!process.alive) return new Promise(() => undefined)
    return new Promise((resolve, reject) => {
      this.#calls.push({ process, execute, resolve, reject })
    })
  }

  async #apply(process: Process, batches: readonly LoggedBatch[]): Promise<void> {
    for (const round of roundsOf(batches)) await this.#applyRound(process, round)
  }

  async #applyRound(process: Process, batches: readonly LoggedBatch[]): Promise<void> {
    const writes = rowWrites(batches).map(async (write) => {
      for (;;) {
        try {
          await this.#call(process, () => this.#store.write(write))
          return
        } catch {
          if (process.log?.failure !== undefined) throw process.log.failure
        }
      }
    })
    await Promise.all(writes)
  }

  /** Hands batches to an owner; several in one turn form a group. */
  #hand(): void {
    const owners = this.#owners().filter(({ log }) => log !== undefined)
    if (owners.length === 0) return
    const { log, skew } = owners[this.#below(owners.length)]
    for (let i = this.#below(4); i >= 0; i--) {
      const timestamp = Math.max(this.#now + skew, log!.timestamp + 1)
      const name = `batch ${++this.#batches}`
      const cells = this.#drawCells(name, timestamp)
      const { sequence, done } = log!.append({ timestamp, cells })
      done.then(
        () => this.#acknowledge(sequence, name, cells),
        () => undefined,
      )
    }
  }

  #drawCells(name: string, timestamp: number): LoggedCell[] {
    const rows = [0, 1, 2, 3, 4].filter(() => this.#below(2) === 0)
    return (rows.length === 0 ? [0] : rows).map((row) => ({
      table: row < 2 ? 'a' : 'b',
      family: 'f',
      row: Buffer.from(`row ${row}`),
      qualifier: Buffer.from('q'),
      type: this.#below(5) === 0 ? 'DeleteColumn' : 'Put',
      timestamp: BigInt(timestamp),
      ttlMilliseconds: 0,
      value: Buffer.from(name),
    }))
  }

  #acknowledge(sequence: number, name: string, cells: readonly LoggedCell[]): void {
    this.happened.acknowledged++
    const other = this.#acknowledged.get(sequence)
    if (other !== undefined) this.#broken ??= new Error(`${name} and ${other} are ${sequence}`)
    this.#acknowledged.set(sequence, name)
    for (const cell of cells) {
      if (!this.#store.has(cell)) this.#broken ??= new Error(`${name} lacks a cell at its answer`)
    }
  }

  #beat(): void {
    const owners = this.#owners().filter(({ log }) => log !== undefined)
    if (owners.length > 0) void owners[this.#below(owners.length)].log!.beat()
  }

  /** A reader of the feed, which goes on where an earlier one has ended. */
  async #follow(log: OwnerLog): Promise<void> {
    try {
      for (;;) {
        const from = this.#feedPosition
        await log.whenApplied(from)
        for (const batch of await this.#readFeed(log, from)) this.#show(batch)
      }
    } catch (error) {
      const { code } = error as { code?: string }
      // A deposed owner does not know what its successor has removed.
      if (code !== 'ERR_POISONED' && this.#owners().some((owner) => owner.log === log)) {
        if (this.#processes.at(-1)?.log === log) this.#broken ??= error as Error
      }
    }
  }

  /** No batches if another reader has passed `from` meanwhile, so that its chunk may be gone. */
  async #readFeed(log: OwnerLog, from: number): Promise<LoggedBatch[]> {
    try {
      return await log.read(from)
    } catch (error) {
      const isGone = (error as { code?: string }).code === 'ERR_CHANGES_GONE'
      if (isGone && from < this.#feedPosition) return []
      throw error
    }
  }

  #show(batch: LoggedBatch): void {
    const { sequence } = batch
    const shown = this.#feed.get(sequence)
    if (shown === undefined) this.#feed.set(sequence, batch)
    else if (nameOf(shown) !== nameOf(batch)) {
      const names = `${nameOf(shown)} and ${nameOf(batch)}`
      this.#broken ??= new Error(`the feed shows ${names} as ${sequence}`)
    }
    while (this.#feed.has(this.#feedPosition)) this.#feedPosition++
  }

  /** Ends with a new owner, without faults. Late calls arrive before, between and after. */
  async #finish(): Promise<void> {
    this.#faulty = false
    for (const process of this.#processes) process.alive &&= this.#below(2) === 0
    const alive = this.#processes.filter((process) => process.alive)
    for (const process of alive.slice(0, -2)) process.alive = false
    this.#calls = this.#calls.filter((call) => call.process.alive)
    this.#start()
    await this.#settle()
    // Owners that fought for the log may all have lost it.
    for (const process of this.#processes) process.alive = false
    this.#calls = []
    this.#start()
    await this.#settle()
    for (const execute of this.#late) execute()
    this.#beat()
    await this.#settle()
  }

  /** Answers calls until nobody makes one. */
  async #settle(): Promise<void> {
    this.#step = Infinity
    for (let quiet = 0; quiet < 3;) {
      quiet = this.#calls.length === 0 ? quiet + 1 : 0
      this.#answer()
      if (this.#below(3) === 0) this.#arrive()
      await setImmediate()
    }
  }

  #check(): void {
    if (this.#broken !== undefined) throw this.#broken
    const last = this.#owners().at(-1)?.log
    assert.ok(last, 'somebody owns the log in the end')
    const sequences = [...this.#feed.keys()].sort((a, b) => a - b)
    assert.deepEqual(
      sequences,
      Array.from(sequences, (_, index) => index + 1),
      'the feed has no gap',
    )
    assert.equal(last.applied, sequences.length, 'the feed shows the whole log')
    const names = sequences.map((sequence) => nameOf(this.#feed.get(sequence)!))
    assert.equal(new Set(names).size, names.length, 'no batch is in the log twice')
    for (const [sequence, name] of this.#acknowledged) {
      assert.equal(names[sequence - 1], name, `acknowledged as ${sequence}`)
    }
    const model = new RowStore()
    for (const sequence of sequences) {
      const { cells } = this.#feed.get(sequence)!
      for (const cell of cells) model.write({ ...cell, cells: [cell] })
    }
    assert.deepEqual(this.#store.dataCells(), model.dataCells(), 'the data are those of the log')
    for (const row of this.#store.logRows) {
      assert.ok(row >= chunkRow({ name: 'simulated' } as LogPlace, 1) || row.endsWith('/owner'))
    }
  }
}

function nameOf({ cells }: LoggedBatch): string {
  return cells[0].value.toString()
}
