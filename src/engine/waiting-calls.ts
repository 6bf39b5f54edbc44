/**
 * The mutating calls that could not be carried out at once: writers are held back, a block is not
 * in memory, or a list gives up its turn of the event loop.
 *
 * Mutations of one row are applied in the order of the calls, whatever they wait for. So a call
 * waits for those before it that name one of its rows. A synchronous call cannot wait; it carries
 * out those before it on the spot. Calls that share no row do not wait for each other here.
 *
 * Failure behaviour: nothing here fails. A call that fails tells its own caller, is done, and the
 * next one goes on.
 */

/** One call that waits. */
export class WaitingCall {
  /** True when nothing of the call is left to do. */
  isDone = false
  /** True while it is being carried out, when observers may call the table. */
  isRunning = false
  /** Position in the order of the calls. */
  readonly number: number
  readonly rows: ReadonlySet<string>
  /** Bytes of its arguments. */
  readonly bytes: number
  /** Carries out what is left, before returning. REQUIRES that it does not throw. */
  readonly finishSync: () => void
  /** Earlier calls that name one of its rows. */
  predecessors: readonly WaitingCall[]
  /** Called when it is done. */
  readonly followers: (() => void)[] = []

  constructor(
    number: number,
    rows: ReadonlySet<string>,
    bytes: number,
    finishSync: () => void,
    predecessors: readonly WaitingCall[],
  ) {
    this.number = number
    this.rows = rows
    this.bytes = bytes
    this.finishSync = finishSync
    this.predecessors = predecessors
  }
}

/** The order of the calls that wait; see the file header. */
export class WaitingCalls {
  /** Calls that wait: the only thing that every call looks at. */
  count = 0
  /** Bytes that the arguments of waiting calls take. */
  argumentBytes = 0
  private calls = 0
  private readonly lastByRow = new Map<string, WaitingCall>()
  /** Calls whose turn has come; run one after the other, not inside of each other. */
  private readonly ready: (() => void)[] = []
  private isRunningReady = false

  /** A call begins to wait. `rows` are the names of the rows that it reads or changes. */
  add(rows: ReadonlySet<string>, bytes: number, finishSync: () => void): WaitingCall {
    const predecessors = this.before(rows)
    const call = new WaitingCall(++this.calls, rows, bytes, finishSync, predecessors)
    for (const row of rows) this.lastByRow.set(row, call)
    this.count++
    this.argumentBytes += bytes
    return call
  }

  /** Calls `run` when the calls before it are done: at once if there are none. */
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

  /** Nothing of the call is left to do. */
  done(call: WaitingCall): void {
    if (call.isDone) return
    call.isDone = true
    // Or a row that is always waited for would keep all calls there ever were.
    call.predecessors = []
    for (const row of call.rows) if (this.lastByRow.get(row) === call) this.lastByRow.delete(row)
    this.count--
    this.argumentBytes -= call.bytes
    this.ready.push(...call.followers.splice(0))
    if (this.isRunningReady) return
    this.isRunningReady = true
    for (let run = this.ready.shift(); run !== undefined; run = this.ready.shift()) run()
    this.isRunningReady = false
  }

  /** Carries out all calls that a synchronous call with these rows has to come after. */
  finishSync(rows: ReadonlySet<string>): void {
    const found = new Set<WaitingCall>()
    const look = [...this.before(rows)]
    for (let call = look.pop(); call !== undefined; call = look.pop()) {
      if (call.isDone || found.has(call)) continue
      found.add(call)
      look.push(...call.predecessors)
    }
    for (const call of [...found].sort((a, b) => a.number - b.number)) {
      // An observer that writes to the row of the call it is asked about comes first.
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
