/**
 * A message table without an engine: transactions write into a memtable, flushes and compactions
 * take their time, and the real observer and hook prune. Time goes in milliseconds.
 */
import type { Random } from '../../../../src/base/random.js'
import type { Observer, StoreJob } from '../../../../src/entries/index.js'
import type { PruneContext } from '../../../../src/systems/messaging/prune-job/prune-context.js'
import { messagingPruning } from '../../../../src/systems/messaging/prune-observer.js'
import { PruneState, type StoreName } from '../../../../src/systems/transactions/index.js'
import { decodePointer, encodePointer } from '../../../../src/systems/messaging/store/rows.js'
import { encodeMessageRow } from '../../../conformance/messaging/rows.js'
import type { TopicRecord } from '../../../../src/systems/messaging/topics/topic.js'
import type { TransactionSnapshot } from '../../../../src/systems/transactions/index.js'
import { jobOf, outcomeOf, runHook, type MadeCell } from './prune-support.js'

const storeOf = (table: string): StoreName => ({ table, family: 'd' })

const lifetimeMilliseconds = 1000
const graceMilliseconds = 400

interface Running {
  readonly job: StoreJob
  readonly inputs: MadeCell[][]
  readonly context: PruneContext
  readonly end: number
}

const names = ['known', 'sometimes'] as const

export class Simulation {
  /** Transactions that left the list of invalid ones. */
  forgotten = 0
  private now = 5000
  private readonly random: Random
  private readonly state: PruneState
  private readonly observer: Observer
  private memtable: MadeCell[] = []
  private frozen: MadeCell[] | undefined = undefined
  private frozenTime = 0
  /** Newest last. */
  private files: MadeCell[][] = []
  private flush: Running | undefined = undefined
  private compaction: Running | undefined = undefined
  private readonly inProgress = new Set<bigint>()
  private readonly invalid = new Set<bigint>()
  private knowsTransactions = true
  private knowsTopic = true

  private constructor(random: Random, state: PruneState) {
    this.random = random
    this.state = state
    const { observer } = messagingPruning({
      rows: 'message',
      tables: ['messages'],
      topics: () => this.topics(),
      transactions: () => (this.knowsTransactions ? this.snapshot() : undefined),
      state,
    })
    this.observer = observer!
  }

  static async start(random: Random): Promise<Simulation> {
    return new Simulation(
      random,
      await PruneState.open({ lifetimeMilliseconds, graceMilliseconds }),
    )
  }

  /** Runs steps; returns what went wrong first. */
  run(steps: number): string | undefined {
    for (let step = 0; step < steps; step++) {
      this.step()
      const complaint = this.forget()
      if (complaint !== undefined) return `${complaint} in step ${step}`
    }
    return undefined
  }

  /** Lets everything end; whether no invalid transaction is left then. */
  finish(): boolean {
    this.knowsTopic = this.knowsTransactions = true
    this.now += lifetimeMilliseconds
    this.endTransactions()
    this.now += 2 * graceMilliseconds + lifetimeMilliseconds
    this.endFlush()
    this.endCompaction()
    for (let round = 0; round < 2; round++) {
      this.frozen ??= this.memtable.splice(0)
      this.beginFlush()
      this.endFlush()
    }
    this.beginCompaction(true)
    this.endCompaction()
    return this.forget() === undefined && this.invalid.size === 0
  }

  private step(): void {
    this.now += this.whole(60)
    this.endTransactions()
    // Half of the grace is for flushes that wait and take long.
    const flushIsLate = this.now >= this.frozenTime + graceMilliseconds / 2 - 60
    if (this.flush !== undefined && (flushIsLate || this.now >= this.flush.end)) this.endFlush()
    if (this.frozen !== undefined && this.flush === undefined) this.beginFlush()
    if (this.compaction !== undefined && this.now >= this.compaction.end) this.endCompaction()
    const dice = this.random()
    if (dice < 0.25) this.inProgress.add(BigInt(this.now) * 1_000_000n + BigInt(this.whole(1e6)))
    else if (dice < 0.65) this.write()
    else if (dice < 0.75) this.freeze()
    else if (dice < 0.9 && this.compaction === undefined) this.beginCompaction(this.random() < 0.7)
    else if (dice < 0.92) this.knowsTransactions = !this.knowsTransactions
    else if (dice < 0.94) this.knowsTopic = !this.knowsTopic
    // Mostly everything is known.
    if (this.random() < 0.1) this.knowsTransactions = this.knowsTopic = true
  }

  /** Transactions end at random, and for certain after their lifetime: some commit. */
  private endTransactions(): void {
    for (const pointer of this.inProgress) {
      const age = this.now - Number(pointer / 1_000_000n)
      if (age < lifetimeMilliseconds && this.random() < 0.97) continue
      this.inProgress.delete(pointer)
      if (age >= lifetimeMilliseconds || this.random() < 0.5) this.invalid.add(pointer)
    }
  }

  /** Some writers do not know that their transaction has ended, but none is beyond its lifetime. */
  private write(): void {
    const writers = [...this.inProgress, ...this.invalid].filter(
      (pointer) => this.now - Number(pointer / 1_000_000n) < lifetimeMilliseconds,
    )
    if (writers.length === 0) return
    const pointer = writers[this.whole(writers.length)]
    const row = encodeMessageRow({
      id: { namespace: 'n', topic: names[this.whole(2)] },
      generation: 1,
      publishTimestamp: this.now,
      sequenceId: this.whole(0x1_0000),
    })
    this.memtable.push({ row, qualifier: 't', value: encodePointer(pointer) })
  }

  private freeze(): void {
    if (this.frozen !== undefined || this.memtable.length === 0) return
    this.frozen = this.memtable
    this.frozenTime = this.now
    this.memtable = []
  }

  private beginFlush(): void {
    this.flush = this.begin('flush', [this.frozen!])
  }

  private endFlush(): void {
    if (this.flush === undefined) return
    const { job, output, outcome } = this.perform(this.flush)
    if (output.length > 0) this.files.push(output)
    this.frozen = this.flush = undefined
    this.observer.postFlush!(job, { ...outcome, storeIsEmpty: this.isEmpty })
  }

  private beginCompaction(all: boolean): void {
    const first = all ? 0 : this.whole(this.files.length + 1)
    const inputs = this.files.slice(first)
    if (inputs.length > 0) this.compaction = this.begin(first === 0 ? 'major' : 'minor', inputs)
  }

  private endCompaction(): void {
    if (this.compaction === undefined) return
    const { job, output, outcome } = this.perform(this.compaction)
    const { inputs } = this.compaction
    const first = this.files.indexOf(inputs[0])
    this.files.splice(first, inputs.length, ...(output.length > 0 ? [output] : []))
    this.compaction = undefined
    this.observer.postCompact!(job, { ...outcome, storeIsEmpty: this.isEmpty })
  }

  private begin(kind: StoreJob['kind'], inputs: MadeCell[][]): Running {
    const job = jobOf(kind, this.now)
    const context = this.observer.jobContext!(job) as PruneContext
    return { job, inputs, context, end: this.now + this.whole(150) }
  }

  private perform({ job, inputs, context }: Running): {
    job: StoreJob
    output: MadeCell[]
    outcome: ReturnType<typeof outcomeOf>
  } {
    const cells = inputs.flat()
    const { outcomes, report } = runHook(cells, { kind: job.kind, now: job.now, context })
    const output = cells.map((cell, index): MadeCell => {
      if (outcomes[index] === 'keep') return cell
      return { ...cell, value: Buffer.from(outcomes[index], 'hex') }
    })
    return { job, output, outcome: outcomeOf([report], { entriesRead: cells.length }) }
  }

  /** Takes from the list of invalid transactions what the state allows; tells what is wrong. */
  private forget(): string | undefined {
    const bound = this.state.bound([storeOf('messages')])
    const positive = new Set<bigint>()
    for (const cells of [this.memtable, this.frozen ?? [], ...this.files]) {
      for (const { value } of cells) positive.add(decodePointer(value)!)
    }
    for (const pointer of this.invalid) {
      if (pointer > bound) continue
      if (positive.has(pointer)) return `${pointer} is positive, but the bound is ${bound}`
      this.invalid.delete(pointer)
      this.forgotten++
    }
    return undefined
  }

  private get isEmpty(): boolean {
    return this.files.length === 0 && this.memtable.length === 0 && this.frozen === undefined
  }

  private topics(): TopicRecord[] {
    return names
      .filter((topic) => topic === 'known' || this.knowsTopic)
      .map((topic) => {
        return { id: { namespace: 'n', topic }, generation: 1, ttlMilliseconds: Infinity }
      })
  }

  private snapshot(): TransactionSnapshot {
    const readPointer = BigInt(this.now) * 1_000_000n
    return { readPointer, invalid: [...this.invalid], inProgress: [...this.inProgress] }
  }

  private whole(bound: number): number {
    return Math.floor(this.random() * bound)
  }
}
