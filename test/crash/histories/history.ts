/**
 * Concurrent calls of a few clients on a few rows, over several lives of a database, and the
 * history that they make.
 */
import { hasOrder, type Timed } from '../../helpers/linearizability.js'
import {
  historyModel,
  rowNames,
  type Answer,
  type Call,
  type Happening,
  type RowName,
  type Shown,
} from './history-model.js'

/** The calls that a history makes of a store. Each rejects, if it fails. */
export interface HistoryStore {
  get(row: RowName): Promise<Shown>
  put(row: RowName, value: string): Promise<void>
  /** Resolves with whether the row had the expected value. */
  compareAndSet(row: RowName, expected: string | undefined, value: string): Promise<boolean>
  increment(row: RowName, amount: number): Promise<number>
  delete(row: RowName): Promise<void>
  batch(rows: readonly RowName[], expected: string | undefined, value: string): Promise<boolean>
  scan(rows: readonly RowName[]): Promise<readonly Shown[]>
}

/** What a failed call means: it has not happened, or nobody knows. */
export type Judgement = 'not done' | 'unknown'

/** A step of a client in one of the lives. */
export interface Step {
  readonly life: number
  readonly client: number
  readonly kind: Call['kind']
  readonly rows: readonly RowName[]
  /** Of a written value; unique. */
  readonly id: string
  /** Whether a condition expects what the client saw last, or that there is no value. */
  readonly expectsSeen: boolean
  /** Turns of the event loop before the step. */
  readonly turns: number
}

/** How often each kind of call is drawn. */
export type Weights = Readonly<Partial<Record<Call['kind'], number>>>

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Draws the steps of a history. */
export function drawSteps(
  random: () => number,
  lives: number,
  clients: number,
  stepsPerClient: number,
  weights: Weights,
): readonly Step[] {
  const kinds = Object.entries(weights).flatMap(([kind, weight]) => {
    return Array.from({ length: weight }, () => kind as Call['kind'])
  })
  const steps: Step[] = []
  for (let life = 0; life < lives; life++) {
    for (let client = 0; client < clients; client++) {
      for (let i = 0; i < stepsPerClient; i++) {
        const kind = kinds[Math.floor(random() * kinds.length)]
        const some = rowNames
          .map((row) => ({ row, place: random() }))
          .sort((a, b) => a.place - b.place)
          .map(({ row }) => row)
        const count = kind === 'batch' ? 2 + Math.floor(random() * 3) : 1
        const rows = kind === 'scan' ? scanned(random()) : some.slice(0, count)
        const id = `${life}.${client}.${i}`
        const turns = random() < 0.5 ? 0 : Math.floor(random() * 4)
        steps.push({ life, client, kind, rows, id, expectsSeen: random() < 0.8, turns })
      }
    }
  }
  return steps
}

/** The rows of one table, or of both: by a scan, or by scans of a snapshot. */
function scanned(draw: number): readonly RowName[] {
  const table = draw < 0.3 ? 'a' : draw < 0.6 ? 'b' : ''
  return rowNames.filter((row) => row.startsWith(table))
}

/** One history: what was called, what it answered, and when. */
export class History {
  readonly #happenings: Timed<Happening>[] = []
  readonly #underWay = new Map<Call, number>()
  #time = 0
  #life = 0

  /** How many calls were answered. */
  get answered(): number {
    return this.#happenings.filter(({ mayBeAbsent }) => mayBeAbsent !== true).length
  }

  /** How many calls may or may not have happened. */
  get unknown(): number {
    return this.#happenings.filter(({ mayBeAbsent }) => mayBeAbsent === true).length
  }

  /** Lets the clients of one life work side by side; resolves when all are done or have died. */
  async run(
    store: HistoryStore,
    steps: readonly Step[],
    judge: (error: unknown, begunAfterFailure: boolean) => Judgement,
    hasFailed: () => boolean = () => false,
  ): Promise<void> {
    const life = this.#life
    const clients = new Set(steps.map(({ client }) => client))
    const work = async (client: number): Promise<void> => {
      const seen = new Map<RowName, string | undefined>()
      for (const step of steps) {
        if (step.client !== client) continue
        for (let i = 0; i < step.turns; i++) await turn()
        if (this.#life !== life) return
        const call = callOf(step, seen)
        const begunAfterFailure = hasFailed()
        const start = ++this.#time
        this.#underWay.set(call, start)
        const answer = await carryOut(store, call).catch((error: unknown) => {
          return judge(error, begunAfterFailure)
        })
        // After the end of its life a call has an unknown outcome already.
        if (!this.#underWay.has(call)) return
        if (answer === 'not done') this.#underWay.delete(call)
        else if (answer !== 'unknown') {
          this.#underWay.delete(call)
          this.#happenings.push({ operation: { call, answer }, start, end: ++this.#time })
          remember(seen, call, answer)
        }
      }
    }
    await Promise.all([...clients].map(work))
  }

  /** The process has ended: what had no answer may have happened, but not later. */
  crash(): void {
    this.#life++
    const over = ++this.#time
    for (const [call, start] of this.#underWay) {
      const operation: Happening = { call, answer: 'unknown' }
      const isRead = call.kind === 'get' || call.kind === 'scan'
      if (isRead) continue
      this.#happenings.push({ operation, start, end: over, mayBeAbsent: true })
    }
    this.#underWay.clear()
    const time = ++this.#time
    this.#happenings.push({ operation: { call: { kind: 'crash' } }, start: time, end: time })
  }

  /** The whole state, read by nobody else's side. */
  async observe(store: HistoryStore): Promise<void> {
    const start = ++this.#time
    const call: Call = { kind: 'scan', rows: rowNames }
    const answer = await carryOut(store, call)
    this.#happenings.push({ operation: { call, answer }, start, end: ++this.#time })
  }

  /** Undefined if the history could have happened one call after the other; else why not. */
  judge(): string | undefined {
    return hasOrder(historyModel, this.#happenings) ? undefined : explain(this.#happenings)
  }

  /** As {@link judge}, where no write is of several rows: each row has an order of its own. */
  judgeRows(): string | undefined {
    for (const row of rowNames) {
      const ofRow = this.#happenings.flatMap((each) => {
        const operation = projected(each.operation, row)
        return operation === undefined ? [] : [{ ...each, operation }]
      })
      if (!hasOrder(historyModel, ofRow)) return explain(ofRow)
    }
    return undefined
  }
}

/** The part of a happening in one row, if there is one. */
function projected(happening: Happening, row: RowName): Happening | undefined {
  if (!('answer' in happening)) return happening
  const { call, answer } = happening
  if (call.kind === 'scan') {
    const place = call.rows.indexOf(row)
    if (place < 0 || typeof answer !== 'object') return undefined
    return { call: { kind: 'get', row }, answer: [answer[place]] }
  }
  return 'row' in call && call.row === row ? happening : undefined
}

/** The shortest beginning that has no order, as lines. */
function explain(happenings: readonly Timed<Happening>[]): string {
  const byEnd = [...happenings].sort((a, b) => a.end - b.end)
  let count = 1
  while (count < byEnd.length && hasOrder(historyModel, upTo(byEnd, count))) count++
  return upTo(byEnd, count)
    .map(({ operation, start, end }) => {
      const answer = 'answer' in operation ? operation.answer : ''
      return `${start}-${end} ${JSON.stringify(operation.call)} ${JSON.stringify(answer)}`
    })
    .join('\n')
}

/** What was answered until a moment, and what had begun by then. */
function upTo(byEnd: readonly Timed<Happening>[], count: number): readonly Timed<Happening>[] {
  const { end } = byEnd[count - 1]
  const later = byEnd.slice(count).filter(({ start }) => start < end)
  const begun = later.map(({ operation, start }): Timed<Happening> => {
    const unknown = 'answer' in operation ? { ...operation, answer: 'unknown' as const } : operation
    return { operation: unknown, start, end: Infinity, mayBeAbsent: true }
  })
  return [...byEnd.slice(0, count), ...begun]
}

function callOf(
  { kind, rows, id, expectsSeen }: Step,
  seen: ReadonlyMap<RowName, string | undefined>,
): Call {
  const [row] = rows
  const expected = expectsSeen ? seen.get(row) : undefined
  switch (kind) {
    case 'get':
    case 'delete':
      return { kind, row }
    case 'put':
      return { kind, row, value: id }
    case 'increment':
      return { kind, row, amount: 1 + (id.length % 3) }
    case 'compareAndSet':
      return { kind, row, expected, value: id }
    case 'batch':
      return { kind, rows, expected, value: id }
    case 'scan':
      return { kind, rows }
  }
}

async function carryOut(store: HistoryStore, call: Call): Promise<Answer> {
  switch (call.kind) {
    case 'get':
      return [await store.get(call.row)]
    case 'put':
      await store.put(call.row, call.value)
      return true
    case 'delete':
      await store.delete(call.row)
      return true
    case 'increment':
      return store.increment(call.row, call.amount)
    case 'compareAndSet':
      return store.compareAndSet(call.row, call.expected, call.value)
    case 'batch':
      return store.batch(call.rows, call.expected, call.value)
    case 'scan':
      return store.scan(call.rows)
  }
}

/** Takes note of what the client knows about the rows. */
function remember(seen: Map<RowName, string | undefined>, call: Call, answer: Answer): void {
  if (typeof answer === 'object') {
    const rows = call.kind === 'scan' ? call.rows : [(call as { row: RowName }).row]
    rows.forEach((row, i) => seen.set(row, answer[i].value))
  } else if (call.kind === 'delete') seen.set(call.row, undefined)
  else if ('value' in call && answer === true) {
    for (const row of call.kind === 'batch' ? call.rows : [call.row]) seen.set(row, call.value)
  }
}
