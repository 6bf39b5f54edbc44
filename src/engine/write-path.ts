/**
 * The write path: from a mutation in the buffer to memtables, read point and log.
 *
 * A caller builds a group of mutations in `mutation`. `apply` then appends the group to the log's
 * pending frame, inserts it into the memtables and moves the read point, all in one turn without
 * `await`. `commit` or `commitSync` makes the log as durable as asked. Readers therefore see a
 * mutation whole or not at all.
 *
 * Failure behaviour: a mutation whose commit failed is indeterminate. It is visible until the
 * close, and may be gone after a reopen.
 */
import { bytesPerOperation, type TurnBudget } from '../base/turn-budget.js'
import { tieStores } from '../store/flush-unit.js'
import type { Durability, Log } from '../wal/log.js'
import type { Engine } from './engine.js'
import type { MemoryBudget } from './memory-budget.js'
import type { MemoryRelief } from './memory-relief.js'
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
  /** The group under construction; one at a time, because no turn is given up in between. */
  readonly mutation = new MutationBuffer()
  /** Mutating calls that could not be carried out at once, and their order. */
  readonly waiting = new WaitingCalls()
  readonly budget: MemoryBudget
  readonly pacer: WritePacer
  /** Sequence of the newest visible mutation: the read point of new readers. */
  lastSequence: number
  /** Bytes of keys and values written by users since the open, for write amplification. */
  userBytes = 0
  /** Bytes of mutations appended to the log since the open. */
  logBytesWritten = 0
  log!: Log
  /** Frees memory; set by the engine, whose background work it is part of. */
  relief!: MemoryRelief
  private readonly engine: Engine
  private readonly turn: TurnBudget
  /** The newest commit that was put off to the next turn of the event loop. */
  private delayed: DelayedCommit = { done: nothing, turn: nothing, both: nothing }

  constructor(engine: Engine, budget: MemoryBudget, lastSequence: number) {
    this.engine = engine
    this.turn = engine.turn
    this.budget = budget
    this.lastSequence = lastSequence
    this.pacer = new WritePacer(
      engine.options,
      (pressure) => engine.reports.pressureChanged(pressure),
      () => budget.bytesPerWriter,
    )
  }

  /**
   * Makes the group in `mutation` part of the database. REQUIRES `Engine.checkWritable` in the same
   * turn, and that the sequences in its keys are `lastSequence + 1` and those that follow, one for
   * each mutation. Nothing is applied if it throws.
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
    for (let i = 0; i < entryCount; i++) {
      const keyEnd = keyEnds[i]
      stores[i].insert(buffer, keyStarts[i], keyEnd, keyEnd, valueEnds[i], first)
    }
    this.lastSequence = sequence
    this.budget.bytesUsed += mutation.bytesCharged - before
    this.userBytes += payloadBytes
    if (payloadBytes >= bytesPerOperation) this.turn.spendBytes(payloadBytes)
    if (this.pacer.isPacing) this.pacer.spend(payloadBytes)
    // A running mean: it follows quickly when writers turn to larger cells.
    this.budget.bytesPerWriter += (payloadBytes - this.budget.bytesPerWriter) / 16
    const full = this.freezeFull(logged)
    // A writer that waits for its turn must not find memory short that nobody frees.
    if (this.budget.isExceeded || (!full && this.budget.isHigh)) this.relief.start()
    this.relief.checkLog()
  }

  /** Makes everything applied so far as durable as asked, before returning. */
  commitSync(durability: Durability): void {
    this.log.commitSync(durability)
  }

  /**
   * Resolves when everything applied so far is as durable as asked. Mutations that share a commit
   * share the promise as well.
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

  /** Whether an awaited mutation has to wait before it is applied, behind those that wait. */
  get isHeld(): boolean {
    const { budget, pacer, turn } = this
    return budget.isExceeded || turn.isFull || budget.hasWaiters || pacer.isHeld
  }

  /** Before a synchronous mutation: flushes above the budget; nothing is changed if it throws. */
  admitSync(): void {
    if (!this.budget.isExceeded) return
    this.engine.checkWritable()
    this.relief.finishSync()
  }

  /** Resolves when writing may go on; rejects with the reason why it cannot. */
  async admit(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const run = (): void => {
        // It writes when this turn has let others go, so its bytes are guessed.
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

  /** Ends the waiting of all writers: there is no more writing. */
  refuseAll(reason: unknown): void {
    this.budget.fail(reason)
    this.pacer.fail(reason)
  }

  /** Memory first: once the group is in the log it must also get into the memtables. */
  private reserveMemory(): void {
    const { touchedStores, touchedCount, entryCount, payloadBytes } = this.mutation
    for (let i = 0; i < touchedCount; i++) {
      this.budget.bytesUsed += touchedStores[i].reserve(entryCount, payloadBytes)
    }
  }

  /** Freezes memtables that the group has filled; false if there are none. */
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
      // Nobody frees memory any more once flushes have stopped.
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
  // It may fail while nobody looks; the caller still gets the rejection.
  done.catch(() => undefined)
  await turn
  return done
}
