/**
 * Mutating calls that have to wait: writers are held back, a block is not in memory, or a list of
 * mutations has given up its turn of the event loop.
 *
 * Mutations of one row are applied in the order of the calls, whatever they wait for. So a call
 * waits for the earlier calls that name one of its rows. A synchronous call cannot wait; it
 * completes those earlier calls first, on its own stack. Calls without a common row do not wait for
 * each other here.
 *
 * Nothing here fails. A call that fails reports to its own caller and is done, and the next one
 * continues.
 */

/** A call that waits. */
export interface WaitingCall {
  /** True when the call is complete. */
  isDone: boolean
  /** True while the call is being carried out; observers may call the table meanwhile. */
  isRunning: boolean
  /** Number of the call in the order of all calls. */
  readonly number: number
  readonly rows: ReadonlySet<string>
  /** Bytes of the call's arguments. */
  readonly bytes: number
  /** Completes the call, blocking. REQUIRES that it does not throw. */
  readonly finishSync: () => void
  /** Earlier calls that name one of the call's rows. */
  predecessors: readonly WaitingCall[]
  /** Functions to call when the call is done. */
  readonly followers: (() => void)[]
}

export class WaitingCalls {
  /** Number of waiting calls; calls that need not wait look only at this. */
  count = 0
  /** Bytes of the arguments of all waiting calls. */
  argumentBytes = 0
  private calls = 0
  private readonly lastByRow = new Map<string, WaitingCall>()
  /** Calls whose turn has come. They run one after the other, not inside of each other. */
  private ready: (() => void)[] = []
  private isRunningReady = false

  /** Adds a call that must wait. `rows` names the rows that it reads or changes. */
  add(rows: ReadonlySet<string>, bytes: number, finishSync: () => void): WaitingCall {
    const call: WaitingCall = {
      isDone: false,
      isRunning: false,
      number: ++this.calls,
      rows,
      bytes,
      finishSync,
      predecessors: this.before(rows),
      followers: [],
    }
    for (const row of rows) this.lastByRow.set(row, call)
    this.count++
    this.argumentBytes += bytes
    return call
  }

  /** Calls `run` when all predecessors of the call are done; immediately if there are none. */
  whenTurn({ predecessors }: WaitingCall, run: () => void): void {
    let left = 0
    const follow = (): void => {
      if (--left === 0) run()
    }
    for (const call of predecessors) {
      if (call.isDone) continue
      left++
      call.followers.push(follow)
    }
    if (left === 0) run()
  }

  /** Marks a call as complete and lets its followers run. */
  done(call: WaitingCall): void {
    if (call.isDone) return
    call.isDone = true
    // Else a row with calls that always wait would keep all its earlier calls in memory.
    call.predecessors = []
    for (const row of call.rows) if (this.lastByRow.get(row) === call) this.lastByRow.delete(row)
    this.count--
    this.argumentBytes -= call.bytes
    // One by one: a call of many rows has more followers than a function may have arguments.
    for (const run of call.followers.splice(0)) this.ready.push(run)
    if (this.isRunningReady) return
    this.isRunningReady = true
    // The list grows while it runs. `shift` would move all the rest each time.
    for (let i = 0; i < this.ready.length; i++) this.ready[i]()
    this.ready = []
    this.isRunningReady = false
  }

  /** Completes all calls that must come before a synchronous call with these rows. */
  finishSync(rows: ReadonlySet<string>): void {
    const found = new Set<WaitingCall>()
    const look = [...this.before(rows)]
    for (let call = look.pop(); call !== undefined; call = look.pop()) {
      if (call.isDone || found.has(call)) continue
      found.add(call)
      for (const other of call.predecessors) look.push(other)
    }
    for (const call of [...found].sort((a, b) => a.number - b.number)) {
      // Skip the call whose observer is making this synchronous call: the observer's write comes
      // first.
      if (!call.isDone && !call.isRunning) call.finishSync()
    }
  }

  private before(rows: ReadonlySet<string>): WaitingCall[] {
    const calls = new Set<WaitingCall>()
    for (const row of rows) {
      const last = this.lastByRow.get(row)
      if (last !== undefined) calls.add(last)
    }
    return [...calls]
  }
}
