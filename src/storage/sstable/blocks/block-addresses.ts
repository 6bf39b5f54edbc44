/**
 * Addresses of cached blocks: a dense directory of their memory, for reads of whole rows that know
 * where in the block the row lies ({@link RowLocations}). Such a read touches neither the SSTable's
 * list of blocks nor the {@link Block}.
 *
 * Invariant: an address with a generation stands for the bytes of one block while the block is in
 * the cache. The address is given to another block only with another generation.
 *
 * Ownership: the memory belongs to the block. The directory drops it when the block leaves the
 * cache, so a reader copies the bytes in the call that found them.
 */
import { assert } from '../../../base/assert.js'
import { growNumbers } from '../grow.js'
import type { Block } from './block.js'

/** The low bits of a mark count the hits, the others are the generation. */
const hitBits = 2
const hitsMax = (1 << hitBits) - 1
const generationMax = 2 ** (32 - hitBits) - 1

export class BlockAddresses {
  private readonly buffers: (Buffer | undefined)[] = []
  /** By address: generation and hits. */
  private marks = new Uint32Array(64)
  private readonly free: number[] = []

  /** Gives a block an address unless it has one. */
  add(block: Block): void {
    if (block.address >= 0) return
    const address = this.free.pop() ?? this.buffers.length
    if (address === this.buffers.length) {
      this.marks = growNumbers(this.marks, address + 1)
      // Generation 0 stands for no address.
      this.marks[address] = nextGeneration(0) << hitBits
    }
    this.buffers[address] = block.buffer
    block.address = address
  }

  /** The present generation of an address. */
  generationOf(address: number): number {
    return this.marks[address] >>> hitBits
  }

  /** The memory of the block with an address, and counts a hit; undefined: it left the cache. */
  find(address: number, generation: number): Buffer | undefined {
    const mark = this.marks[address]
    if (mark >>> hitBits !== generation) return undefined
    if ((mark & hitsMax) < hitsMax) this.marks[address] = mark + 1
    return this.buffers[address]
  }

  /** Returns the hits of a block since the last call. */
  takeHits(block: Block): number {
    if (block.address < 0) return 0
    const mark = this.marks[block.address]
    this.marks[block.address] = mark & ~hitsMax
    return mark & hitsMax
  }

  /** Takes the address of a block that leaves the cache. */
  remove(block: Block): void {
    const { address } = block
    if (address < 0) return
    assert(this.buffers[address] !== undefined, 'an address is taken back once')
    this.buffers[address] = undefined
    this.marks[address] = nextGeneration(this.generationOf(address)) << hitBits
    this.free.push(address)
    block.address = -1
  }
}

/** Generations count from 1 to 2^30 - 1 and then from 1 again. */
function nextGeneration(generation: number): number {
  return generation === generationMax ? 1 : generation + 1
}
