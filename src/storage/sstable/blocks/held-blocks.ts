/**
 * The blocks that a cursor holds until the next read, so that their memory is not recycled while
 * the caller may refer to it.
 */
import { heldForGood, type Block } from './block.js'

/**
 * Maximum number of blocks that a cursor holds until the next read, and of their bytes. Two blocks
 * are held regardless of their bytes. Other blocks are never recycled.
 */
const heldMax = 64
const heldBytesMax = 512 * 1024

export class HeldBlocks {
  private readonly held: Block[] = []
  private bytes = 0
  /** Whether the caller begins reads; otherwise no block is recycled. */
  private letsGo = false

  hold(block: Block): void {
    const { held } = this
    if (held.length > 0 && held[held.length - 1] === block) return
    const bytes = this.bytes + block.buffer.length
    const mayHold = held.length < 2 || (held.length < heldMax && bytes <= heldBytesMax)
    if (this.letsGo && mayHold) {
      held.push(block)
      this.bytes = bytes
      block.holders++
    } else {
      block.holders |= heldForGood
    }
  }

  /**
   * Releases all blocks but the one at the position, and holds others from now on. False: there was
   * none to release.
   */
  beginRead(position: Block | undefined): boolean {
    const { held } = this
    this.letsGo = true
    if (held.length === 0 || (held.length === 1 && held[0] === position)) return false
    let kept: Block | undefined
    for (let i = 0; i < held.length; i++) {
      if (held[i] === position && kept === undefined) kept = position
      else held[i].holders--
    }
    // Popped, because setting the length would release the array's memory.
    while (held.length > 0) held.pop()
    this.bytes = 0
    if (kept !== undefined) {
      held.push(kept)
      this.bytes = kept.buffer.length
    }
    return true
  }

  /** Leaves all blocks to the garbage collector. */
  abandon(): void {
    const { held } = this
    for (let i = 0; i < held.length; i++) held[i].holders |= heldForGood
    while (held.length > 0) held.pop()
    this.bytes = 0
  }
}
