/**
 * Where rows were found: a small table by hash that leads a get of a row that was read before to
 * its first entry, past the choice of tables, their filters, the index and the search in the block.
 *
 * A location says that under one set of tables, named by a number that is never used for another
 * set, no other table of the set can hold the row (or the column: those count as a set of their
 * own). It is a hint: hashes collide, so whoever uses it
 * compares the key there. New tables mean another number, and old locations are overwritten.
 *
 * Two neighbouring places share a hash; what is noted takes the first and moves what was there to
 * the second. Memory is allocated with the first note.
 */
import type { Hash64 } from '../../base/hash.js'

/** Numbers of a place: hash, number of the set, table and block, slot. */
const numbersPerPlace = 4
const bytesPerPlace = numbersPerPlace * 4

const blockBits = 24
const blockMax = (1 << blockBits) - 1
const tableMax = 0xff

export class RowLocations {
  /** What {@link find} found: position of the table in its set. */
  table = 0
  /** Index of the block in the table. */
  block = 0
  /** Slot of the entry in the block. */
  slot = 0
  private capacity: number
  private places: Int32Array | undefined = undefined
  private mask = 0

  /** Takes up to `bytesMax` bytes; below 1 KiB it remembers nothing. */
  constructor(bytesMax: number) {
    this.capacity = capacityOf(bytesMax)
  }

  /** Bytes allocated. */
  get bytes(): number {
    return this.places === undefined ? 0 : this.places.byteLength
  }

  /** Changes the bound; all locations are forgotten. */
  resize(bytesMax: number): void {
    this.capacity = capacityOf(bytesMax)
    this.places = undefined
  }

  /** Looks for a row by its hash; true if the fields are set. */
  find(hash: Hash64, tablesId: number): boolean {
    const { places } = this
    if (places === undefined) return false
    let at = this.placeOf(hash, tablesId)
    if (places[at] !== hash.high || places[at + 1] !== tablesId) {
      at += numbersPerPlace
      if (places[at] !== hash.high || places[at + 1] !== tablesId) return false
    }
    const where = places[at + 2]
    this.table = where >>> blockBits
    this.block = where & blockMax
    this.slot = places[at + 3]
    return true
  }

  /** Remembers where a row begins. A location too large for the form is left out. */
  note(hash: Hash64, tablesId: number, table: number, block: number, slot: number): void {
    if (this.capacity === 0 || table > tableMax || block > blockMax) return
    const places = this.places ?? this.allocate()
    const at = this.placeOf(hash, tablesId)
    places.copyWithin(at + numbersPerPlace, at, at + numbersPerPlace)
    places[at] = hash.high
    places[at + 1] = tablesId
    places[at + 2] = (table << blockBits) | block
    places[at + 3] = slot
  }

  /** Families share rows, so the set takes part. */
  private placeOf(hash: Hash64, tablesId: number): number {
    return ((hash.low ^ Math.imul(tablesId, 0x9e3779b1)) & this.mask) * numbersPerPlace
  }

  private allocate(): Int32Array {
    this.places = new Int32Array(this.capacity * numbersPerPlace)
    // The second place of a hash is the one after the first, so the first ones are even.
    this.mask = this.capacity - 2
    return this.places
  }
}

/** The largest power of two of places that fits, or 0. */
function capacityOf(bytesMax: number): number {
  const places = Math.floor(bytesMax / bytesPerPlace)
  return places < 64 ? 0 : 2 ** Math.floor(Math.log2(places))
}
