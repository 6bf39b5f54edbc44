/**
 * Locations of rows: a small hash table that leads a repeated get of a row directly to its first
 * entry. This bypasses the choice of SSTables, their filters, the index and the search in the
 * block. A location may also have the address of the whole row in the memory of a cached block
 * ({@link BlockAddresses}), which bypasses the block and its cursor too. Or the address is that of
 * a copy ({@link RowCopies}), which has the newest cells of the row from all sources.
 *
 * A location is valid for one set of SSTables, identified by a number that is never reused. It
 * states that no other SSTable of the set can hold the row (or the column: these have a set number
 * of their own). It is a hint: hashes collide, so the user of a location compares the key there.
 * New SSTables mean a new number, and old locations are overwritten.
 *
 * Two adjacent buckets share a hash. A new location is written to the first bucket, and its
 * previous content moves to the second. Memory is allocated with the first location. The table
 * grows when it has lost an eighth of its size in locations; then the smaller table stays, and a
 * location that is found in it moves to the larger one.
 */
import type { Hash64 } from '../../../base/hash.js'

/**
 * Numbers per bucket: hash, number of the set, SSTable and block, slot, address and its generation
 * (0: none), start and length of the whole row at the address.
 */
const placeBits = 3
const numbersPerPlace = 1 << placeBits
const bytesPerPlace = numbersPerPlace * 4

const blockBits = 24
const blockMax = (1 << blockBits) - 1
const tableMax = 0xfe
/** In place of SSTable and block, where only a copy is known. */
const nowhere = -1

/** Bit of a generation in a bucket: the address is that of a copy. */
const copyBit = 1 << 30

export class RowLocations {
  /** Result of {@link find}: index of the SSTable in its set; above all of them: unknown. */
  table = 0
  /** Result of {@link find}: index of the block in the SSTable. */
  block = 0
  /** Result of {@link find}: slot of the entry in the block. */
  slot = 0
  /**
   * Result of {@link find}: the address of the block's memory, and its generation; 0: the address
   * of the row is unknown.
   */
  address = 0
  generation = 0
  /** Result of {@link find}: whether the address is that of a copy. */
  isCopy = false
  /** Result of {@link find}: offset of the row's first entry in the memory at the address. */
  start = 0
  /** Result of {@link find}: length of all entries of the row in bytes. */
  length = 0
  /** Maximum number of buckets. */
  private capacity: number
  private places: Int32Array | undefined = undefined
  /** The table before it has grown. */
  private smaller: Int32Array | undefined = undefined
  /** Number of locations lost since the table has grown. */
  private lost = 0

  /**
   * Allocates up to `bytesMax` bytes, and a quarter more for the smaller table; below 1 KiB no
   * location is kept.
   */
  constructor(bytesMax: number) {
    this.capacity = capacityOf(bytesMax)
  }

  /** Number of allocated bytes. */
  get bytes(): number {
    return (this.places?.byteLength ?? 0) + (this.smaller?.byteLength ?? 0)
  }

  /** Changes the bound; drops all locations if they take more. */
  resize(bytesMax: number): void {
    this.capacity = capacityOf(bytesMax)
    this.smaller = undefined
    if ((this.places?.length ?? 0) > this.capacity * numbersPerPlace) this.places = undefined
  }

  /** Finds the location of a row by its hash; true if the fields are set. */
  find(hash: Hash64, tablesId: number): boolean {
    const { places } = this
    if (places === undefined) return false
    let at = placeWith(places, hash, tablesId)
    if (at < 0) at = this.moveFromSmaller(places, hash, tablesId)
    if (at < 0) return false
    const where = places[at + 2]
    this.table = where >>> blockBits
    this.block = where & blockMax
    this.slot = places[at + 3]
    this.address = places[at + 4]
    this.generation = places[at + 5] & ~copyBit
    this.isCopy = (places[at + 5] & copyBit) !== 0
    this.start = places[at + 6]
    this.length = places[at + 7]
    return true
  }

  /**
   * Adds the address of a whole row to its location, if there is one, or the address of a copy of a
   * row. REQUIRES that the row's entries are adjacent, are all plain puts, and each is the only one
   * of its column.
   */
  noteAddress(
    hash: Hash64,
    tablesId: number,
    address: number,
    generation: number,
    start: number,
    length: number,
    isCopy: boolean,
  ): void {
    let { places } = this
    let at = places === undefined ? -1 : placeWith(places, hash, tablesId)
    if (at < 0) {
      if (!isCopy || this.capacity === 0) return
      places = this.roomyPlaces()
      at = this.makePlace(places, hash, tablesId)
      places[at] = hash.high
      places[at + 1] = tablesId
      places[at + 2] = nowhere
    }
    places![at + 4] = address
    places![at + 5] = isCopy ? generation | copyBit : generation
    places![at + 6] = start
    places![at + 7] = length
  }

  /** Forgets the copy of a row, because a cell of the row is written. */
  forgetCopy(hash: Hash64, tablesId: number): void {
    if (this.places !== undefined) forgetIn(this.places, hash, tablesId)
    if (this.smaller !== undefined) forgetIn(this.smaller, hash, tablesId)
  }

  /** Adds the location of a row's first entry. A location with too large numbers is left out. */
  note(hash: Hash64, tablesId: number, table: number, block: number, slot: number): void {
    if (this.capacity === 0 || table > tableMax || block > blockMax) return
    const places = this.roomyPlaces()
    const at = this.makePlace(places, hash, tablesId)
    places[at] = hash.high
    places[at + 1] = tablesId
    places[at + 2] = (table << blockBits) | block
    places[at + 3] = slot
    places[at + 5] = 0
  }

  /** Moves a location from the smaller table. Returns its offset in `places`; -1: there is none. */
  private moveFromSmaller(places: Int32Array, hash: Hash64, tablesId: number): number {
    const { smaller } = this
    const from = smaller === undefined ? -1 : placeWith(smaller, hash, tablesId)
    if (from < 0) return -1
    const at = this.makePlace(places, hash, tablesId)
    for (let i = 0; i < numbersPerPlace; i++) places[at + i] = smaller![from + i]
    return at
  }

  /** Frees the first bucket of a hash. Returns its offset. */
  private makePlace(places: Int32Array, hash: Hash64, tablesId: number): number {
    const at = placeOf(places, hash, tablesId)
    const second = at + numbersPerPlace
    // The number of a set is never 0.
    if (places[at + 1] !== 0 && places[second + 1] !== 0) this.lost++
    places.copyWithin(second, at, second)
    return at
  }

  /** The table, which is made or has grown if it has lost many locations. */
  private roomyPlaces(): Int32Array {
    const { places, capacity } = this
    if (places === undefined) return this.allocate(Math.min(capacity, firstCapacity))
    const count = places.length / numbersPerPlace
    if (count >= capacity || this.lost * 8 < count) return places
    this.smaller = places
    return this.allocate(Math.min(capacity, count * growth))
  }

  private allocate(capacity: number): Int32Array {
    this.lost = 0
    this.places = new Int32Array(capacity * numbersPerPlace)
    return this.places
  }
}

/** Number of buckets of the first table, and the factor of its growth. */
const firstCapacity = 4096
const growth = 4

/** Forgets the copies in both buckets of a hash: an older location of the row may be the second. */
function forgetIn(places: Int32Array, hash: Hash64, tablesId: number): void {
  const first = placeOf(places, hash, tablesId)
  for (let at = first; at <= first + numbersPerPlace; at += numbersPerPlace) {
    const isRow = places[at] === hash.high && places[at + 1] === tablesId
    if (isRow && (places[at + 5] & copyBit) !== 0) places[at + 5] = 0
  }
}

/** Offset of the place of a location in `places`; -1: there is none. */
function placeWith(places: Int32Array, hash: Hash64, tablesId: number): number {
  let at = placeOf(places, hash, tablesId)
  if (places[at] === hash.high && places[at + 1] === tablesId) return at
  at += numbersPerPlace
  return places[at] === hash.high && places[at + 1] === tablesId ? at : -1
}

/**
 * Offset of the first bucket of a hash; the second one follows, so first buckets are even. The set
 * is part of the key, because families have rows in common.
 */
function placeOf(places: Int32Array, hash: Hash64, tablesId: number): number {
  const mask = (places.length >>> placeBits) - 2
  return ((hash.low ^ Math.imul(tablesId, 0x9e3779b1)) & mask) * numbersPerPlace
}

/** The largest power of two of buckets that fits, or 0. */
function capacityOf(bytesMax: number): number {
  const places = Math.floor(bytesMax / bytesPerPlace)
  return places < 32 ? 0 : 2 ** Math.floor(Math.log2(places))
}
