/**
 * Arenas of flushed memtables, for the next ones.
 *
 * A SharedArrayBuffer that a worker has seen is freed only when the collectors of both threads have
 * run, and V8 does not count its bytes when it decides to run them: hundreds of megabytes of dead
 * arenas would pile up. Using an arena again keeps their number at a few.
 */
export class ArenaPool {
  private readonly bytesMax: number
  /** Bytes of memtables that tables have replaced and that a scan or a job still reads. */
  pinnedBytes = 0
  private bytesHeld = 0
  private readonly arenas: SharedArrayBuffer[] = []

  /** Keeps at most `bytesMax` bytes. */
  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /** An arena of at least `bytes` bytes, or undefined. */
  take(bytes: number): SharedArrayBuffer | undefined {
    const index = this.arenas.findIndex((arena) => arena.byteLength >= bytes)
    if (index < 0) return undefined
    const [arena] = this.arenas.splice(index, 1)
    this.bytesHeld -= arena.byteLength
    return arena
  }

  /** Takes an arena that nobody reads any more. */
  give(arena: SharedArrayBuffer): void {
    if (this.bytesHeld + arena.byteLength > this.bytesMax) return
    this.bytesHeld += arena.byteLength
    this.arenas.push(arena)
  }
}
