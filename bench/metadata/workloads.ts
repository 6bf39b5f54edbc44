/** What is measured on every subject; the answers are folded into a checksum. */
import { createHash, type Hash } from 'node:crypto'
import { observeProcess } from '../harness/processes/process-counters.js'
import type { Measurement, Tell } from '../harness/processes/subject-process.js'
import type { Subject, SubjectEntry } from './subject.js'

/** How much of everything. */
export interface Sizes {
  readonly topics: number
  /** Durable puts one after the other. */
  readonly single: number
  /** Puts at once. */
  readonly outstanding: number
  /** Rounds of puts at once, of subjects that share syncs. */
  readonly rounds: number
  readonly listings: number
  readonly listeners: number
  readonly changes: number
  readonly ephemeral: number
}

/** What a workload works with. */
interface Run {
  readonly subject: Subject
  readonly entry: SubjectEntry
  readonly sizes: Sizes
  readonly hash: Hash
  /** Notes the time of one call. */
  readonly call: <T>(call: () => Promise<T>) => Promise<T>
}

const namespaces = 10
/** What a subject that reads a whole tree for a listing may take for all of them. */
const listingMillisecondsMax = 20_000
const parent = '/managed-ledgers/acme'
const value = Buffer.alloc(100, 0x61)

const topic = (i: number): string => `${parent}/ns-${i % namespaces}/persistent/topic-${i}`

async function inGroups(
  count: number,
  atOnce: number,
  call: (i: number) => Promise<unknown>,
): Promise<void> {
  for (let from = 0; from < count; from += atOnce) {
    const calls: Promise<unknown>[] = []
    for (let i = from; i < Math.min(count, from + atOnce); i++) calls.push(call(i))
    await Promise.all(calls)
  }
}

async function load({ subject, sizes, hash }: Run): Promise<number> {
  if (subject.loadMany === undefined) {
    await inGroups(sizes.topics, sizes.outstanding, (i) => subject.put(topic(i), value))
  } else {
    for (let from = 0; from < sizes.topics; from += sizes.outstanding) {
      const count = Math.min(sizes.outstanding, sizes.topics - from)
      await subject.loadMany(
        Array.from({ length: count }, (_, i) => [topic(from + i), value] as const),
      )
    }
  }
  hash.update(String(sizes.topics))
  return sizes.topics
}

async function putOneByOne({ subject, sizes, hash, call }: Run): Promise<number> {
  let sum = 0
  for (let i = 0; i < sizes.single; i++) {
    sum += (await call(() => subject.put(`/single/${i}`, value)))!
  }
  hash.update(String(sum))
  return sizes.single
}

async function putOutstanding({ subject, entry, sizes, hash, call }: Run): Promise<number> {
  const rounds = entry.isSerial ? 1 : sizes.rounds
  for (let round = 0; round < rounds; round++) {
    const one = (i: number): Promise<unknown> => call(() => subject.put(`/many/${i}`, value))
    await inGroups(sizes.outstanding, sizes.outstanding, one)
  }
  // A subject with one round has other versions, and the same records.
  hash.update(String(sizes.outstanding))
  return rounds * sizes.outstanding
}

async function putHot({ subject, entry, sizes, hash, call }: Run): Promise<number> {
  const count = Math.floor(sizes.outstanding / (entry.isSerial ? 10 : 1))
  const all = count * (entry.isSerial ? 1 : sizes.rounds)
  let failures = 0
  await inGroups(all, count, async (i) => {
    const version = await call(() => subject.put('/hot', value, i - 1))
    if (version !== i) failures++
  })
  const late = await subject.put('/hot', value, 0)
  hash.update(`${failures} ${late}`)
  return all
}

async function list({ subject, entry, sizes, hash, call }: Run): Promise<number> {
  const count = entry.isSerial ? Math.max(1, Math.floor(sizes.listings / 500)) : sizes.listings
  const end = performance.now() + listingMillisecondsMax
  let names: string[] = []
  let done = 0
  for (; done < count && (done === 0 || performance.now() < end); done++) {
    names = await call(() => subject.children(parent))
  }
  hash.update(names.join())
  return done
}

async function notify({ subject, sizes, hash }: Run): Promise<number> {
  const wanted = sizes.listeners * sizes.changes
  let heard = 0
  await new Promise<void>((resolve, reject) => {
    for (let i = 0; i < sizes.listeners; i++) {
      subject.listen((_, path) => {
        if (path.startsWith('/told/') && ++heard === wanted) resolve()
      })
    }
    inGroups(sizes.changes, sizes.changes, (i) => subject.put(`/told/${i}`, value)).catch(reject)
  })
  hash.update(String(heard))
  return wanted
}

async function expire({ subject, sizes, hash, call }: Run): Promise<number> {
  let deleted = 0
  let all: () => void = () => undefined
  const gone = new Promise<void>((resolve) => (all = resolve))
  subject.listen((type, path) => {
    if (type === 'Deleted' && path.startsWith('/ephemeral/') && ++deleted === sizes.ephemeral) all()
  })
  const owner = await subject.openSession!()
  const one = (i: number): Promise<void> => owner.put(`/ephemeral/${i}`)
  await inGroups(sizes.ephemeral, sizes.outstanding, one)
  await call(async () => {
    await owner.expire()
    await gone
  })
  hash.update(`${deleted} ${(await subject.get('/ephemeral/0')) === undefined}`)
  return sizes.ephemeral
}

function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]
}

async function measure(
  workload: string,
  context: Omit<Run, 'hash' | 'call'> & { readonly directory: string },
  run: (run: Run) => Promise<number>,
  onlyCalls: boolean,
): Promise<Measurement> {
  const times: number[] = []
  const hash = createHash('sha1')
  globalThis.gc?.()
  const observed = observeProcess(context.directory)
  const begin = performance.now()
  const operations = await run({
    ...context,
    hash,
    call: (call) => {
      const startedAt = performance.now()
      return call().then((answer) => {
        times.push(performance.now() - startedAt)
        return answer
      })
    },
  })
  const passed = onlyCalls ? times.reduce((sum, time) => sum + time, 0) : performance.now() - begin
  const counters = observed.end()
  const sorted = times.sort((a, b) => a - b)
  const latencies =
    sorted.length === 0
      ? {}
      : { p50us: quantile(sorted, 0.5) * 1000, p99us: quantile(sorted, 0.99) * 1000 }
  const checksum = hash.digest('hex').slice(0, 16)
  return { workload, operations, seconds: passed / 1000, ...latencies, checksum, counters }
}

/** The workloads on one subject, in order. */
export async function runWorkloads(
  subject: Subject,
  entry: SubjectEntry,
  directory: string,
  sizes: Sizes,
  tell: Tell,
): Promise<void> {
  const context = { subject, entry, sizes, directory }
  const one = async (
    name: string,
    run: (run: Run) => Promise<number>,
    onlyCalls = false,
  ): Promise<void> => tell(await measure(name, context, run, onlyCalls))
  if (entry.isLimit !== true) await one('load', load)
  await one('put', putOneByOne)
  await one('put-outstanding', putOutstanding)
  if (entry.isLimit === true) return
  await one('cas-hot', putHot)
  await one('children', list)
  if (subject.openSession !== undefined) await one('expire', expire, true)
  await one('notify', notify)
}
