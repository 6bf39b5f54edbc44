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
import type { Durability, Log } from '../../wal/log.js'
import type { Engine } from '../engine.js'
import type { MemoryBudget } from '../background/memory-budget.js'
import type { MemoryRelief } from '../background/memory-relief.js'
import { MutationBuffer } from './mutation-buffer.js'
import { WaitingCalls } from './waiting-calls.js'
import { WritePacer } from './write-pacer.js'

/** A commit that resolves in the next turn of the event loop or later. */
interface DelayedCommit {
  readonly done: Promise<void>
  readonly turn: Promise<void>
  readonly both: Promise<void>
}

const nothing = Promise.resolve()

/** The write path of one engine; see the file header. */
export class WritePath {
  /**
   * The group under construction. One suffices, because it is built and applied within one turn.
   */
  readonly mutation = new MutationBuffer()
  /** Mutating calls that have to wait, and their order. */
  readonly waiting = new WaitingCalls()
  readonly budget: MemoryBudget
  readonly pacer: WritePacer
  /** Sequence of the newest visible mutation: the read point of new readers. */
  lastSequence: number
  /** Bytes of keys and values that users have written since the open, for write amplification. */
  userBytes = 0
  /** Bytes of mutations appended to the log since the open. */
  logBytesWritten = 0
  readonly log: Log
  private readonly relief: MemoryRelief
  private readonly engine: Engine
  private readonly turn: TurnBudget
  /** The newest commit that was delayed to the next turn of the event loop. */
  private delayed: DelayedCommit = { done: nothing, turn: nothing, both: nothing }

  constructor(
    engine: Engine,
    budget: MemoryBudget,
    log: Log,
    relief: MemoryRelief,
    lastSequence: number,
  ) {
    this.engine = engine
    this.turn = engine.turn
    this.budget = budget
    this.log = log
    this.relief = relief
    this.lastSequence = lastSequence
    this.pacer = new WritePacer(
      engine.options,
      (pressure) => engine.reports.pressureChanged(pressure),
      () => budget.bytesPerWriter,
    )
  }

  /**
   * Applies the group in `mutation`. REQUIRES `Engine.checkWritable` in the same turn. REQUIRES
   * that the sequences in the keys are `lastSequence + 1` and its successors, one for each
   * mutation. If this throws, nothing was applied.
   */
  apply(durability: Durability): void {
    const { mutation } = this
    const { payloadBytes } = mutation
    const first = this.lastSequence + 1
    const sequence = this.lastSequence + mutation.mutationCount
    const logged = durability !== 'SKIP_WAL'
    this.reserveMemory()
    if (logged) {
      this.log.append(mutation.buffer, 0, mutation.length, sequence)
      this.logBytesWritten += mutation.length
    }
    const before = mutation.bytesCharged
    const { buffer, stores, keyStarts, keyEnds, valueEnds, entryCount } = mutation
    const { serverTimestamps } = mutation
    const seen = this.engine.readPoints.newestSeen
    for (let i = 0; i < entryCount; i++) {
      const keyEnd = keyEnds[i]
      const time = serverTimestamps[i]
      stores[i].insert(buffer, keyStarts[i], keyEnd, keyEnd, valueEnds[i], first, time, seen)
    }
    this.lastSequence = sequence
    this.budget.bytesUsed += mutation.bytesCharged - before
    this.userBytes += payloadBytes
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
    this.engine.checkWritable()
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
    if (this.pacer.isHeld && this.engine.isWritable) {
      this.pacer.whenFree(() => this.whenMemoryFree(run, fail), fail)
    } else {
      this.whenMemoryFree(run, fail)
    }
  }

  /** Rejects all waiting writers. */
  refuseAll(reason: unknown): void {
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
    const { flushBytes } = this.engine.options
    let full = false
    if (!logged) {
      tieStores(touchedStores, touchedCount)
      for (let i = 0; i < touchedCount; i++) touchedStores[i].active.hasUnloggedMutations = true
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
      this.engine.checkWritable()
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
