/**
 * Misspelt options: a call is asked which options it has, by an option that no call has. Then each
 * option is given with a typo, and the refusal must name it and the option that was meant.
 */
import type { Test } from 'tap'

/** A call with options that are its usual ones and `more`. */
export type CallWith = (more: Record<string, unknown>) => unknown

const absurd = 'xqzwxqzwxqzwxqzwxqzw'

/** What a call throws or rejects with. */
async function refusalOf(call: CallWith, name: string): Promise<Error> {
  try {
    await call({ [name]: 1 })
  } catch (error) {
    return error as Error
  }
  throw new Error(`the option ${name} was taken`)
}

/** Exchanges two letters in the middle of a name. */
function misspelt(name: string): string {
  const at = Math.floor(name.length / 2)
  const [a, b] = [name[at - 1], name[at]]
  return `${name.slice(0, at - 1)}${b}${a}${name.slice(at + 1)}`
}

/** Tries all options of all calls; returns how many were tried. */
export async function checkTypos(
  t: Test,
  calls: Readonly<Record<string, CallWith>>,
  codes: readonly string[] = ['ERR_INVALID_ARGUMENT'],
): Promise<number> {
  let options = 0
  for (const [name, call] of Object.entries(calls)) {
    const { message } = await refusalOf(call, absurd)
    const known = /; it has: (.*)$/.exec(message)?.[1].split(', ')
    t.ok(known !== undefined && known.length > 0, `${name}: ${message}`)
    for (const option of known ?? []) {
      // In shorter names another one may be as near.
      if (option.length < 5) continue
      const typo = misspelt(option)
      if (typo === option) continue
      options++
      const refusal = await refusalOf(call, typo)
      const expected = new RegExp(`^unknown option '${typo}' of .*; did you mean '${option}'\\?$`)
      if (!expected.test(refusal.message)) t.fail(`${name}, ${option}: ${refusal.message}`)
      const { code } = refusal as { code?: string }
      t.ok(code !== undefined && codes.includes(code), `${name}: ${code}`)
    }
  }
  return options
}
