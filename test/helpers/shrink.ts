/** Makes a failing list of steps shorter. */

/**
 * A list as short as leaving out parts makes it, such that `fails` still answers true: halves
 * first, then smaller parts, at most `triesMax` tries.
 */
export async function shrinkList<T>(
  list: readonly T[],
  fails: (shorter: readonly T[]) => Promise<boolean>,
  triesMax = 200,
): Promise<readonly T[]> {
  let shortest = list
  let tries = 0
  for (let size = Math.ceil(list.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let start = 0; start < shortest.length && tries < triesMax;) {
      const shorter = [...shortest.slice(0, start), ...shortest.slice(start + size)]
      tries++
      if (await fails(shorter)) shortest = shorter
      else start += size
    }
  }
  return shortest
}
