/**
 * The write path: from a mutation in the buffer to log, memtables and read point.
 *
 * A caller builds a group of mutations in `mutation`. `apply` then appends the group to the log's
 * pending frame, inserts it into the memtables and moves the read point, all in one turn without
 * `await`. So readers see a mutation whole or not at all. `commit` or `commitSync` then makes the
 * log as durable as asked.
 *
 * A mutation whose commit failed is visible until the close, and may be lost after a reopen.
 */
import { bytesPerOperation, type TurnBudget } from '../../../base/turn-budget.js'
import { tieStores } from '../../store/flush-unit.js'
import type { Durability } from '../../wal/log-options.js'
import { committed, type Log } from '../../wal/log.js'
import type { OpenedParts } from '../engine.js'
import type { ReadPoints } from '../catalog/read-points.js'
import type { Lifecycle } from '../lifecycle.js'
import type { MemoryBudget } from '../background/memory-budget.js'
import type { MemoryRelief } from '../background/memory-relief.js'
import { MutationBuffer } from './mutation-buffer.js'
import { WaitingCalls } from './waiting-calls.js'
import type { ServerClock } from './server-clock.js'
import type { WritePacer } from './write-pacer.js'

/** A commit that resolves in the next turn of the event loop or later. */
interface DelayedCommit {
  readonly done: Promise<void>
  readonly turn: Promise<void>
  readonly both: Promise<void>
}

/** The parts of an engine that the write path needs. */
export interface WriteParts extends Pick<
  OpenedParts,
  'budget' | 'clock' | 'lifecycle' | 'log' | 'options' | 'readPoints' | 'turn'
> {
  readonly pacer: WritePacer
  readonly relief: MemoryRelief
}

export class WritePath {
  /**
   * The group under construction. One suffices, because it is built and applied within one turn.
   */
  readonly mutation = new MutationBuffer()
  /** Mutating calls that have to wait, and their order. */
  readonly waiting = new WaitingCalls()
  /** Gives mutations their timestamps. */
  readonly clock: ServerClock
  readonly lifecycle: Lifecycle
  readonly options: OpenedParts['options']
  readonly readPoints: ReadPoints
  /** Operations that awaited calls may still do in this turn of the event loop. */
  readonly turn: TurnBudget
  /** Bytes of mutations appended to the log since the open. */
  logBytesWritten = 0
  private readonly budget: MemoryBudget
  private readonly log: Log
  private readonly pacer: WritePacer
  private readonly relief: MemoryRelief
  /** The newest commit that was delayed to the next turn of the event loop. */
  private delayed: DelayedCommit = {
    done: committed,
    turn: committed,
    both: committed,
  }

  constructor(parts: WriteParts) {
    this.budget = parts.budget
    this.clock = parts.clock
    this.lifecycle = parts.lifecycle
    this.log = parts.log
    this.options = parts.options
    this.pacer = parts.pacer
    this.readPoints = parts.readPoints
    this.relief = parts.relief
    this.turn = parts.turn
    parts.lifecycle.onRefusal.push((reason) => this.refuseAll(reason))
  }

  /**
   * Applies the group in `mutation`. REQUIRES `Lifecycle.checkWritable` in the same turn. REQUIRES
   * that the sequences in the keys are `lastSequence + 1` and its successors, one for each
   * mutation. If this throws, nothing was applied.
   */
  apply(durability: Durability): void {
    const { mutation, readPoints } = this
    const { payloadBytes } = mutation
    const first = readPoints.lastSequence + 1
    const sequence = readPoints.lastSequence + mutation.mutationCount
    const logged = durability !== 'SKIP_WAL'
    this.reserveMemory()
    if (logged) {
      this.log.append(mutation.buffer, 0, mutation.length, sequence)
      this.logBytesWritten += mutation.length
    }
    const before = mutation.bytesCharged
    const { buffer, stores, keyStarts, keyEnds, valueEnds, entryCount } = mutation
    const { serverTimestamps } = mutation
    const seen = readPoints.newestSeen
    for (let i = 0; i < entryCount; i++) {
      const keyEnd = keyEnds[i]
      const time = serverTimestamps[i]
      stores[i].insert(buffer, keyStarts[i], keyEnd, keyEnd, valueEnds[i], first, time, seen)
    }
    readPoints.lastSequence = sequence
    this.budget.bytesUsed += mutation.bytesCharged - before
    this.pacer.userBytes += payloadBytes
    if (payloadBytes >= bytesPerOperation) this.turn.spendBytes(payloadBytes)
    if (this.pacer.isPacing) this.pacer.spend(payloadBytes)
    // A moving average, which soon follows writers that change to larger cells.
    this.budget.bytesPerWriter += (payloadBytes - this.budget.bytesPerWriter) / 16
    const full = this.freezeFull(logged)
    // A writer that waits for the next turn relies on a flush to free memory.
    if (this.budget.isExceeded || (!full && this.budget.isHigh)) this.relief.start()
    this.relief.checkLog(this.logBytesWritten)
  }

  /** Makes everything applied so far as durable as asked, blocking. */
  commitSync(durability: Durability): void {
    this.log.commitSync(durability)
  }

  /**
   * Resolves when everything applied so far is as durable as asked. Mutations of one commit share
   * the promise.
   */
  commit(durability: Durability): Promise<void> {
    const done = this.log.commit(durability)
    if (this.turn.spend()) return done
    const turn = this.turn.waitForTurn()
    if (this.delayed.done !== done || this.delayed.turn !== turn) {
      this.delayed = { done, turn, both: bothDone(done, turn) }
    }
    return this.delayed.both
  }

  /** As {@link commit}, for a mutation that has a value: resolves to it. */
  commitOf<T>(durability: Durability, value: T): Promise<T> {
    const done = this.commit(durability)
    return done === committed ? Promise.resolve(value) : done.then(() => value)
  }

  /** Whether an awaited mutation must wait, after those that already wait. */
  get isHeld(): boolean {
    const { budget, pacer, turn } = this
    return budget.isExceeded || turn.isFull || budget.hasWaiters || pacer.isHeld
  }

  /**
   * Called before a synchronous mutation: flushes if memory exceeds the budget. If this throws,
   * nothing was changed.
   */
  admitSync(): void {
    if (!this.budget.isExceeded) return
    this.lifecycle.checkWritable()
    this.relief.finishSync()
  }

  /** Resolves when the writer may continue. Rejects with the reason if it cannot. */
  async admit(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const run = (): void => {
        // The writer writes after others of this turn have continued, so the average size is
        // counted.
        this.turn.spendBytes(this.budget.bytesPerWriter)
        resolve()
      }
      this.admitLater(run, reject)
    })
    // The pacer has let this writer go. Only the memory budget is checked again.
    while (this.budget.isExceeded) {
      await new Promise<void>((resolve, reject) => this.whenMemoryFree(resolve, reject))
    }
  }

  /** As {@link admit}, without a promise: calls `run`, or `fail` with the reason. */
  admitLater(run: () => void, fail: (error: unknown) => void): void {
    if (this.pacer.isHeld && this.lifecycle.isWritable) {
      this.pacer.whenFree(() => this.whenMemoryFree(run, fail), fail)
    } else {
      this.whenMemoryFree(run, fail)
    }
  }

  /** Rejects all waiting writers. */
  private refuseAll(reason: unknown): void {
    this.budget.fail(reason)
    this.pacer.fail(reason)
  }

  /**
   * Reserves memory before the log is written, because a logged group must also get into the
   * memtables.
   */
  private reserveMemory(): void {
    const { touchedStores, touchedCount, entryCount, payloadBytes } = this.mutation
    for (let i = 0; i < touchedCount; i++) {
      this.budget.bytesUsed += touchedStores[i].reserve(entryCount, payloadBytes)
    }
  }

  /** Freezes the memtables that the group has filled. Returns false if there are none. */
  private freezeFull(logged: boolean): boolean {
    const { touchedStores, touchedCount } = this.mutation
    const { flushBytes } = this.options
    let full = false
    if (!logged) {
      tieStores(touchedStores, touchedCount)
      for (let i = 0; i < touchedCount; i++) {
        touchedStores[i].active.hasUnloggedMutations = true
        touchedStores[i].unloggedMutations++
      }
    }
    for (let i = 0; i < touchedCount; i++) {
      const store = touchedStores[i]
      const { bytesUsed } = store.active.memtable
      if (bytesUsed < flushBytes && bytesUsed < store.flushBytes) continue
      this.relief.freeze(store)
      full = true
    }
    return full
  }

  private whenMemoryFree(run: () => void, fail: (error: unknown) => void): void {
    try {
      // Once flushes have stopped, no memory is freed any more.
      this.lifecycle.checkWritable()
    } catch (error) {
      fail(error)
      return
    }
    const { budget } = this
    if (!budget.isExceeded && !this.turn.isFull && !budget.hasWaiters) {
      run()
      return
    }
    if (budget.isExceeded) this.relief.start()
    budget.whenFree(run, fail)
  }
}

async function bothDone(done: Promise<void>, turn: Promise<void>): Promise<void> {
  // The commit may fail before the caller awaits it. The caller still gets the rejection.
  done.catch(() => undefined)
  await turn
  return done
}
