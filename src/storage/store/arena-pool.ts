/**
 * Arenas of flushed memtables, for the next ones.
 *
 * A SharedArrayBuffer that a worker has seen is freed only when the collectors of both threads have
 * run, and V8 does not count its bytes when it decides to run them: hundreds of megabytes of dead
 * arenas would pile up. So all arenas have the same size, and each is used again.
 */
import { memoryError } from '../memtable/arena.js'

/** Room for the mutation that fills a memtable; a larger one gets an arena of its own size. */
const mutationBytes = 1024 * 1024

/** Idle arenas that are kept: as many as can be full and on their way to disk at once. */
const idleMax = 2

export class ArenaPool {
  /** Bytes of an arena that holds a full memtable. */
  readonly arenaBytes: number
  /** Bytes of memtables that tables have replaced and that a scan or a job still reads. */
  pinnedBytes = 0
  private readonly idle: SharedArrayBuffer[] = []

  /** Memtables are flushed once they have `flushBytes` bytes, by a mutation that may be large. */
  constructor(flushBytes: number) {
    this.arenaBytes = Math.ceil((1.25 * flushBytes) / 4096) * 4096 + mutationBytes
  }

  /** Bytes of the arenas that wait for the next memtables. */
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

  /** Takes an arena without readers; one of another size is left to the collector. */
  give(arena: SharedArrayBuffer): void {
    if (arena.byteLength === this.arenaBytes && this.idle.length < idleMax) this.idle.push(arena)
  }
}
