/** Numbers in [0, 1) for tests; the seed decides all of them. */

/** Taken from the environment, so that a failure can be repeated. */
export const seed = Number(process.env.CELLAR_SEED ?? 20261121)

/** Makes a small generator. */
export function generator(start: number): () => number {
  let state = start >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 0x1_0000_0000
  }
}
