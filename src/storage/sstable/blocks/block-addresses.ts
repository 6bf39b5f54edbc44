/**
 * Addresses of the memory that cached blocks lie in: a dense directory for reads of whole rows that
 * know where the row lies ({@link RowLocations}). Such a read touches neither the SSTable's list of
 * blocks nor the {@link Block}. A block has an address of its own. All blocks of a segment
 * ({@link CacheSegments}) share one, so that the part of the directory in use stays small.
 *
 * Invariant: an address with a generation stands for the same bytes while they are in the cache.
 * The address is given to other memory only with another generation.
 *
 * Ownership: the memory belongs to the block or the segment. The directory drops it when it leaves
 * the cache, so a reader copies the bytes in the call that found them.
 */
import { assert } from '../../../base/assert.js'
import { growNumbers } from '../grow.js'

const generationMax = 2 ** 30 - 1

export class BlockAddresses {
  private readonly memory: (Buffer | undefined)[] = []
  /** By address; from 1 on. */
  private generations = new Uint32Array(64)
  private readonly free: number[] = []

  /** Gives memory an address. */
  add(memory: Buffer): number {
    const address = this.free.pop() ?? this.memory.length
    if (address === this.memory.length) {
      this.generations = growNumbers(this.generations, address + 1)
      this.generations[address] = 1
    }
    this.memory[address] = memory
    return address
  }

  /** The present generation of an address; never 0. */
  generationOf(address: number): number {
    return this.generations[address]
  }

  /** The memory with an address; undefined: it left the cache. */
  find(address: number, generation: number): Buffer | undefined {
    return this.generations[address] === generation ? this.memory[address] : undefined
  }

  /** Takes back the address of memory that leaves the cache. */
  remove(address: number): void {
    assert(this.memory[address] !== undefined, 'an address is taken back once')
    this.memory[address] = undefined
    const generation = this.generations[address]
    this.generations[address] = generation === generationMax ? 1 : generation + 1
    this.free.push(address)
  }
}
