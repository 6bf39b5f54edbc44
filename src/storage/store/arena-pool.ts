/**
 * A pool of arenas for memtables.
 *
 * A SharedArrayBuffer that a worker has seen is freed only when the garbage collectors of both
 * threads have run. V8 does not count its bytes when it schedules them, so hundreds of megabytes of
 * dead arenas would pile up. Therefore all arenas have the same size, and each is reused.
 */
import { memoryError } from '../memtable/arena.js'

/**
 * Space for the mutation that fills a memtable; a larger mutation gets an arena of its own size.
 */
const mutationBytes = 1024 * 1024

/** Maximum number of idle arenas: as many as can be full and being flushed at the same time. */
const idleMax = 2

export class ArenaPool {
  /** Size of an arena in bytes, enough for a full memtable. */
  readonly arenaBytes: number
  /** Bytes of memtables that SSTables have replaced and that a scan or a job still pins. */
  pinnedBytes = 0
  private readonly idle: SharedArrayBuffer[] = []

  /** A memtable is flushed once it has `flushBytes` bytes; the last mutation may be large. */
  constructor(flushBytes: number) {
    this.arenaBytes = Math.ceil((1.25 * flushBytes) / 4096) * 4096 + mutationBytes
  }

  /** Bytes of the idle arenas. */
  get idleBytes(): number {
    return this.idle.length * this.arenaBytes
  }

  /** An arena for a memtable that will probably be filled; throws `ERR_TOO_LARGE`. */
  take(): SharedArrayBuffer {
    const arena = this.idle.pop()
    if (arena !== undefined) return arena
    try {
      return new SharedArrayBuffer(this.arenaBytes)
    } catch (error) {
      throw memoryError(this.arenaBytes, error)
    }
  }

  /** Returns an arena without readers to the pool; one of another size is left to the collector. */
  give(arena: SharedArrayBuffer): void {
    if (arena.byteLength === this.arenaBytes && this.idle.length < idleMax) this.idle.push(arena)
  }
}
