/** What the operating system tells about this process and its files. */
import { lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Sizes in bytes. */
export interface ProcessCounters {
  readonly bytesOnDisk: number
  /** Given to the block layer; undefined where the platform does not tell. */
  readonly bytesWritten: number | undefined
  readonly peakRssBytes: number
  /** Of all threads, in the program and in the kernel. */
  readonly cpuSeconds: number
}

const blockBytes = 512

/** Allocated bytes of all files below a directory. */
export function allocatedBytes(directory: string): number {
  let sum = 0
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) {
      sum += allocatedBytes(path)
      continue
    }
    // A file may vanish while it is looked for: background work goes on.
    const stat = lstatSync(path, { throwIfNoEntry: false })
    sum += stat === undefined ? 0 : Math.max(stat.blocks * blockBytes, 0)
  }
  return sum
}

function readNumber(path: string, pattern: RegExp): number | undefined {
  try {
    const match = pattern.exec(readFileSync(path, 'utf8'))
    return match === null ? undefined : Number(match[1])
  } catch {
    return undefined
  }
}

const bytesWritten = (): number | undefined => readNumber('/proc/self/io', /^write_bytes: (\d+)/m)

/** Highest resident size since {@link resetPeak}, or since the start where it cannot be reset. */
function peakRss(): number {
  const kibibytes = readNumber('/proc/self/status', /^VmHWM:\s+(\d+) kB/m)
  return (kibibytes ?? process.resourceUsage().maxRSS) * 1024
}

function resetPeak(): void {
  try {
    writeFileSync('/proc/self/clear_refs', '5')
  } catch {
    // Not Linux, or not allowed: the peak is that of the whole process.
  }
}

/** Observes the process until `end` is called. */
export function observeProcess(directory: string): { end(): ProcessCounters } {
  resetPeak()
  const before = bytesWritten()
  const cpuBefore = process.cpuUsage()
  return {
    end: () => {
      const after = bytesWritten()
      const cpu = process.cpuUsage(cpuBefore)
      return {
        bytesOnDisk: allocatedBytes(directory),
        bytesWritten: before === undefined || after === undefined ? undefined : after - before,
        peakRssBytes: peakRss(),
        cpuSeconds: (cpu.user + cpu.system) / 1e6,
      }
    },
  }
}
