/** What a guarded resource saw, and the checker of such histories. */

/** A write that the resource has applied, in the order of its writes. */
export interface GuardedWrite {
  readonly holder: string
  readonly token: number
}

/** What is wrong with the writes that were applied; undefined if nothing is. */
export function violation(writes: readonly GuardedWrite[]): string | undefined {
  const owners = new Map<number, string>()
  let highest = 0
  for (const { holder, token } of writes) {
    if (token < highest) return `token ${token} of ${holder} was used after ${highest}`
    if ((owners.get(token) ?? holder) !== holder) return `token ${token} has two holders`
    owners.set(token, holder)
    highest = token
  }
  return undefined
}
