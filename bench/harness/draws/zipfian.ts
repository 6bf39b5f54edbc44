/**
 * The request distributions of YCSB: zipfian after Gray et al. 1994, scrambled over all records,
 * and "latest".
 */
import { Hash64, fnv1a64, hashModulo } from './fnv.js'
import type { Random } from './random.js'

/** YCSB's ZIPFIAN_CONSTANT. */
export const zipfianConstant = 0.99

/** Items that a scrambled zipfian draws from before they are folded. */
export const scrambledItems = 10_000_000_000

/** Sum of i^-0.99 for i up to {@link scrambledItems}, as YCSB has it. */
export const scrambledZetan = 26.46902820178302

/** Sum of i^-theta for i from `from + 1` to `to`, added to `sum`. */
export function zeta(from: number, to: number, theta: number, sum: number): number {
  let total = sum
  for (let item = from + 1; item <= to; item++) total += 1 / Math.pow(item, theta)
  return total
}

/** Draws from 0 to items - 1, 0 most often. */
export class Zipfian {
  readonly #random: Random
  readonly #theta: number
  readonly #alpha: number
  readonly #zeta2: number
  #items: number
  #zetan: number
  #eta: number

  /** `zetan` spares the sum over all items if it is known. */
  constructor(items: number, random: Random, theta = zipfianConstant, zetan?: number) {
    this.#random = random
    this.#theta = theta
    this.#alpha = 1 / (1 - theta)
    this.#zeta2 = zeta(0, 2, theta, 0)
    this.#items = items
    this.#zetan = zetan ?? zeta(0, items, theta, 0)
    this.#eta = this.#makeEta()
  }

  /** Sum over all items of i^-theta. */
  get zetan(): number {
    return this.#zetan
  }

  #makeEta(): number {
    const ratio = Math.pow(2 / this.#items, 1 - this.#theta)
    return (1 - ratio) / (1 - this.#zeta2 / this.#zetan)
  }

  /** More items than before; the sum goes on where it was. Fewer are ignored, as in YCSB. */
  grow(items: number): void {
    if (items <= this.#items) return
    this.#zetan = zeta(this.#items, items, this.#theta, this.#zetan)
    this.#items = items
    this.#eta = this.#makeEta()
  }

  next(): number {
    const fraction = this.#random.fraction()
    const scaled = fraction * this.#zetan
    if (scaled < 1) return 0
    if (scaled < this.#zeta2) return 1
    return Math.floor(this.#items * Math.pow(this.#eta * fraction - this.#eta + 1, this.#alpha))
  }
}

/** Zipfian over 10^10 ranks, folded onto the items by a hash: popular ones lie anywhere. */
export class ScrambledZipfian {
  readonly #zipfian: Zipfian
  readonly #items: number
  readonly #hash = new Hash64()

  constructor(items: number, random: Random) {
    this.#items = items
    // YCSB counts both ends of its range.
    this.#zipfian = new Zipfian(scrambledItems + 1, random, zipfianConstant, scrambledZetan)
  }

  /** 0 to items - 1. */
  next(): number {
    fnv1a64(this.#zipfian.next(), this.#hash)
    return hashModulo(this.#hash, this.#items)
  }
}

/** The newest record most often: `newest - zipfian(newest)`. */
export class Latest {
  readonly #zipfian: Zipfian

  constructor(newest: number, random: Random) {
    this.#zipfian = new Zipfian(newest, random)
  }

  /** `newest`: number of the record that was inserted last. */
  next(newest: number): number {
    this.#zipfian.grow(newest)
    return newest - this.#zipfian.next()
  }
}
