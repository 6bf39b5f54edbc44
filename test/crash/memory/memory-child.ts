/**
 * The process that the memory test measures: loads much more than the memtables may hold, and
 * prints what it needed, as JSON.
 *
 * Arguments: mode (`baseline`, `sync`, `async`, `mixed` or `scans`), directory, MiB of data, MiB of
 * memtables. `mixed` and `scans` put values of 10 bytes to 1 MiB out of one buffer that is used
 * again; `scans` has 30 scans open meanwhile, half of them synchronous.
 */
import { seededRandom } from '../../../src/base/random.js'
import { Database, type EmbeddedTable } from '../../../src/entries/index.js'

const [mode, directory, dataText, budgetText] = process.argv.slice(2)
const mebibyte = 1024 * 1024
const valueBytes = 1000

async function main(): Promise<void> {
  let peak = 0
  let ticks = 0
  let gapMax = 0
  let last = performance.now()
  const look = (): void => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }
  const timer = setInterval(() => {
    const now = performance.now()
    gapMax = Math.max(gapMax, now - last)
    last = now
    ticks++
    look()
  }, 10)
  let buffersPeak = 0
  let pinnedPeak = 0
  const budget = Number(budgetText) * mebibyte
  const database = await Database.open(directory, {
    memtableBytesMax: budget,
    flushBytes: Math.floor(budget / 4),
    blockCacheBytesMax: budget,
  })
  const table = await database.createTable('t', { families: { f: {} } })
  // A baseline does the same on a small scale, so that its code is compiled and its pools exist.
  const count = Math.floor(((mode === 'baseline' ? 1 : Number(dataText)) * mebibyte) / valueBytes)
  // Few values that many puts share: a buffer for each would be measured as well, as the caller's
  // garbage, which V8 lets grow with the load.
  const values = Array.from({ length: 1024 }, (_, i) => valueOf(i))
  let failed = 0
  const windowPuts = Math.ceil((budget * 1.5) / valueBytes)
  const isMixed = mode === 'mixed' || mode === 'scans'
  const mixed = isMixed
    ? await loadMixed(table, Number(dataText) * mebibyte, mode === 'scans' ? 30 : 0, () => {
        look()
        buffersPeak = Math.max(buffersPeak, process.memoryUsage().arrayBuffers)
        pinnedPeak = Math.max(pinnedPeak, database.statistics().pinnedMemtableBytes)
      })
    : undefined
  if (mixed !== undefined) await database.flush()
  for (let done = 0; done < count && !isMixed;) {
    const end = Math.min(count, done + windowPuts)
    const pending: Promise<unknown>[] = []
    for (; done < end; done++) {
      const value = values[done % values.length]
      const put = { row: `row ${Math.imul(done, 0x9e37_79b1) >>> 0}`, cells: { 'f:v': value } }
      if (mode === 'sync') {
        table.putSync(put)
        if (done % 500 === 0) look()
      } else {
        pending.push(table.put(put).catch(() => void failed++))
      }
    }
    await Promise.all(pending)
    look()
  }
  const { stalls, flushes, memtableBytes, pinnedMemtableBytes } = database.statistics()
  clearInterval(timer)
  let rows = 0
  let scansRows = 0
  for (const scan of mixed?.scans ?? []) for await (const result of scan) scansRows += +!!result
  for (const result of table.scanSync({ cacheBlocks: false })) rows += result.isEmpty ? 0 : 1
  await database.close()
  const report = {
    peak,
    ticks,
    gapMax,
    stalls,
    flushes,
    memtableBytes,
    failed,
    count: mixed?.count ?? count,
    rows,
    buffersPeak,
    pinnedPeak,
    pinnedMemtableBytes,
    scansRows,
    scansExpected: mixed?.scansExpected ?? 0,
  }
  process.stdout.write(`${JSON.stringify(report)}\n`)
}

type AnyScan = AsyncIterable<unknown> | Iterable<unknown>

/** Puts values of all sizes, 32 at a time, and opens scans in between; see the file header. */
async function loadMixed(
  table: EmbeddedTable,
  bytesMax: number,
  scanCount: number,
  look: () => void,
): Promise<{ count: number; scans: AnyScan[]; scansExpected: number }> {
  const random = seededRandom(7)
  const reused = Buffer.allocUnsafeSlow(mebibyte)
  for (let i = 0; i < mebibyte; i++) reused[i] = random() * 256
  const scans: AnyScan[] = []
  let scansExpected = 0
  let count = 0
  for (let bytes = 0; bytes < bytesMax;) {
    const pending: Promise<unknown>[] = []
    for (let i = 0; i < 32; i++) {
      const value = reused.subarray(0, Math.floor(10 * (mebibyte / 10) ** random()))
      value[0] = count
      bytes += value.length
      const row = `row ${String(count++).padStart(9, '0')}`
      pending.push(table.put({ row, cells: { 'f:v': value } }))
    }
    await Promise.all(pending)
    if (scans.length < scanCount && bytes > ((scans.length + 1) * bytesMax) / (scanCount + 1)) {
      const scan = scans.length % 2 === 0 ? table.scanSync() : table.scan()
      await scan.next()
      scans.push(scan)
      scansExpected += count - 1
    }
    look()
  }
  return { count, scans, scansExpected }
}

function valueOf(seed: number): Buffer {
  const value = Buffer.alloc(valueBytes)
  for (let i = 0; i + 4 <= valueBytes; i += 4) {
    value.writeUInt32LE(Math.imul(seed * 251 + i, 0x9e37_79b1) >>> 0, i)
  }
  return value
}

main().catch((error: unknown) => {
  console.error(error)
  process.exit(1)
})
