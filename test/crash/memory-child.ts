/**
 * The process that the memory test measures: loads much more than the memtables may hold, and
 * prints what it needed, as JSON.
 *
 * Arguments: mode (`baseline`, `sync` or `async`), directory, MiB of data, MiB of memtables.
 */
import { Database } from '../../src/index.js'

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
  for (let done = 0; done < count;) {
    const end = Math.min(count, done + windowPuts)
    const pending: Promise<void>[] = []
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
  const { stalls, flushes, memtableBytes } = database.statistics()
  clearInterval(timer)
  let rows = 0
  for (const result of table.scanSync()) rows += result.isEmpty ? 0 : 1
  await database.close()
  const report = { peak, ticks, gapMax, stalls, flushes, memtableBytes, failed, count, rows }
  process.stdout.write(`${JSON.stringify(report)}\n`)
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
