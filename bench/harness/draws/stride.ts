/** Every record once, in an order that looks random, without a list of them. */

/** About 0.618 of `records`, without a divisor in common with it. */
export function strideOf(records: number): number {
  const divisorOf = (one: number, other: number): number =>
    other === 0 ? one : divisorOf(other, one % other)
  let step = Math.max(1, Math.floor(records * 0.6180339887))
  while (divisorOf(records, step) !== 1) step++
  return step
}
