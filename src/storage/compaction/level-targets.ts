/**
 * Computes how large the levels of a leveled store should be, as RocksDB's dynamic level bytes:
 * from the size of the largest level upwards, each level smaller by the ratio. The first level with
 * a target of at most `baseBytes` is the base level, into which level 0 is merged. So about nine
 * tenths of the data are in one level, whatever the size of the store, and stale data stays near
 * one ninth (with ratio 10).
 */
import type { PolicyInput } from './choice.js'
import { totalBytes } from './rows.js'

/** The options on which the targets depend. */
export interface LevelShape {
  /** Number of levels, level 0 included. */
  readonly levelsMax: number
  readonly levelRatio: number
  readonly baseBytes: number
}

/** The targets of a store. */
export interface LevelTargets {
  /** The deepest level. */
  readonly last: number
  /** The level into which level 0 is merged. */
  readonly base: number
  /**
   * Target bytes by level: 0 above the base, Infinity for the deepest level. Level 0 has no target.
   */
  readonly bytes: readonly number[]
}

/** Computes the targets from the sizes of the levels. */
export function levelTargets(levels: PolicyInput['levels'], shape: LevelShape): LevelTargets {
  const last = Math.max(shape.levelsMax - 1, levels.length - 1)
  let size = 0
  for (let level = 1; level < levels.length; level++) {
    size = Math.max(size, totalBytes(levels[level]))
  }
  const bytes = Array.from({ length: last + 1 }, () => 0)
  bytes[last] = Infinity
  let base = last
  while (base > 1 && size > shape.baseBytes) {
    base--
    size /= shape.levelRatio
    bytes[base] = size
  }
  return { last, base, bytes }
}
