/**
 * The bytes of a body while they arrive. A client chooses the sizes of the pieces, and a piece of
 * one byte takes hundreds of bytes of memory; so small pieces are copied into blocks.
 */

/** Bytes of a block; pieces of this size and larger are kept as they are. */
const blockBytes = 16 << 10

export class BodyPieces {
  #bytes = 0
  #full: Buffer[] = []
  /** The block that small pieces are copied to, and the bytes that it has. */
  #block: Buffer = Buffer.alloc(0)
  #blockUsed = 0

  get bytes(): number {
    return this.#bytes
  }

  /** Appends a piece, whose bytes the caller leaves unchanged. */
  add(piece: Buffer): void {
    // Most bodies are one piece, which needs no copy.
    const isKept = piece.length >= blockBytes || this.#bytes === 0
    this.#bytes += piece.length
    if (isKept) {
      this.#endBlock()
      this.#full.push(piece)
      return
    }
    for (let at = 0; at < piece.length;) {
      if (this.#blockUsed === this.#block.length) {
        this.#endBlock()
        this.#block = Buffer.allocUnsafeSlow(blockBytes)
      }
      const copied = piece.copy(this.#block, this.#blockUsed, at)
      this.#blockUsed += copied
      at += copied
    }
  }

  /** All bytes in one Buffer; the pieces are left empty. */
  take(): Buffer {
    this.#endBlock()
    const pieces = this.#full
    const whole = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces, this.#bytes)
    this.clear()
    return whole
  }

  clear(): void {
    this.#bytes = 0
    this.#full = []
    this.#block = Buffer.alloc(0)
    this.#blockUsed = 0
  }

  #endBlock(): void {
    if (this.#blockUsed > 0) this.#full.push(this.#block.subarray(0, this.#blockUsed))
    this.#block = Buffer.alloc(0)
    this.#blockUsed = 0
  }
}
