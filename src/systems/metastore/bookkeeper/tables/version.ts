/**
 * Versions of rows, as BookKeeper's `Version` and `Versioned` define them.
 *
 * A concrete version is an immutable 64-bit number. `NEW` and `ANY` are singletons, recognised by
 * identity. A store accepts a write if `stored.compare(given)` is `CONCURRENTLY`.
 */

import { shown } from '../../../../api/index.js'
import { illegalOp } from '../../errors.js'

/** The order of two versions; `CONCURRENTLY` means equal or matching. */
export type Occurred = 'BEFORE' | 'AFTER' | 'CONCURRENTLY'

/** A version of a row, or the expectation of a caller. */
export interface Version {
  /**
   * The order of this version relative to `other`.
   *
   * `ERR_METASTORE_ILLEGAL_OP` if `other` is null or a version of another kind.
   */
  compare(other: Version): Occurred
  /** The number in decimal digits, `NEW` or `ANY`. */
  toString(): string
}

class NamedVersion implements Version {
  readonly #name: string

  constructor(name: string) {
    this.#name = name
  }

  compare(other: Version): Occurred {
    checkKind(other)
    return this === anyVersion || this === other ? 'CONCURRENTLY' : 'BEFORE'
  }

  toString(): string {
    return this.#name
  }
}

const newVersion: Version = Object.freeze(new NamedVersion('NEW'))
const anyVersion: Version = Object.freeze(new NamedVersion('ANY'))

/** The two versions without a number. */
export const Version: {
  /** The row must not exist yet. */
  readonly NEW: Version
  /** The row must exist, in any version. */
  readonly ANY: Version
} = Object.freeze({ NEW: newVersion, ANY: anyVersion })

const versionMax = 2n ** 63n - 1n

/** A concrete version: a signed 64-bit number (BookKeeper: `LongVersion`). */
export class LongVersion implements Version {
  /** Private, hence immutable, and cheaper than a frozen object. */
  readonly #value: bigint

  /** `ERR_METASTORE_ILLEGAL_OP` if the number is not an integer of 64 bits. */
  constructor(value: bigint | number) {
    const isInteger = typeof value === 'bigint' || Number.isInteger(value)
    if (!isInteger) throw illegalOp(`a version is an integer, not ${shown(value)}`)
    const number = BigInt(value)
    if (number > versionMax || number < -versionMax - 1n) {
      throw illegalOp(`version ${number} does not fit into 64 bits`)
    }
    this.#value = number
  }

  /** Does not use the prototype chain, which throws for a revoked proxy. */
  static [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && #value in value
  }

  /** -2^63 to 2^63 - 1. */
  get value(): bigint {
    return this.#value
  }

  compare(other: Version): Occurred {
    checkKind(other)
    if (other === anyVersion) return 'CONCURRENTLY'
    if (!(other instanceof LongVersion)) return 'AFTER'
    if (this.#value === other.#value) return 'CONCURRENTLY'
    return this.#value < other.#value ? 'BEFORE' : 'AFTER'
  }

  /** The number in decimal digits. */
  toString(): string {
    return this.#value.toString()
  }
}

/**
 * Whether a value is `NEW`, `ANY` or a {@link LongVersion}, the versions of this package's stores.
 */
export function isKnownVersion(version: unknown): version is Version {
  return version === newVersion || version === anyVersion || version instanceof LongVersion
}

function checkKind(version: unknown): void {
  if (isKnownVersion(version)) return
  throw illegalOp(
    version === null || version === undefined
      ? 'the version to compare with is missing'
      : 'the version to compare with is of another kind',
  )
}

/** A value with the version of the row that it was read from (BookKeeper: `Versioned`). */
export interface Versioned<T> {
  /** The content of the row. */
  value: T
  /** The version of the row at the time of the read. */
  version: Version
}
