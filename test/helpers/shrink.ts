/** Makes what fails shorter. */

const shrinkingMilliseconds = 5000

/**
 * A list as short as leaving out parts makes it, such that `fails` still answers true: halves
 * first, then smaller parts, for some five seconds.
 */
export async function shrinkList<T>(
  list: readonly T[],
  fails: (shorter: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  let shortest = list
  const end = performance.now() + shrinkingMilliseconds
  for (let size = Math.ceil(list.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let start = 0; start < shortest.length && performance.now() < end;) {
      const shorter = [...shortest.slice(0, start), ...shortest.slice(start + size)]
      if (await fails(shorter)) shortest = shorter
      else start += size
    }
  }
  return shortest
}

/** A count as small as halving makes it, such that `fails` still answers true. */
export async function shrinkCount(
  count: number,
  fails: (fewer: number) => Promise<boolean>,
): Promise<number> {
  let [least, passing] = [count, 0]
  const end = performance.now() + shrinkingMilliseconds
  while (least - passing > 1 && performance.now() < end) {
    const middle = Math.floor((least + passing) / 2)
    if (await fails(middle)) least = middle
    else passing = middle
  }
  return least
}
